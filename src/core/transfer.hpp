// SPDX-License-Identifier: Apache-2.0
// What the transferring calls have in common.
#pragma once

#include "core/engine.hpp"

namespace onesea::core {

int check_transfer(const char *function, sea_addr address, const void *local, std::size_t bytes, const sea_opts *opts);

// The rank that an operation counts for: of the address, or, without bytes, of the target counter or this one.
int rank_for(sea_addr address, std::uint64_t bytes, const sea_opts *opts);

// The operation announces itself to the target counter of its options.
void signal_counter(operation *op, const sea_opts *opts);

// Waits while very many operations on that rank are unfinished, so that memory stays bounded.
void bound_unfinished(locked &lock, int rank, const sea_opts *opts);

// Counts an operation and its bytes; SEA_OK. Any thread, with or without the lock.
int count(int rank, count_word pair_counts::*what, std::uint64_t bytes_out, std::uint64_t bytes_in);

inline constexpr std::uint32_t most_unfinished = 8192; // operations on one rank

// No options but SEA_NOWAIT: what can be done at once is complete, and needs no operation.
bool plain(const sea_opts *opts);

// Puts to that rank may be quick from now on, if it is reached by messages.
void remember_carrier(int rank);

// quick.cpp: SEA_OK if the put was made without an operation; not_native: the long way, which also finds what is wrong.
int quick_put(sea_addr target, const void *source, std::size_t bytes, const sea_opts *opts);

} // namespace onesea::core
