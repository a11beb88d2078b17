// SPDX-License-Identifier: Apache-2.0
// Messages to a rank that a thread sends one behind the other, and looks for the end of nothing between. Sent from
// where they lie each spares the sender a copy or two, but then the program waits for an acknowledgement, once for the
// whole row. So a row is copied until its copies have cost as much as that wait; where the last row was long, so is
// this one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onesea::msg {

class send_row {
  public:
    // One more, of a thread that has looked for ends so often. Is it better not copied?
    bool add(std::uint32_t looks, std::size_t bytes)
    {
        if (looks != looks_) {
            last_was_long_ = bytes_ >= 2 * worth_a_wait;
            bytes_ = 0;
            looks_ = looks;
        }
        const bool enough = bytes_ >= worth_a_wait;
        bytes_ += bytes;
        return enough || last_was_long_;
    }

    static constexpr std::size_t worth_a_wait = 128 * 1024;

  private:
    std::size_t bytes_ = 0;
    std::uint32_t looks_ = 0;
    bool last_was_long_ = false;
};

} // namespace onesea::msg
