// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "core/engine.hpp"

#include <gtest/gtest.h>

#include <memory>

using namespace onesea;
using namespace onesea::core;

namespace {

// A neighbour writes just before it would ring, and the last look was before.
class late_neighbour final : public transport {
  public:
    bool written = false;

    std::string_view name() const override { return "late"; }
    std::uint32_t capabilities() const override { return 0; }
    bool reach(int) const override { return false; }
    std::size_t max_frame(int) const override { return 1280; }
    const path_tuning &tuning(int) const override { return tuning_; }
    void send(int, const outgoing &) override {}
    void flush() override {}
    bool poll(nanoseconds) override { return false; }
    wake_set wake_fds() const override { return {-1, -1}; }
    bool arm(bool for_memory) override
    {
        written |= for_memory; // for_memory: by who waits, and not by the dispatcher
        return true;
    }
    void disarm() override {}
    nanoseconds deadline() const override { return never; }
    void peer_gone(int, bool) override {}
    bool idle() const override { return true; }
    void close() override {}

  private:
    path_tuning tuning_;
};

TEST(ProgressTest, who_falls_asleep_looks_once_more_after_it_has_asked_to_be_woken)
{
    ASSERT_EQ(sea_init(nullptr), SEA_OK);
    {
        locked lock = enter();
        auto &e = engine();
        ASSERT_EQ(e.net, nullptr);
        auto made = std::make_unique<late_neighbour>();
        late_neighbour &neighbour = *made;
        e.net = std::move(made);
        const nanoseconds limit = deadline_after(30);
        EXPECT_EQ(wait(
                      lock, [&] { return neighbour.written; }, limit),
                  SEA_OK);
        EXPECT_LT(now_ns(), limit) << "it slept until its time was over";
        e.net.reset();
    }
    EXPECT_EQ(sea_finalize(), SEA_OK);
}

} // namespace
