// SPDX-License-Identifier: Apache-2.0
// Helpers of steps in which a program computes: how it waits, and an operation whose end it decides about.
#pragma once

#include "harness.hpp"

#include "onesea/message.h"

#include <vector>

namespace proof {

// Waits as a program does that computes: nothing of the library is called.
template <class Ready>
bool comes(Ready ready)
{
    const double end = now() + 20;
    while (!ready()) {
        if (now() > end) return false;
        pause_for(0.0005);
    }
    return true;
}

inline sea_opts without_waiting(sea_op after = SEA_OP_NONE)
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    o.after = after;
    return o;
}

// A long message to the own rank. It ends in open(), which finds it there and does not wait.
class gate {
  public:
    explicit gate(const run &t) : rank_(t.rank), out_(bytes, 7), in_(bytes)
    {
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op_;
        REQUIRE_OK(sea_message_send(SEA_TEAM_WORLD, rank_, tag, out_.data(), bytes, &o));
    }
    ~gate()
    {
        CHECK_OK(sea_wait(op_, 60));
        CHECK(in_ == out_);
    }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;

    sea_op op() const { return op_; }
    void open() { CHECK_OK(sea_message_receive(SEA_TEAM_WORLD, rank_, tag, in_.data(), bytes, nullptr, nullptr)); }

  private:
    static constexpr std::size_t bytes = 1 << 20; // so it stays with its sender until it is received
    static constexpr int tag = 777;
    int rank_;
    sea_op op_ = SEA_OP_NONE;
    std::vector<unsigned char> out_, in_;
};

} // namespace proof
