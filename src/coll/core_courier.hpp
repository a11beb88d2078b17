// SPDX-License-Identifier: Apache-2.0
// The courier over core, and the mailbox of this process that its active-message handler fills.
#pragma once

#include "coll/courier.hpp"
#include "coll/mailbox.hpp"

namespace onesea::coll {

class core_courier final : public courier {
  public:
    int send(int rank, const envelope &e, const void *data, std::size_t bytes, sea_counter *sent) override;
    int wait(bool (*ready)(void *), void *argument, nanoseconds deadline) override;
    void nudge() override;
    std::size_t near_bytes(int rank) override;
    bool take_near(int rank, const context_id &own) override;
    bool look(bool (*ready)(void *), void *argument) override;
    bool alive(int rank) override;
    bool nothing_comes(int rank) override;
    int node_of(int rank) override;
    std::uint32_t cut_off() override;
    int cut_off_rank(std::uint32_t i) override;
    std::uint32_t ended() override;
    int ended_rank(std::uint32_t i) override;
};

mailbox &the_mailbox();
core_courier &the_courier();

} // namespace onesea::coll
