// SPDX-License-Identifier: Apache-2.0
// Hash tables that all ranks of a job share.
#pragma once

#include "harness.hpp"
#include "onesea/table.h"

#include <map>
#include <string>
#include <vector>

// Made by one rank, known to all. Collective, as drop_table().
sea_table shared_table(proof::run &t, sea_table_kind kind, std::size_t slots, int maker = 0);
void drop_table(proof::run &t, sea_table table, int dropper = 0);

inline sea_bytes of(const std::string &s) { return sea_memory(s.data(), s.size()); }
inline sea_bytes of(const std::uint64_t &n) { return sea_memory(&n, sizeof n); }

std::uint64_t sum_over_ranks(proof::run &t, std::uint64_t mine);

// What lies under a key; "absent" if nothing does. status: of the call.
std::string value_of(sea_table table, const std::string &key, int *status = nullptr);

// All entries as a scan tells them, each once.
std::map<std::string, std::string> contents(sea_table table, sea_table_scope scope, std::size_t room = 4096);

// Random calls on keys that begin with `own`, which nobody else uses, against a std::map.
struct table_model {
    sea_table table;
    std::string own;
    proof::dice random;
    std::map<std::string, std::string> model;
    std::vector<int> dead; // keys on these ranks may, and do, give SEA_ERR_DEAD
    std::map<std::string, int> lost = {};

    void act();
    void compare();

  private:
    bool told(const std::string &key, int status);
};
