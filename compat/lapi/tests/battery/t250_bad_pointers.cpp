// SPDX-License-Identifier: Apache-2.0
// Pointers that are none at the target: an error at the origin, by the call or by the error handler, and the target
// lives on.
#include "battery.hpp"

#include <string>
#include <sys/mman.h>

using namespace battery;

namespace {

void *bad_pointer() { return reinterpret_cast<void *>(std::uintptr_t(0x1000)); }

// Either the call says it or the error handler hears it.
void expect_refusal(int code, lapi_err_t type, uint tgt)
{
    OK(LAPI_Fence(self.h));
    if (code != LAPI_SUCCESS) {
        EQUAL(code, LAPI_ERR_ONESEA_ADDRESS);
        errors_heard();
        return;
    }
    auto errors = errors_heard(1);
    EQUAL(errors.size(), 1u);
    if (errors.empty()) return;
    EQUAL(errors[0].code, LAPI_ERR_ONESEA_ADDRESS);
    EQUAL(errors[0].type, type);
    EQUAL(errors[0].other, int(tgt));
}

} // namespace

STEP(bad_pointers_are_errors)
{
    char mine[20000] = {};
    int one = 1, old = 0, two[2] = {1, 2};
    const uint t = self.right();
    for (ulong bytes : {4ul, 8ul, 2000ul, 20000ul}) {
        expect_refusal(LAPI_Put(self.h, t, bytes, bad_pointer(), mine, nullptr, nullptr, nullptr), PUT_ERR, t);
        expect_refusal(LAPI_Get(self.h, t, bytes, bad_pointer(), mine, nullptr, nullptr), GET_ERR, t);
    }
    auto *word = static_cast<int *>(bad_pointer());
    expect_refusal(LAPI_Rmw(self.h, FETCH_AND_ADD, t, word, &one, &old, nullptr), RMW_ERR, t);
    expect_refusal(LAPI_Rmw(self.h, COMPARE_AND_SWAP, t, word, two, &old, nullptr), RMW_ERR, t);
    int aligned[2];
    auto *odd = reinterpret_cast<int *>(reinterpret_cast<char *>(aligned) + 1);
    EQUAL(LAPI_Rmw(self.h, SWAP, t, odd, &one, &old, nullptr), LAPI_ERR_ONESEA_ADDRESS);
}

STEP(read_only_memory_is_not_written)
{
    void *page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto where = everywhere(page);
    int mine = 5;
    counter done;
    expect_refusal(LAPI_Put(self.h, self.right(), 4, reinterpret_cast<void *>(where[self.right()]), &mine, nullptr,
                            nullptr, nullptr),
                   PUT_ERR, self.right());
    OK(LAPI_Get(self.h, self.right(), 4, reinterpret_cast<void *>(where[self.right()]), &mine, nullptr, done.here()));
    done.wait(1);
    EQUAL(mine, 0);
    fence_all();
    munmap(page, 4096);
}

STEP(who_waits_for_a_counter_goes_on_after_an_error)
{
    char mine[2000] = {};
    counter reusable, complete;
    int code =
        LAPI_Put(self.h, self.right(), sizeof mine, bad_pointer(), mine, nullptr, reusable.here(), complete.here());
    if (code == LAPI_SUCCESS) {
        reusable.wait(1);
        complete.wait(1);
    }
    expect_refusal(code, PUT_ERR, self.right());
    code = LAPI_Get(self.h, self.right(), sizeof mine, bad_pointer(), mine, nullptr, complete.here());
    if (code == LAPI_SUCCESS) complete.wait(1);
    expect_refusal(code, GET_ERR, self.right());
}
