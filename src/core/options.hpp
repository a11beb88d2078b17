// SPDX-License-Identifier: Apache-2.0
// What the options of an operation ask for. They may be null.
#pragma once

#include "onesea.h"

#include <cstddef>
#include <cstdint>

namespace onesea::core {

// Programs from before raw space give the smaller size.
inline bool known_size(const sea_opts *opts)
{
    return opts->size == sizeof(sea_opts) || opts->size == offsetof(sea_opts, target_raw_counter);
}

inline std::uint64_t raw_counter(const sea_opts *opts)
{
    return opts && opts->size == sizeof(sea_opts) ? opts->target_raw_counter : 0;
}

// The call returns when the operation has ended, at this end at least.
inline bool blocking(const sea_opts *opts) { return !opts || (!opts->op && !(opts->flags & SEA_NOWAIT)); }

// Nothing comes before it or is told elsewhere: what can be done at once is complete, and needs no operation.
inline bool may_end_in_call(const sea_opts *opts)
{
    return !opts || (known_size(opts) && !raw_counter(opts) && (opts->flags & ~SEA_NOWAIT) == 0 &&
                     opts->target_counter == SEA_NULL && opts->after == SEA_OP_NONE);
}

// And who is to be told can be.
inline bool tells_in_call(const sea_opts *opts)
{
    const auto bits = [](const sea_counter *c) { return reinterpret_cast<std::uintptr_t>(c); };
    return may_end_in_call(opts) && (!opts || (bits(opts->origin_counter) | bits(opts->remote_counter)) % 8 == 0);
}

// And who wants to hear of its end has a handle, or waits in the call.
inline bool uncounted(const sea_opts *opts)
{
    return may_end_in_call(opts) && (!opts || (!opts->origin_counter && !opts->remote_counter));
}

// And nothing is to be told: no options but SEA_NOWAIT.
inline bool plain(const sea_opts *opts) { return uncounted(opts) && (!opts || !opts->op); }

} // namespace onesea::core
