// SPDX-License-Identifier: Apache-2.0
// Ranks, starter memory, registrations, addresses.
#include "battery.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <unistd.h>

using namespace battery;

// What clients in other languages rely on.
static_assert(sizeof(acp_ga_t) == 8 && sizeof(acp_atkey_t) == 8 && sizeof(acp_handle_t) == 8);
static_assert(sizeof(acp_element_t) == 16 && sizeof(acp_pair_t) == 32);
static_assert(sizeof(acp_vector_t) == 8 && sizeof(acp_deque_t) == 8 && sizeof(acp_list_t) == 8);
static_assert(sizeof(acp_vector_it_t) == 16 && offsetof(acp_vector_it_t, index) == 8);
static_assert(sizeof(acp_deque_it_t) == 16 && offsetof(acp_deque_it_t, index) == 8);
static_assert(sizeof(acp_list_it_t) == 16 && offsetof(acp_list_it_t, elem) == 8);
static_assert(sizeof(acp_set_t) == 24 && offsetof(acp_set_t, num_ranks) == 8 && offsetof(acp_set_t, num_slots) == 16);
static_assert(sizeof(acp_set_it_t) == 40 && offsetof(acp_set_it_t, rank) == 24 && offsetof(acp_set_it_t, slot) == 28);
static_assert(offsetof(acp_multiset_it_t, set) == 0 && offsetof(acp_multiset_it_t, elem) == 32);
static_assert(sizeof(acp_map_it_t) == 40 && sizeof(acp_map_ib_t) == 48 && offsetof(acp_map_ib_t, success) == 40);
static_assert(sizeof(acp_wsditem) == 88 && offsetof(acp_wsditem, ngas) == 24 && offsetof(acp_wsditem, gas) == 56);

STEP(ranks_and_colours)
{
    CHECK(self.n >= 1);
    CHECK(self.me >= 0 && self.me < self.n);
    CHECK(acp_colors() >= 1);
    EQUAL(acp_sync(), 0);
    EQUAL(acp_onesea_rank(self.me), self.me);
    EQUAL(acp_onesea_rank(self.n), -1);
    EQUAL(acp_onesea_rank(-1), -1);
}

STEP(starter_memory_is_zero_and_everywhere)
{
    const std::size_t count = (1 << 20) / 8;
    CHECK(std::all_of(words(), words() + count, [](std::uint64_t w) { return w == 0; }));
    for (int rank = 0; rank < self.n; ++rank) {
        const acp_ga_t ga = acp_query_starter_ga(rank);
        CHECK(ga != ACP_GA_NULL);
        EQUAL(ga % 8, 0u);
        EQUAL(acp_query_rank(ga), rank);
        EQUAL(acp_query_color(ga), 0);
        EQUAL(acp_query_address(ga) != nullptr, rank == self.me);
        for (int other = 0; other < rank; ++other) CHECK(acp_query_starter_ga(other) != ga);
    }
    EQUAL(acp_query_starter_ga(self.n), ACP_GA_NULL);
    EQUAL(acp_query_starter_ga(-1), ACP_GA_NULL);
    acp_sync(); // nobody writes before all have looked
    words()[count - 1] = std::uint64_t(self.me) + 1;
    acp_sync();
    do_copy(word_of(self.me, 0), word_of(self.right(), count - 1), 8);
    EQUAL(words()[0], std::uint64_t(self.right()) + 1);
}

STEP(null_is_nobodys)
{
    EQUAL(acp_query_rank(ACP_GA_NULL), -1);
    EQUAL(acp_query_color(ACP_GA_NULL), -1);
    EQUAL(acp_query_address(ACP_GA_NULL), nullptr);
    EQUAL(acp_query_rank(~acp_ga_t(0)), -1);
}

STEP(registrations_keep_address_and_colour)
{
    std::vector<char> memory(300000);
    for (int colour = 0; colour < acp_colors(); ++colour) {
        const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), colour);
        CHECK(key != ACP_ATKEY_NULL);
        for (std::size_t at : {std::size_t(0), std::size_t(1), std::size_t(4096), memory.size() - 1}) {
            const acp_ga_t ga = acp_query_ga(key, memory.data() + at);
            EQUAL(ga, acp_query_ga(key, memory.data()) + at);
            EQUAL(acp_query_address(ga), static_cast<void *>(memory.data() + at));
            EQUAL(acp_query_rank(ga), self.me);
            EQUAL(acp_query_color(ga), colour);
            EQUAL(acp_onesea_address(ga) >> 40, std::uint64_t(acp_onesea_rank(self.me)));
        }
        EQUAL(acp_unregister_memory(key), 0);
    }
}

STEP(aligned_memory_has_aligned_addresses)
{
    alignas(64) static char memory[256];
    for (int before = 0; before < 16; ++before) {
        const acp_atkey_t key = acp_register_memory(memory + before, sizeof memory - 16, 0);
        EQUAL(acp_query_ga(key, memory + 64) % 8, 0u);
        EQUAL(acp_query_ga(key, memory + 65) % 8, 1u);
        EQUAL(acp_unregister_memory(key), 0);
    }
}

STEP(what_lies_beside_a_registration_is_not_inside)
{
    alignas(64) static char memory[256];
    constexpr std::size_t size = 64;
    for (int before = 0; before < 16; ++before) {
        char *const first = memory + 64 + before;
        const acp_atkey_t key = acp_register_memory(first, size, 3);
        for (std::size_t near = 1; near <= 8; ++near) {
            EQUAL(acp_query_ga(key, first + near), acp_query_ga(key, first) + near);
            EQUAL(acp_query_address(acp_query_ga(key, first + size - near)), static_cast<void *>(first + size - near));
            ERROR_OF("is not inside", EQUAL(acp_query_ga(key, first - near), ACP_GA_NULL));
            ERROR_OF("is not inside", EQUAL(acp_query_ga(key, first + size + near - 1), ACP_GA_NULL));
        }
        const acp_atkey_t other = key ^ 7; // names what it does not
        ERROR_OF("no registration", EQUAL(acp_query_ga(other, first + 8), ACP_GA_NULL));
        ERROR_OF("not the start of a registration", EQUAL(acp_unregister_memory(other), -1));
        EQUAL(acp_unregister_memory(key), 0);
    }
}

STEP(only_a_key_names_a_registration)
{
    std::vector<char> memory(3 << 20);
    const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), 0);
    ERROR_OF("no registration", EQUAL(acp_query_ga(acp_query_starter_ga(self.me), words()), ACP_GA_NULL));
    for (acp_ga_t into : {8, 1 << 20}) // addresses inside
        ERROR_OF("no registration", EQUAL(acp_query_ga(key + into, memory.data() + into), ACP_GA_NULL));
    EQUAL(acp_unregister_memory(key), 0);
}

STEP(constants_can_be_registered_and_read)
{
    static const std::uint64_t constants[8] = {3, 4};
    const acp_atkey_t key = acp_register_memory(const_cast<std::uint64_t *>(constants), sizeof constants, 0);
    CHECK(key != ACP_ATKEY_NULL);
    const acp_ga_t ga = acp_query_ga(key, const_cast<std::uint64_t *>(constants));
    acp_complete(acp_copy(word_of(self.me, 0), ga + 8, 8, ACP_HANDLE_NULL));
    EQUAL(*static_cast<std::uint64_t *>(acp_query_address(word_of(self.me, 0))), 4u);
    EQUAL(acp_unregister_memory(key), 0);
}

STEP(wrong_registrations_are_told)
{
    static char all[256];
    char *const memory = all + 96;
    constexpr std::size_t size = 64;
    ERROR_OF("colour 4", EQUAL(acp_register_memory(memory, size, acp_colors()), ACP_ATKEY_NULL));
    ERROR_OF("colour -1", EQUAL(acp_register_memory(memory, size, -1), ACP_ATKEY_NULL));
    ERROR_OF("0 bytes", EQUAL(acp_register_memory(memory, 0, 0), ACP_ATKEY_NULL));
    ERROR_OF("64 bytes", EQUAL(acp_register_memory(nullptr, 64, 0), ACP_ATKEY_NULL));
    ERROR_OF("not all mapped", EQUAL(acp_register_memory(reinterpret_cast<void *>(4096), 64, 0), ACP_ATKEY_NULL));
    const acp_atkey_t key = acp_register_memory(memory, size, 1);
    ERROR_OF("is not inside", EQUAL(acp_query_ga(key, memory - 64), ACP_GA_NULL));
    ERROR_OF("is not inside", EQUAL(acp_query_ga(key, memory + 72), ACP_GA_NULL));
    const acp_ga_t ga = acp_query_ga(key, memory);
    EQUAL(acp_unregister_memory(key), 0);
    ERROR_OF("not the start of a registration", EQUAL(acp_unregister_memory(key), -1));
    ERROR_OF("no registration", EQUAL(acp_query_ga(key, memory), ACP_GA_NULL));
    ERROR_OF("no registration", EQUAL(acp_query_ga(ACP_ATKEY_NULL, memory), ACP_GA_NULL));
    ERROR_OF("not the start", EQUAL(acp_unregister_memory(ACP_ATKEY_NULL), -1));
    EQUAL(acp_query_address(ga), nullptr);
    ERROR_OF("acp_copy", EQUAL(acp_copy(word_of(self.me, 0), ga, 8, ACP_HANDLE_NULL), 0));
    ERROR_OF("called before", EQUAL(acp_init(nullptr, nullptr), -1));
}

STEP(a_registration_ends_where_the_next_one_begins)
{
    constexpr std::size_t size = 1 << 20; // as far apart as addresses of registrations are
    std::vector<char> memory(3 * size);
    const acp_atkey_t one = acp_register_memory(memory.data(), size, 1);
    const acp_atkey_t two = acp_register_memory(memory.data() + size, size, 2);
    const acp_ga_t start = acp_query_ga(one, memory.data());
    EQUAL(acp_query_ga(one, memory.data() + size - 1), start + size - 1);
    EQUAL(acp_query_color(acp_query_ga(two, memory.data() + size)), 2);
    for (std::size_t behind : {0, 1, 100})
        ERROR_OF("is not inside", EQUAL(acp_query_ga(one, memory.data() + size + behind), ACP_GA_NULL));
    ERROR_OF("is not inside", EQUAL(acp_query_ga(two, memory.data()), ACP_GA_NULL));
    EQUAL(acp_unregister_memory(one), 0);
    EQUAL(acp_unregister_memory(two), 0);
}

STEP(an_unregistered_address_of_another_is_told)
{
    if (self.n < 2) return;
    registered<std::uint64_t> kept(8), gone(8);
    const acp_ga_t stale = everywhere(gone.at(0))[std::size_t(self.right())];
    acp_sync();
    {
        registered<std::uint64_t> end(std::move(gone));
    }
    acp_sync();
    ERROR_OF("", acp_complete(acp_copy(stale, word_of(self.me, 0), 8, ACP_HANDLE_NULL)));
    ERROR_OF("", acp_complete(acp_add8(word_of(self.me, 0), stale, 1, ACP_HANDLE_NULL)));
    acp_sync();
}

STEP(an_idle_process_uses_no_processor_time)
{
    acp_sync();
    usleep(200000); // what the barrier left to do
    double used = 1;
    for (int i = 0; i < 10 && used >= 0.02; ++i) { // a host takes time from a machine and lets it count as used
        const double before = processor_seconds();
        usleep(1000000);
        used = processor_seconds() - before;
    }
    CHECK(used < 0.02);
    if (used >= 0.02) std::cerr << "    " << used << " s of processor time in 1 s of sleep\n";
}

#if !defined(__SANITIZE_THREAD__) // whose own memory for each byte would be measured
namespace {

std::size_t resident_bytes()
{
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4096;
}

} // namespace

STEP(a_registration_costs_64_bytes_at_most)
{
    constexpr std::size_t many = 50000;
    static char memory[64];
    std::vector<acp_atkey_t> keys(many);
    for (acp_atkey_t &key : keys) key = 1; // its pages are there before
    const std::size_t before = resident_bytes();
    for (acp_atkey_t &key : keys) key = acp_register_memory(memory, sizeof memory, 0);
    const std::size_t cost = resident_bytes() - before;
    CHECK(cost <= 64 * many);
    if (cost > 64 * many) std::cerr << "    " << double(cost) / double(many) << " bytes\n";
    EQUAL(acp_query_address(acp_query_ga(keys[many - 1], memory + 5)), static_cast<void *>(memory + 5));
    for (acp_atkey_t key : keys) EQUAL(acp_unregister_memory(key), 0);
}
#endif
