// SPDX-License-Identifier: Apache-2.0
// Put and Get: sizes, kinds of memory, counters, errors.
#include "battery.hpp"

#include <cstring>
#include <memory>
#include <sys/mman.h>

using namespace battery;

namespace {

void *at(lapi_long_t address, std::size_t offset = 0) { return reinterpret_cast<void *>(address + offset); }

unsigned char pattern(int task, std::size_t i)
{
    return static_cast<unsigned char>(i * 7 + i / 251 + std::size_t(task) * 31 + 1);
}

void fill(unsigned char *memory, std::size_t bytes, int task)
{
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = pattern(task, i);
}

std::size_t wrong(const unsigned char *memory, std::size_t bytes, int task)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < bytes; ++i) count += memory[i] != pattern(task, i);
    return count;
}

// Put to the right, look at what came from the left, get it back from the right.
void there_and_back(unsigned char *target, std::size_t capacity, const std::vector<std::size_t> &sizes)
{
    auto where = everywhere(target);
    counter arrived, reusable, complete;
    std::vector<unsigned char> mine(capacity + 1), back(capacity + 1);
    fill(mine.data(), capacity, self.me);
    for (std::size_t bytes : sizes) {
        std::memset(target, 0, capacity);
        fence_all();
        OK(LAPI_Put(self.h, self.right(), bytes, at(where[self.right()]), mine.data(), arrived.of(self.right()),
                    reusable.here(), complete.here()));
        reusable.wait(1);
        complete.wait(1);
        arrived.wait(1);
        EQUAL(wrong(target, bytes, int(self.left())), 0u);
        if (bytes < capacity) EQUAL(int(target[bytes]), 0);
        std::memset(back.data(), 0xee, back.size());
        OK(LAPI_Get(self.h, self.right(), bytes, at(where[self.right()]), back.data(), arrived.of(self.right()),
                    reusable.here()));
        reusable.wait(1);
        EQUAL(wrong(back.data(), bytes, self.me), 0u);
        EQUAL(int(back[bytes]), 0xee);
        arrived.wait(1);
        EQUAL(arrived.now(), 0);
        EQUAL(reusable.now(), 0);
        EQUAL(complete.now(), 0);
        fence_all();
    }
}

const std::vector<std::size_t> sizes = {0, 1, 3, 4, 7, 8, 64, 1000, 1024, 1025, 4096, 8192, 8193, 65536, 200001};
constexpr std::size_t room = 200001;

} // namespace

STEP(put_and_get_reach_static_memory)
{
    static unsigned char target[room];
    there_and_back(target, room, sizes);
}

STEP(put_and_get_reach_private_heap)
{
    std::unique_ptr<unsigned char[]> target(new unsigned char[room]);
    there_and_back(target.get(), room, sizes);
}

STEP(put_and_get_reach_the_stack)
{
    unsigned char target[9000];
    there_and_back(target, sizeof target, {1, 4, 8, 8999});
}

STEP(put_and_get_reach_shared_memory)
{
    void *memory = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, room, &memory));
    there_and_back(static_cast<unsigned char *>(memory), room, sizes);
    OK(LAPI_Onesea_shared_free(self.h, memory));
    EQUAL(LAPI_Onesea_shared_alloc(self.h, 0, &memory), LAPI_ERR_DATA_LEN);
    EQUAL(LAPI_Onesea_shared_alloc(self.h, 8, nullptr), LAPI_ERR_RET_PTR_NULL);
    EQUAL(LAPI_Onesea_shared_alloc(self.h, ulong(1) << 60, &memory), LAPI_ERR_MEMORY_EXHAUSTED);
    EQUAL(LAPI_Onesea_shared_free(self.h, &memory), LAPI_ERR_ONESEA_ADDRESS);
    OK(LAPI_Onesea_shared_free(self.h, nullptr));
}

STEP(tasks_reach_themselves_and_everybody)
{
    static unsigned words[64][2];
    auto where = everywhere(words);
    counter done;
    for (int t = 0; t < self.n; ++t) {
        unsigned value[2] = {unsigned(self.me), unsigned(t)};
        OK(LAPI_Put(self.h, uint(t), sizeof value, at(where[std::size_t(t)], std::size_t(self.me) * sizeof value),
                    value, nullptr, nullptr, done.here()));
        done.wait(1);
    }
    fence_all();
    for (int t = 0; t < self.n && t < 64; ++t) {
        EQUAL(words[t][0], unsigned(t));
        EQUAL(words[t][1], unsigned(self.me));
    }
}

STEP(counters_may_be_shared_or_left_out)
{
    static int target[1000];
    auto where = everywhere(target);
    counter all;
    int mine[1000];
    for (int i = 0; i < 1000; ++i) {
        mine[i] = self.me * 1000 + i;
        OK(LAPI_Put(self.h, self.right(), 4, at(where[self.right()], std::size_t(i) * 4), &mine[i], nullptr, all.here(),
                    all.here()));
    }
    all.wait(2000);
    EQUAL(all.now(), 0);
    OK(LAPI_Put(self.h, self.right(), 4, at(where[self.right()]), mine, nullptr, nullptr, nullptr));
    OK(LAPI_Get(self.h, self.right(), 4, at(where[self.right()]), mine, nullptr, nullptr));
    fence_all();
    for (int i = 1; i < 1000; ++i) EQUAL(target[i], int(self.left()) * 1000 + i);
}

STEP(zero_length_data_still_counts)
{
    counter arrived, reusable, complete;
    fence_all();
    OK(LAPI_Put(self.h, self.right(), 0, nullptr, nullptr, arrived.of(self.right()), reusable.here(), complete.here()));
    OK(LAPI_Get(self.h, self.right(), 0, nullptr, nullptr, arrived.of(self.right()), reusable.here()));
    complete.wait(1);
    reusable.wait(2);
    arrived.wait(2);
}

STEP(a_counter_of_the_target_follows_the_data)
{
    static unsigned char target[5000];
    auto where = everywhere(target);
    counter arrived;
    std::vector<unsigned char> mine(sizeof target);
    for (int round = 0; round < 50; ++round) {
        fill(mine.data(), mine.size(), self.me + round);
        fence_all();
        OK(LAPI_Put(self.h, self.right(), mine.size(), at(where[self.right()]), mine.data(), arrived.of(self.right()),
                    nullptr, nullptr));
        arrived.wait(1);
        EQUAL(wrong(target, sizeof target, int(self.left()) + round), 0u);
        fence_all();
    }
}

STEP(a_fence_means_the_data_is_there)
{
    static unsigned char target[70000];
    auto where = everywhere(target);
    std::vector<unsigned char> mine(sizeof target);
    for (int round = 0; round < 10; ++round) {
        fill(mine.data(), mine.size(), self.me + round);
        OK(LAPI_Put(self.h, self.right(), mine.size(), at(where[self.right()]), mine.data(), nullptr, nullptr,
                    nullptr));
        OK(LAPI_Fence(self.h));
        unsigned char last[2] = {};
        counter got;
        OK(LAPI_Get(self.h, self.right(), 2, at(where[self.right()], sizeof target - 2), last, nullptr, got.here()));
        got.wait(1);
        EQUAL(int(last[1]), int(mine.back()));
        fence_all();
        EQUAL(wrong(target, sizeof target, int(self.left()) + round), 0u);
        fence_all();
    }
}

STEP(put_and_get_refuse_bad_arguments)
{
    int x = 0;
    const uint none = uint(self.n);
    EQUAL(LAPI_Put(self.h, none, 4, &x, &x, nullptr, nullptr, nullptr), LAPI_ERR_TGT);
    EQUAL(LAPI_Get(self.h, none, 4, &x, &x, nullptr, nullptr), LAPI_ERR_TGT);
    EQUAL(LAPI_Put(self.h, 0, 4, nullptr, &x, nullptr, nullptr, nullptr), LAPI_ERR_TGT_ADDR_NULL);
    EQUAL(LAPI_Get(self.h, 0, 4, nullptr, &x, nullptr, nullptr), LAPI_ERR_TGT_ADDR_NULL);
    EQUAL(LAPI_Put(self.h, 0, 4, &x, nullptr, nullptr, nullptr, nullptr), LAPI_ERR_ORG_ADDR_NULL);
    EQUAL(LAPI_Get(self.h, 0, 4, &x, nullptr, nullptr, nullptr), LAPI_ERR_ORG_ADDR_NULL);
    EQUAL(LAPI_Put(self.h, 0, LAPI_MAX_MSG_SZ + 1, &x, &x, nullptr, nullptr, nullptr), LAPI_ERR_DATA_LEN);
    EQUAL(LAPI_Get(self.h, 0, LAPI_MAX_MSG_SZ + 1, &x, &x, nullptr, nullptr), LAPI_ERR_DATA_LEN);
    OK(LAPI_Senv(self.h, ERROR_CHK, 0)); // less is checked, but nothing breaks
    EQUAL(LAPI_Put(self.h, none, 4, &x, &x, nullptr, nullptr, nullptr), LAPI_ERR_TGT);
    OK(LAPI_Senv(self.h, ERROR_CHK, 1));
}

STEP(a_gigabyte_goes_there_and_back)
{
    const std::size_t bytes = std::size_t(1) << 30;
    auto map = [&] {
        return static_cast<unsigned char *>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    };
    unsigned char *target = self.me == 1 % self.n ? map() : nullptr;
    auto where = everywhere(target);
    counter done;
    if (self.me == 0) {
        unsigned char *mine = map();
        for (std::size_t i = 0; i < bytes; i += 4096) mine[i] = pattern(0, i / 4096);
        OK(LAPI_Put(self.h, uint(1 % self.n), bytes, at(where[std::size_t(1 % self.n)]), mine, nullptr, nullptr,
                    done.here()));
        done.wait(1);
        std::memset(mine, 0, bytes);
        OK(LAPI_Get(self.h, uint(1 % self.n), bytes, at(where[std::size_t(1 % self.n)]), mine, nullptr, done.here()));
        done.wait(1);
        std::size_t bad = 0;
        for (std::size_t i = 0; i < bytes; i += 4096) bad += mine[i] != pattern(0, i / 4096);
        EQUAL(bad, 0u);
        munmap(mine, bytes);
    }
    fence_all();
    if (target) munmap(target, bytes);
}
