// SPDX-License-Identifier: Apache-2.0
// What the transferring calls have in common.
#pragma once

#include "core/engine.hpp"

#include <vector>

namespace onesea::core {

// put and get of the program, to or from wherever; the text of errors begins with the function's name.
int put(const char *function, place target, const void *source, std::size_t bytes, const sea_opts *opts);
// Of a layer above, which tells of errors itself: `owner` lives as long as the operation, `finished` is called at the
// end of one that has not ended in the call.
int get(const char *function, void *target, place source, std::size_t bytes, const sea_opts *opts,
        const std::shared_ptr<const void> &owner = nullptr, void (*finished)(operation *) = nullptr);
int update(const char *function, sea_atomic_kind kind, place target, int width, std::uint64_t operand,
           std::uint64_t compare, void *old, const sea_opts *opts);

// Pieces on one rank as one operation.
int put_pieces(int rank, std::vector<piece> pieces, std::uint64_t bytes, const sea_opts *opts);
int get_pieces(int rank, std::vector<piece> pieces, std::uint64_t bytes, const sea_opts *opts);

int check_transfer(const char *function, place where, const void *local, std::size_t bytes, const sea_opts *opts);

// Where an operation on this address goes, for which rank it counts: without bytes, that of the target counter, else
// this one.
place place_for(sea_addr address, std::uint64_t bytes, const sea_opts *opts);

// The operation announces itself to the target counter of its options.
void signal_counter(operation *op, const sea_opts *opts);

// Waits while very many operations on that rank are under way, so that memory stays bounded.
void bound_unfinished(locked &lock, int rank, const sea_opts *opts);

// Counts an operation and its bytes; SEA_OK. Any thread, with or without the lock.
int count(int rank, count_word pair_counts::*what, std::uint64_t bytes_out, std::uint64_t bytes_in);

inline constexpr std::uint32_t most_unfinished = 8192; // operations on one rank

// Operations there that end without anything that the program has still to do, as the end of a start condition may be.
std::uint32_t under_way(const peer &p);

// Tells the options of one that has ended so. Without the engine lock.
void tell_ended(const sea_opts *opts);

// Puts to that rank may be quick from now on, if it is reached by messages.
void remember_carrier(int rank);

// quick.cpp; the first with plain options only: SEA_OK if the put was made without an operation;
// not_native: the long way, which also finds what is wrong.
int quick_put(place target, const void *source, std::size_t bytes, const sea_opts *opts);
// With SEA_JOIN: begins an operation, or joins one.
int join_put(sea_addr target, const void *source, std::size_t bytes, const sea_opts *opts);

// The greatest address of raw space; user memory ends far below.
inline constexpr std::uint64_t raw_end = std::uint64_t(1) << 62;
inline bool in_raw_space(std::uint64_t position, std::uint64_t bytes)
{
    const std::uint64_t address = position & ~raw_space;
    return address < raw_end && bytes <= raw_end - address;
}

// message.cpp: an active message, or a call
struct sending {
    int rank, id;
    const void *header;
    std::size_t header_bytes;
    const void *data;
    std::size_t data_bytes;
};
void start_message(operation *op, const sending &s, bool ordered, place counter);
void told_by_its_layer(operation *); // `finished` of operations of the layers above

} // namespace onesea::core
