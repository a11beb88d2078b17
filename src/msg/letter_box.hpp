// SPDX-License-Identifier: Apache-2.0
// Memory of letters. What malloc frees at the end of its heap goes back to the system, and what the dispatcher has
// found for one burst of messages would be touched for the first time again in the next: two faults for each 8 KB, on
// the processor of a program that computes. So some of it is kept.
#pragma once

#include "msg/letter.hpp"

#include <array>
#include <cstddef>

namespace onesea::msg {

// One thread at a time.
class letter_box {
  public:
    letter_box() = default;
    ~letter_box() { keep_at_most(0); }
    letter_box(const letter_box &) = delete;
    letter_box &operator=(const letter_box &) = delete;

    // With room for so many bytes of data. Without memory the process ends: what has come can be neither kept nor given
    // back.
    letter *make(std::size_t room);
    void destroy(letter *l);

    // Of deleted letters so many bytes; what is more goes back to malloc.
    void keep_at_most(std::size_t bytes);
    std::size_t kept() const { return kept_; }

  private:
    struct spare {
        spare *next;
        std::size_t bytes;
    };
    static constexpr std::size_t lists = 96;
    std::array<spare *, lists> spares_{}; // by size, the largest of 240 KB, in steps of an eighth at most
    std::size_t kept_ = 0, most_ = 0, shortened_ = 0;

    void *take(std::size_t list);
    bool has_room(std::size_t bytes, std::size_t list);
};

} // namespace onesea::msg
