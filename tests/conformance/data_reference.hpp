// SPDX-License-Identifier: Apache-2.0
// Elements that tell who made them, and whether all of them are there.
#pragma once

#include "harness.hpp"
#include "onesea/data.h"

#include <atomic>
#include <cstdint>
#include <vector>

// A few owners, the same at all ranks.
std::vector<int> owners(const proof::run &t);

std::uint64_t element_of(int maker, int number);

// n elements of each maker, those of each in the order that they were made in.
bool in_order_of_each_rank(const std::vector<std::uint64_t> &all, int makers, int n);

// What the ranks got together is n elements of each rank, each once. Collective.
bool each_once(proof::run &t, const std::vector<std::uint64_t> &got, int n);

// A word of the board becomes `wanted`; false: not within 150 s.
bool comes_true(const std::atomic<std::uint64_t> &word, std::uint64_t wanted);
