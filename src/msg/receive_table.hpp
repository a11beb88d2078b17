// SPDX-License-Identifier: Apache-2.0
// Receives that the program has a handle of, and core no operation. Under the office's lock.
#pragma once

#include "core/internal.hpp"
#include "msg/letter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace onesea::msg {

class receive_table {
  public:
    // So that put() needs no memory.
    void make_room()
    {
        if (unused_.empty()) grow();
    }
    sea_op put(std::unique_ptr<request> r)
    {
        const std::uint32_t index = unused_.back();
        unused_.pop_back();
        place &p = places_[index];
        p.held = std::move(r);
        return sea_op(p.generation) << 32 | core::kept_handle | index;
    }

    // nullptr: it is used up, or was never given out.
    request *find(sea_op handle) const
    {
        const place *p = place_of(handle);
        return p && p->generation == generation_of(handle) ? p->held.get() : nullptr;
    }
    // It was given out once, as far as can be told.
    bool knows(sea_op handle) const
    {
        const place *p = place_of(handle);
        return p && generation_of(handle) >= 1 && (wrapped_ || generation_of(handle) <= p->last_given());
    }
    // One that find() has found.
    std::unique_ptr<request> take(sea_op handle) { return leave(places_[index_of(handle)], index_of(handle)); }

    // All handles are used up.
    void clear()
    {
        for (std::uint32_t i = 0; i < places_.size(); ++i)
            if (places_[i].held) leave(places_[i], i);
    }

  private:
    struct place {
        std::unique_ptr<request> held;
        std::uint32_t generation = 1; // of what it holds, or will hold next
        std::uint32_t last_given() const { return held ? generation : generation - 1; }
    };
    std::vector<place> places_;
    std::vector<std::uint32_t> unused_; // room for all
    bool wrapped_ = false;              // some place has had all its generations

    static constexpr std::uint32_t index_mask = std::uint32_t(core::kept_handle) - 1;
    static std::uint32_t index_of(sea_op handle) { return std::uint32_t(handle) & index_mask; }
    static std::uint32_t generation_of(sea_op handle) { return std::uint32_t(handle >> 32); }
    const place *place_of(sea_op handle) const
    {
        return index_of(handle) < places_.size() ? &places_[index_of(handle)] : nullptr;
    }

    void grow()
    {
        const std::size_t now = places_.size(), then = 2 * now + 16;
        unused_.reserve(then);
        places_.resize(then);
        for (std::size_t i = then; i-- > now;) unused_.push_back(std::uint32_t(i));
    }
    std::unique_ptr<request> leave(place &p, std::uint32_t index)
    {
        if (++p.generation == 0) {
            p.generation = 1;
            wrapped_ = true;
        }
        unused_.push_back(index);
        return std::move(p.held);
    }
};

} // namespace onesea::msg
