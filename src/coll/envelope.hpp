// SPDX-License-Identifier: Apache-2.0
// The header of the active message that carries one message between two members of a team.
//
//   0                                                               8
//   +---------------------------------------------------------------+
//   |                  name of the team, high half                  |
//   +---------------------------------------------------------------+
//   |                  name of the team, low half                   |
//   +-------------------------------+-------------------------------+
//   |  sequence: number of the call |   step: which message of it   |
//   +-------+-------+-------+-------+-------------------------------+
//   | what  | type  |  op   |   0   |   root (notice: a status)     |
//   +-------+-------+-------+-------+-------------------------------+
//   |            size that the caller gave: bytes or count          |
//   +---------------------------------------------------------------+
//   |  data, if it is short enough to travel in the header          |
//
// The third and later rows say what the sender believes to be calling, so that members who do not agree get an error
// instead of each other's bytes. Longer data follows as the data of the active message.
#pragma once

#include "coll/context.hpp"
#include "onesea.h"

#include <cstdint>
#include <string>

namespace onesea::coll {

enum class kind : std::uint8_t {
    barrier = 1,
    broadcast,
    reduce,
    allreduce,
    gather,
    allgather,
    scatter,
    alltoall,
    split,
    gatherv,
    scatterv,
    allgatherv,
    alltoallv,
    scan,
    exscan,
    reduce_scatter,
    look = 254,   // what this rank offered in shared memory (near.hpp) is to be taken by whoever is there
    notice = 255, // a member has given the team up: the rank in `step`
};

struct signature {
    kind what = kind::barrier;
    std::uint8_t type = 0;
    std::uint8_t op = 0;
    std::uint8_t zero = 0;
    std::int32_t root = 0;
    std::uint64_t size = 0;
    bool operator==(const signature &) const = default;
};

struct envelope {
    context_id context;
    std::uint32_t sequence = 0;
    std::uint32_t step = 0;
    signature sign;
};
static_assert(sizeof(envelope) == 40);

// Most bytes of data that travel in the header.
inline constexpr std::size_t short_bytes = SEA_AM_HEADER_MAX - sizeof(envelope);

// "broadcast from member 2 of 64 bytes", for error texts.
std::string describe(const signature &sign);

} // namespace onesea::coll
