// SPDX-License-Identifier: Apache-2.0
// Structures beside their models. Every function is false after a difference, which it has printed.
#pragma once

#include "onesea/data.h"

#include <deque>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace soak {

class random_source {
  public:
    explicit random_source(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    std::string text(std::size_t most);
    int rank() { return int(below(std::uint64_t(sea_size()))); }

  private:
    std::mt19937_64 engine_;
};

class subject {
  public:
    virtual ~subject() = default;
    virtual bool step(random_source &random) = 0;
    virtual bool look() { return true; } // at the whole of it
    virtual bool end() = 0;              // collective for shared ones
};

// Of this rank alone.
std::unique_ptr<subject> own_vector(int owner);
std::unique_ptr<subject> own_deque(int owner);
std::unique_ptr<subject> own_list(int owner);
std::unique_ptr<subject> own_blocks(); // of heaps of any rank
// Made collectively, of all ranks.
std::unique_ptr<subject> shared_vector(int owner);
std::unique_ptr<subject> shared_list(int owner);
std::unique_ptr<subject> shared_queue(int owner, std::size_t limit);

class everything {
  public:
    explicit everything(std::uint64_t seed);
    bool step(random_source &random);
    bool look();
    bool end();

  private:
    std::vector<std::unique_ptr<subject>> all_;
};

// Prints what was expected and found unless `good`.
bool expect(bool good, const char *what);
bool expect_ok(int status, const char *what);
// root's word at all ranks.
sea_addr broadcast(sea_addr mine, int root);

} // namespace soak
