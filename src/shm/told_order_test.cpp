// SPDX-License-Identifier: Apache-2.0
// One thread serves another process and tells it; the other thread of this process hears of that from there, and reads
// what the first has written. Before base/told_order.hpp the thread sanitizer took that for a race.
#include "shm/lane.hpp"
#include "shm/ring.hpp"

#include <climits>
#include <gtest/gtest.h>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace onesea::shm {
namespace {

constexpr std::size_t ring_bytes = 4096;

// Both ways between the processes, in memory that they share: a ring and two lanes to the other one, a lane back.
struct ways {
    ring_control there{}, asked{};
    alignas(64) std::byte there_data[ring_bytes]{}, asked_data[ring_bytes]{};
    lane_control out{}, back{};
    alignas(64) cell out_cells[short_lane_cells]{}, back_cells[short_lane_cells]{};
    ring to_other{there, there_data, ring_bytes}, from_other{asked, asked_data, ring_bytes};
    short_lane_writer lane_out{out, out_cells}, lane_back{back, back_cells};
    short_lane_reader other_end{out, out_cells}, own_end{back, back_cells};

    bool ask() { return from_other.push({}, {}, {}); }
    bool served() const { return from_other.executed() == from_other.position(); }
    void answer() { ASSERT_TRUE(lane_back.push({1, 0, 0, 0, nullptr})); }
};

class ToldOrder : public testing::Test {
  protected:
    void SetUp() override
    {
        void *m = mmap(nullptr, sizeof(ways), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, m);
        ways_ = new (m) ways;
    }
    void TearDown() override { munmap(ways_, sizeof(ways)); }

    // tell(): how the serving thread makes the other process see it; told(): that it has.
    template <class Tell, class Told>
    void hears_by_way_of_the_other_process(Tell &&tell, Told &&told)
    {
        ASSERT_TRUE(ways_->ask());
        const pid_t other = fork();
        ASSERT_GE(other, 0);
        if (other == 0) {
            alarm(60); // it does not outlive a test that is ended
            while (!told(*ways_)) std::this_thread::yield();
            ways_->answer();
            _exit(0);
        }
        int served = 0;
        std::thread server([&] {
            served = 1;
            tell(*ways_);
        });
        lane_item item;
        while (!ways_->own_end.front(&item)) std::this_thread::yield();
        EXPECT_EQ(served, 1);
        server.join();
        int status = -1;
        EXPECT_EQ(waitpid(other, &status, 0), other);
        EXPECT_EQ(status, 0);
    }

  private:
    ways *ways_ = nullptr;
};

TEST_F(ToldOrder, is_that_of_a_record_in_a_ring)
{
    hears_by_way_of_the_other_process([](ways &w) { ASSERT_TRUE(w.to_other.push({}, {}, {})); },
                                      [](const ways &w) { return !w.to_other.empty(); });
}

TEST_F(ToldOrder, is_that_of_what_is_said_to_be_executed)
{
    hears_by_way_of_the_other_process(
        [](ways &w) {
            w.from_other.consume(INT_MAX, [](auto &&...) {});
            ASSERT_TRUE(w.from_other.publish_executed(w.from_other.consumed()));
        },
        [](const ways &w) { return w.served(); });
}

TEST_F(ToldOrder, is_that_of_a_message_in_a_lane)
{
    hears_by_way_of_the_other_process(
        [](ways &w) {
            ASSERT_TRUE(w.lane_out.push({1, 0, 0, 0, nullptr}));
        },
        [](const ways &w) { return w.other_end.ready(); });
}

} // namespace
} // namespace onesea::shm
