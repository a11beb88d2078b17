// SPDX-License-Identifier: Apache-2.0
// Read-modify-write: four operations, two widths, private and shared memory.
#include "battery.hpp"

using namespace battery;

namespace {

template <class Word>
int rmw(RMW_ops_t op, uint tgt, lapi_long_t word, Word *in, Word *old, lapi_cntr_t *cntr)
{
    if constexpr (sizeof(Word) == 4)
        return LAPI_Rmw(self.h, op, tgt, reinterpret_cast<int *>(word), in, old, cntr);
    else
        return LAPI_Rmw64(self.h, op, tgt, reinterpret_cast<long long *>(word), in, old, cntr);
}

template <class Word>
Word done(RMW_ops_t op, lapi_long_t word, Word in)
{
    counter *c = new counter;
    Word old = -77;
    OK(rmw(op, self.right(), word, &in, &old, c->here()));
    c->wait(1);
    delete c;
    return old;
}

// The word on the right is nobody else's but the task's on the left of it.
template <class Word>
void all_operations(Word *word)
{
    auto where = everywhere(word);
    const lapi_long_t there = where[self.right()];
    const Word big = Word(sizeof(Word) == 4 ? 0x70000000 : 0x7000000000000000);
    *word = 5;
    fence_all();
    EQUAL(done<Word>(FETCH_AND_ADD, there, 3), 5);
    EQUAL(done<Word>(FETCH_AND_ADD, there, -10), 8);
    EQUAL(done<Word>(SWAP, there, 0x10), -2);
    EQUAL(done<Word>(FETCH_AND_OR, there, 0x101), 0x10);
    EQUAL(done<Word>(SWAP, there, big), 0x111);
    counter c;
    Word pair[2] = {1, 2}, told = -7;
    OK(rmw<Word>(COMPARE_AND_SWAP, self.right(), there, pair, &told, c.here()));
    c.wait(1);
    EQUAL(told, 0); // FALSE
    pair[0] = big;
    OK(rmw<Word>(COMPARE_AND_SWAP, self.right(), there, pair, &told, c.here()));
    c.wait(1);
    EQUAL(told, 1); // TRUE
    pair[0] = 2, pair[1] = 9;
    OK(rmw<Word>(COMPARE_AND_SWAP, self.right(), there, pair, nullptr, c.here())); // the answer is not wanted
    c.wait(1);
    Word one = 1;
    OK(rmw<Word>(FETCH_AND_ADD, self.right(), there, &one, nullptr, c.here()));
    c.wait(1);
    fence_all();
    EQUAL(*word, 10);
}

} // namespace

STEP(all_updates_on_private_memory)
{
    static int narrow;
    static long long wide;
    all_operations(&narrow);
    all_operations(&wide);
}

STEP(all_updates_on_shared_memory)
{
    void *memory = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, 64, &memory));
    all_operations(static_cast<int *>(memory));
    all_operations(static_cast<long long *>(memory) + 2);
    OK(LAPI_Onesea_shared_free(self.h, memory));
}

STEP(updates_of_everybody_are_atomic)
{
    static int narrow;
    void *memory = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, 64, &memory));
    auto *shared = static_cast<long long *>(memory);
    narrow = 0;
    *shared = 0;
    auto there = everywhere(&narrow), there64 = everywhere(shared);
    const int rounds = 100;
    counter c;
    int one = 1, old[rounds];
    long long one64 = 1, old64[rounds];
    for (int i = 0; i < rounds; ++i) {
        OK(LAPI_Rmw(self.h, FETCH_AND_ADD, 0, reinterpret_cast<int *>(there[0]), &one, &old[i], c.here()));
        OK(LAPI_Rmw64(self.h, FETCH_AND_ADD, 0, reinterpret_cast<long long *>(there64[0]), &one64, &old64[i],
                      c.here()));
    }
    c.wait(2 * rounds);
    for (int i = 1; i < rounds; ++i) CHECK(old[i] != old[i - 1] && old64[i] != old64[i - 1]);
    fence_all();
    if (self.me == 0) EQUAL(narrow, rounds * self.n);
    if (self.me == 0) EQUAL(*shared, rounds * self.n);
    fence_all();
    OK(LAPI_Onesea_shared_free(self.h, memory));
}

STEP(a_lock_by_compare_and_swap_excludes)
{
    static int lock, sum;
    lock = sum = 0;
    auto locks = everywhere(&lock), sums = everywhere(&sum);
    counter c;
    auto *there = reinterpret_cast<int *>(locks[0]);
    for (int i = 0; i < 10; ++i) {
        int take[2] = {0, 1}, got = 0, zero = 0, value = 0;
        while (!got) {
            OK(LAPI_Rmw(self.h, COMPARE_AND_SWAP, 0, there, take, &got, c.here()));
            c.wait(1);
        }
        OK(LAPI_Get(self.h, 0, 4, reinterpret_cast<void *>(sums[0]), &value, nullptr, c.here()));
        c.wait(1);
        ++value;
        OK(LAPI_Put(self.h, 0, 4, reinterpret_cast<void *>(sums[0]), &value, nullptr, nullptr, c.here()));
        c.wait(1);
        OK(LAPI_Rmw(self.h, SWAP, 0, there, &zero, nullptr, c.here()));
        c.wait(1);
    }
    fence_all();
    if (self.me == 0) EQUAL(sum, 10 * self.n);
}

STEP(updates_refuse_bad_arguments)
{
    int x = 0;
    long long y = 0;
    EQUAL(LAPI_Rmw(self.h, SWAP, uint(self.n), &x, &x, &x, nullptr), LAPI_ERR_TGT);
    EQUAL(LAPI_Rmw(self.h, RMW_ops_t(4), 0, &x, &x, &x, nullptr), LAPI_ERR_RMW_OP);
    EQUAL(LAPI_Rmw(self.h, RMW_ops_t(-1), 0, &x, &x, &x, nullptr), LAPI_ERR_RMW_OP);
    EQUAL(LAPI_Rmw(self.h, SWAP, 0, nullptr, &x, &x, nullptr), LAPI_ERR_TGT_VAR_NULL);
    EQUAL(LAPI_Rmw(self.h, SWAP, 0, &x, nullptr, &x, nullptr), LAPI_ERR_IN_VAL_NULL);
    EQUAL(LAPI_Rmw64(self.h, RMW_ops_t(4), 0, &y, &y, &y, nullptr), LAPI_ERR_RMW_OP);
    EQUAL(LAPI_Rmw64(self.h, SWAP, 0, nullptr, &y, &y, nullptr), LAPI_ERR_TGT_VAR_NULL);
    EQUAL(LAPI_Rmw64(self.h, SWAP, 0, &y, nullptr, &y, nullptr), LAPI_ERR_IN_VAL_NULL);
}
