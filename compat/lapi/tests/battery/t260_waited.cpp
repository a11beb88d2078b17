// SPDX-License-Identifier: Apache-2.0
// The calls of ours that wait for the end of their operation: data of all sizes, private and shared memory, and what
// goes wrong as their result.
#include "battery.hpp"

#include <chrono>
#include <cmath>
#include <thread>

using namespace battery;

namespace {

void there_and_back(lapi_long_t there, std::size_t bytes, lapi_cntr_t *tgt_cntr)
{
    std::vector<char> out(bytes, char(self.me + 1)), in(bytes, 0);
    auto *place = reinterpret_cast<void *>(there);
    OK(LAPI_Onesea_put(self.h, self.right(), bytes, place, out.data(), tgt_cntr));
    OK(LAPI_Onesea_get(self.h, self.right(), bytes, place, in.data()));
    CHECK(in == out);
}

void update_all_ways(lapi_long_t there)
{
    auto *word = reinterpret_cast<long long *>(there);
    long long one = 1, pair[2] = {1, 7}, old = -1;
    OK(LAPI_Onesea_rmw64(self.h, SWAP, self.right(), word, &one, &old));
    OK(LAPI_Onesea_rmw64(self.h, COMPARE_AND_SWAP, self.right(), word, pair, &old));
    EQUAL(old, 1);
    OK(LAPI_Onesea_rmw64(self.h, COMPARE_AND_SWAP, self.right(), word, pair, &old));
    EQUAL(old, 0);
    OK(LAPI_Onesea_rmw64(self.h, FETCH_AND_ADD, self.right(), word, &one, nullptr));
    OK(LAPI_Onesea_rmw64(self.h, FETCH_AND_OR, self.right(), word, &one, &old));
    EQUAL(old, 8);
}

} // namespace

STEP(calls_that_wait_bring_data_of_all_sizes)
{
    constexpr std::size_t most = 200000;
    static char own[most];
    void *shared = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, most, &shared));
    counter arrived;
    int puts = 0;
    for (void *memory : {static_cast<void *>(own), shared}) {
        auto where = everywhere(memory);
        for (std::size_t bytes : {std::size_t(0), std::size_t(1), std::size_t(8), std::size_t(1000), std::size_t(8192),
                                  std::size_t(8193), most}) {
            there_and_back(where[self.right()], bytes, arrived.of(self.right()));
            ++puts;
        }
        fence_all();
    }
    arrived.wait(puts);
    EQUAL(arrived.now(), 0);
    fence_all();
    OK(LAPI_Onesea_shared_free(self.h, shared));
}

STEP(calls_that_wait_update_words)
{
    static long long own;
    void *shared = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, 64, &shared));
    for (void *memory : {static_cast<void *>(&own), shared}) {
        auto where = everywhere(memory);
        update_all_ways(where[self.right()]);
        fence_all();
        EQUAL(*static_cast<long long *>(memory), 9);
    }
    OK(LAPI_Onesea_shared_free(self.h, shared));
}

// The error handler hears of none of it, or the step fails.
STEP(calls_that_wait_tell_what_went_wrong)
{
    char data[8] = {};
    long long one = 1, pair[2] = {}, old = 5;
    auto *bad = reinterpret_cast<long long *>(8);
    EQUAL(LAPI_Onesea_put(self.h, self.right(), 8, bad, data, nullptr), LAPI_ERR_ONESEA_ADDRESS);
    EQUAL(LAPI_Onesea_get(self.h, self.right(), 8, bad, data), LAPI_ERR_ONESEA_ADDRESS);
    EQUAL(LAPI_Onesea_rmw64(self.h, SWAP, self.right(), bad, &one, &old), LAPI_ERR_ONESEA_ADDRESS);
    EQUAL(LAPI_Onesea_rmw64(self.h, COMPARE_AND_SWAP, self.right(), bad, pair, &old), LAPI_ERR_ONESEA_ADDRESS);
    EQUAL(LAPI_Onesea_put(self.h, uint(self.n), 8, data, data, nullptr), LAPI_ERR_TGT);
    EQUAL(LAPI_Onesea_get(self.h, self.right(), 8, nullptr, data), LAPI_ERR_TGT_ADDR_NULL);
    EQUAL(LAPI_Onesea_get(self.h, self.right(), 8, data, nullptr), LAPI_ERR_ORG_ADDR_NULL);
    EQUAL(LAPI_Onesea_rmw64(self.h, SWAP, self.right(), nullptr, &one, &old), LAPI_ERR_TGT_VAR_NULL);
    EQUAL(LAPI_Onesea_rmw64(self.h, SWAP, self.right(), &old, nullptr, &old), LAPI_ERR_IN_VAL_NULL);
    EQUAL(LAPI_Onesea_get(self.h + 1000, self.right(), 8, data, data), LAPI_ERR_HNDL_INVALID);
    EQUAL(old, 5);
}

STEP(a_fence_returns_when_the_error_handler_has_heard)
{
    for (int i = 0; i < 50; ++i) {
        long long one = 1;
        const int code =
            LAPI_Put(self.h, self.right(), 8, reinterpret_cast<void *>(8), &one, nullptr, nullptr, nullptr);
        if (code != LAPI_SUCCESS) EQUAL(code, LAPI_ERR_ONESEA_ADDRESS); // inside a node the call finds it
        OK(LAPI_Fence(self.h));
        EQUAL(errors_heard().size(), code == LAPI_SUCCESS ? 1u : 0u);
    }
}

STEP(a_wait_with_a_limit_ends_at_its_value_or_at_its_limit)
{
    lapi_cntr_t c = {};
    int now = 0;
    const auto wait = [&](int val, double seconds) { return LAPI_Onesea_waitcntr(self.h, &c, val, seconds); };
    EQUAL(wait(1, 0), LAPI_ERR_TIMEOUT);
    OK(LAPI_Setcntr(self.h, &c, -1));
    EQUAL(wait(1, 0.05), LAPI_ERR_TIMEOUT); // nor below 0
    OK(LAPI_Getcntr(self.h, &c, &now));
    EQUAL(now, -1);
    OK(LAPI_Setcntr(self.h, &c, 3));
    OK(wait(0, 0));
    OK(wait(2, 0));
    EQUAL(wait(2, 0.05), LAPI_ERR_TIMEOUT);
    OK(LAPI_Getcntr(self.h, &c, &now));
    EQUAL(now, 1);
    std::thread setter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        OK(LAPI_Setcntr(self.h, &c, 2));
    });
    OK(wait(2, 1e300));
    setter.join();
    EQUAL(wait(-1, 0), LAPI_ERR_CNTR_VAL);
    EQUAL(wait(1, -1), LAPI_ERR_CNTR_VAL);
    EQUAL(wait(1, std::nan("")), LAPI_ERR_CNTR_VAL);
    EQUAL(LAPI_Onesea_waitcntr(self.h, nullptr, 1, 0), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Onesea_waitcntr(self.h + 1000, &c, 1, 0), LAPI_ERR_HNDL_INVALID);
}
