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
    bool comes_near(int rank, std::size_t bytes) override;
    bool take_near(int rank, const context_id &own) override;
    void count_taken(const sea_counter &own) override;
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
