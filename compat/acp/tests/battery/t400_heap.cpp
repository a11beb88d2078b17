// SPDX-License-Identifier: Apache-2.0
// Memory on any process, and starting anew.
#include "battery.hpp"
#include "fair_clock.hpp"
#include "random.hpp"

#include <map>
#include <thread>

using namespace battery;

STEP(memory_of_any_process_is_given_and_taken_by_any)
{
    random_numbers random(seed + std::uint64_t(self.me));
    std::map<acp_ga_t, std::uint64_t> live; // address: what its first word has
    for (int i = 0; i < 400; ++i) {
        if (live.empty() || random.below(3)) {
            const int rank = int(random.below(std::size_t(self.n)));
            const acp_ga_t ga = acp_malloc(1 + random.below(32768), rank);
            CHECK(ga != ACP_GA_NULL);
            EQUAL(acp_query_rank(ga), rank);
            EQUAL(ga % 8, 0u);
            CHECK(!live.contains(ga));
            words()[0] = live[ga] = random.next() | 1;
            do_copy(ga, word_of(self.me, 0), 1);
        } else {
            auto one = live.begin();
            std::advance(one, random.below(live.size()));
            do_copy(word_of(self.me, 1), one->first, 1);
            EQUAL(words()[1] & 0xff, one->second & 0xff);
            acp_free(one->first);
            live.erase(one);
        }
    }
    for (const auto &[ga, value] : live) acp_free(ga);
}

STEP(memory_that_another_gave_may_be_freed_here)
{
    const acp_ga_t left = everywhere(acp_malloc(100, self.right()))[std::size_t(self.left())];
    EQUAL(acp_query_rank(left), self.me);
    CHECK(acp_query_address(left) != nullptr);
    acp_free(left);
    EQUAL(acp_query_address(left), nullptr);
    acp_sync();
}

STEP(wrong_frees_are_told)
{
    const acp_ga_t ga = acp_malloc(200, self.right());
    ERROR_OF("not the start", acp_free(ga + 8));
    acp_sync(); // the processes free in each other's heaps
    acp_free(ga);
    acp_free(ACP_GA_NULL);
    ERROR_OF("not the start", acp_free(ga + 64));
    ERROR_OF("starter memory", acp_free(word_of(self.me, 0)));
    ERROR_OF("not the start", acp_free(word_of(self.right(), 0) + 8 * (self.right() == self.me ? 1u << 17 : 0)));
    ERROR_OF("no rank", EQUAL(acp_malloc(8, self.n), ACP_GA_NULL));
    ERROR_OF("no rank", EQUAL(acp_malloc(8, -1), ACP_GA_NULL));
    ERROR_OF("no ", EQUAL(acp_malloc(std::size_t(1) << 45, self.right()), ACP_GA_NULL));
}

STEP(starting_anew_gives_new_ranks_and_empty_memory)
{
    const int old = self.me;
    std::vector<std::uint64_t> memory(100);
    for (int round = 0; round < 3; ++round) {
        fill_words(100, 7);
        acp_malloc(1000, self.right());
        const acp_atkey_t key = acp_register_memory(memory.data(), memory.size() * 8, 0);
        const acp_ga_t before = acp_query_ga(key, memory.data());
        const int next = round == 2 ? old : (self.me + 1) % self.n;
        EQUAL(acp_reset(next), 0);
        EQUAL(acp_rank(), next);
        EQUAL(acp_procs(), self.n);
        self.me = next;
        EQUAL(acp_query_address(before), nullptr);
        for (std::size_t i = 0; i < 100; ++i) EQUAL(words()[i], 0u);
        for (int rank = 0; rank < self.n; ++rank) EQUAL(acp_query_rank(acp_query_starter_ga(rank)), rank);
        words()[0] = 100 + std::uint64_t(self.me);
        acp_sync();
        do_copy(word_of(self.me, 1), word_of(self.right(), 0), 8);
        EQUAL(words()[1], 100 + std::uint64_t(self.right()));
        const acp_ga_t ga = acp_malloc(64, self.right());
        EQUAL(acp_query_rank(ga), self.right());
        acp_sync();
        acp_free(ga);
        acp_sync();
    }
}

STEP(what_threads_have_registered_ends_when_all_starts_anew)
{
    static char memory[64];
    std::vector<std::thread> threads;
    std::vector<std::vector<acp_atkey_t>> kept(4);
    for (std::vector<acp_atkey_t> &keys : kept)
        threads.emplace_back([&keys] {
            for (int i = 0; i < often(20000); ++i) {
                const acp_atkey_t key = acp_register_memory(memory, sizeof memory, 0);
                if (i % 16 == 0)
                    keys.push_back(key);
                else
                    EQUAL(acp_unregister_memory(key), 0);
            }
        });
    for (std::thread &t : threads) t.join();
    EQUAL(acp_reset(self.me), 0);
    for (const std::vector<acp_atkey_t> &keys : kept)
        for (acp_atkey_t key : keys) EQUAL(acp_query_address(key), nullptr);
    acp_sync();
}

STEP(a_large_gap_does_not_delay_starting_anew)
{
    acp_sync();
    const acp_ga_t gap = acp_malloc(128 << 20, self.me), behind = acp_malloc(64, self.me); // needs no page
    CHECK(gap != ACP_GA_NULL && behind != ACP_GA_NULL);
    acp_free(gap);
    acp_sync();
    const proof::fair_clock clock;
    const double before = clock.now();
    EQUAL(acp_reset(self.me), 0);
    CHECK(clock.now() - before < (proof::sanitized ? 8 : 1)); // a look at each granule takes more
    ERROR_OF("not the start", acp_free(behind));
    acp_sync();
}

STEP(ranks_that_are_no_permutation_are_refused)
{
    fill_words(1, 5);
    ERROR_OF("each once", EQUAL(acp_reset(self.n), -1));
    if (self.n > 1) ERROR_OF("each once", EQUAL(acp_reset(0), -1));
    EQUAL(acp_rank(), self.me);
    EQUAL(words()[0], 5u);
}
