// SPDX-License-Identifier: Apache-2.0
// What the calls on data structures share: handles and places of ACP in the words of onesea/data.h, and failures told.
#pragma once

#include "errors.hpp"
#include "job.hpp"

#include <climits>
#include <cstdint>
#include <new>
#include <vector>

namespace acp {

// True if a call of onesea went well; else its failure is told.
inline bool good(const char *function, int status)
{
    if (status != SEA_OK) report_sea(function);
    return status == SEA_OK;
}

// Bytes to be stored lie somewhere.
inline bool has_place(const char *function, acp_ga_t ga, std::size_t bytes)
{
    if (address_of(ga) != SEA_NULL || bytes == 0) return true;
    report(function, "%zu bytes at ACP_GA_NULL", bytes);
    return false;
}

// An index of ACP as a position, and back.
inline bool position(const char *function, int index, std::size_t *at)
{
    *at = std::size_t(index);
    if (index >= 0) return true;
    report(function, "the place %d is before the first", index);
    return false;
}

inline int index_of(const char *function, std::size_t at)
{
    if (at <= std::size_t(INT_MAX)) return int(at);
    report(function, "the place %zu is beyond what an index of ACP can say", at);
    return INT_MAX;
}

// False: told.
inline bool make_room(const char *function, std::vector<char> *memory, std::size_t bytes)
{
    constexpr std::size_t most_of_any_process = std::size_t(1) << 47;
    try {
        if (bytes <= most_of_any_process) return memory->resize(bytes), true;
    } catch (const std::bad_alloc &) {
    }
    report(function, "no memory for %zu bytes", bytes);
    return false;
}

// Bytes at a global address, in memory of this process: where they are, or fetched. False: told.
class bytes_of {
  public:
    bool take(const char *function, acp_ga_t ga, std::size_t bytes)
    {
        data_ = own_memory(address_of(ga), bytes);
        if (data_ || bytes == 0) return true;
        if (!make_room(function, &fetched_, bytes)) return false;
        data_ = fetched_.data();
        return good(function, sea_get(fetched_.data(), address_of(ga), bytes, nullptr));
    }
    const void *data() const { return data_ ? data_ : ""; }

  private:
    std::vector<char> fetched_;
    const void *data_ = nullptr;
};

} // namespace acp
