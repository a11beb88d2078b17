// SPDX-License-Identifier: Apache-2.0
// A message at its target.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace lapi {

struct message_head {
    lapi_handle_t context;
    std::uint16_t uhdr_len;
    std::uint8_t vector; // handler is a vhdr_hndlr_t
    std::uint8_t packed; // the data lies behind the user header
    std::uint64_t handler;
    std::uint64_t bytes; // of data
    std::uint64_t tgt_cntr;
    std::uint64_t request; // to be answered when all is done; 0: nobody asks
};
static_assert(sizeof(message_head) == 40 && sizeof(message_head) + max_uhdr <= SEA_AM_HEADER_MAX);

constexpr std::size_t padded_to_word(std::size_t n) { return (n + 7) / 8 * 8; }

// onesea's handler of messages.
void *on_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument);

// What the origin of a message can know.
int check_message(const context &c, lapi_long_t handler, const void *uhdr, uint uhdr_len, const void *data,
                  ulong bytes);

} // namespace lapi
