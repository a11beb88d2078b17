// SPDX-License-Identifier: Apache-2.0
// onesea.hpp in a job: every rank runs every case, so the cases are collective. Run alone, and launched on several
// nodes. A rank that fails says so with its exit status.
#include <onesea.hpp>

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace {

template <class Call>
int status_of(Call &&call)
{
    try {
        call();
        return SEA_OK;
    } catch (const sea::error &e) {
        EXPECT_NE(std::string(e.what()).find(sea_status_name(e.status())), std::string::npos) << e.what();
        return e.status();
    }
}

int right_of_me() { return (sea::rank() + 1) % sea::size(); }
int left_of_me() { return (sea::rank() + sea::size() - 1) % sea::size(); }

} // namespace

TEST(onesea_hpp, errors_carry_the_status_and_the_text)
{
    EXPECT_EQ(status_of([] { sea::node_of(1 << 20); }), SEA_ERR_RANK);
    EXPECT_EQ(status_of([] { sea::pointer<int>(sea_addr(1) << 39).get(); }), SEA_ERR_ADDRESS);
    EXPECT_EQ(status_of([] { sea::pointer<int>((sea_addr(sea::rank()) << 40) + 2).fetch_add(1); }), SEA_ERR_ALIGN);
}

TEST(onesea_hpp, puts_reach_the_neighbour)
{
    sea::team world;
    sea::allocation<double> mine(sea::rank(), 100);
    auto all = world.allgather(mine.data());
    std::vector<double> sent(100), got(100);
    std::iota(sent.begin(), sent.end(), 1000.0 * sea::rank());
    sea::put(all[std::size_t(right_of_me())], sent);
    sea::fence();
    sea::barrier();
    sea::get(got, mine.data());
    EXPECT_EQ(got.front(), 1000.0 * left_of_me());
    EXPECT_EQ(got.back(), 1000.0 * left_of_me() + 99);
    EXPECT_EQ(mine[7].get(), 1000.0 * left_of_me() + 7);
    sea::barrier();
}

TEST(onesea_hpp, pointers_count_in_elements)
{
    sea::allocation<std::uint32_t> a(sea::rank(), 8);
    auto p = a.data();
    p[3].put(33);
    sea::fence();
    EXPECT_EQ((p + 3).get(), 33u);
    EXPECT_EQ((p + 3) - p, 3);
    EXPECT_EQ(p - (p + 3), -3);
    EXPECT_LT(p, p + 1);
    EXPECT_EQ((p + 1).address(), p.address() + 4);
    EXPECT_EQ((p + 5) - 5, p);
    EXPECT_EQ(p.rank(), sea::rank());
    EXPECT_EQ(p.local()[3], 33u);
}

TEST(onesea_hpp, atomics_of_all_ranks_are_counted)
{
    sea::team world;
    sea::allocation<std::int64_t> word;
    if (sea::rank() == 0) {
        word = sea::allocation<std::int64_t>(0, 1);
        word.data().put(0);
        sea::fence();
    }
    auto counter = world.broadcast(0, word.data());
    for (int i = 0; i < 50; ++i) counter.fetch_add(-2);
    sea::barrier();
    EXPECT_EQ(counter.get(), -100 * sea::size());
    sea::barrier();
    if (sea::rank() == 0) {
        EXPECT_EQ(counter.compare_swap(1, 2), -100 * sea::size());
        EXPECT_EQ(counter.swap(5), -100 * sea::size());
        EXPECT_EQ(counter.compare_swap(5, 6), 5);
        EXPECT_EQ(counter.get(), 6);
    }
    sea::barrier();
}

TEST(onesea_hpp, operations_wait_for_each_other_and_give_their_handle_back)
{
    sea::team world;
    sea::allocation<int> mine(sea::rank(), 2);
    auto there = world.allgather(mine.data())[std::size_t(right_of_me())];
    std::vector<int> first{1, 2}, second{3, 4}, back(2);
    {
        auto a = sea::start_put(there, first);
        auto b = sea::start_put(there, second, a.handle());
        auto c = sea::start_get(back, there, b.handle());
        c.wait();
        EXPECT_TRUE(c.done());
        EXPECT_TRUE(b.wait(10.0));
    }
    EXPECT_EQ(back, second);
    sea::barrier();
}

TEST(onesea_hpp, memory_is_given_back_at_the_end_of_its_object)
{
    sea_addr address;
    std::size_t before = 0, after = 0;
    sea_heap_usage(sea::rank(), nullptr, &before);
    {
        sea::allocation<char> a(sea::rank(), 5000), b;
        b = std::move(a);
        EXPECT_FALSE(a.data());
        address = b.data().address();
    }
    sea_heap_usage(sea::rank(), nullptr, &after);
    EXPECT_EQ(before, after);
    EXPECT_EQ(status_of([&] { sea::pointer<char>(address).get(); }), SEA_ERR_ADDRESS);
    EXPECT_EQ(status_of([] { sea::allocation<double>(0, std::numeric_limits<std::size_t>::max()); }), SEA_ERR_MEMORY);
}

TEST(onesea_hpp, raw_space_is_open_as_long_as_its_object_lives)
{
    sea::team world;
    std::vector<int> mine(100), data(100, sea::rank()), back(100);
    const int right = right_of_me(), left = (sea::rank() + sea::size() - 1) % sea::size();
    int *there = world.allgather(mine.data())[std::size_t(right)];
    {
        sea::raw_opening open;
        sea::barrier();
        sea::raw_put(right, there, data);
        sea::fence(right);
        sea::raw_get(back, right, there);
        EXPECT_EQ(back, data);
        sea::barrier();
        EXPECT_EQ(mine[99], left);
        open.close();
    }
    sea::barrier();
    EXPECT_EQ(status_of([&] { sea::raw_get(back, right, there); }), SEA_ERR_ACCESS);
    sea::barrier();
}

TEST(onesea_hpp, registered_memory_is_reached_until_released)
{
    sea::team world;
    std::vector<int> memory(10, -1);
    sea::registration<int> open{std::span(memory)};
    auto there = world.allgather(open.data())[std::size_t(right_of_me())];
    there[9].put(sea::rank());
    sea::fence();
    sea::barrier();
    EXPECT_EQ(memory[9], left_of_me());
    EXPECT_EQ(memory[8], -1);
    open.release();
    sea::barrier();
    EXPECT_EQ(status_of([&] { there[9].get(); }), SEA_ERR_ADDRESS);
    sea::barrier();
}

TEST(onesea_hpp, teams_split_and_reduce)
{
    sea::team world;
    auto mine = world.split(sea::rank() % 2, -sea::rank());
    EXPECT_EQ(mine.size(), (sea::size() + 1 - sea::rank() % 2) / 2);
    EXPECT_EQ(mine.member(mine.rank()), sea::rank());
    int lowest = mine.allreduce(sea::rank(), SEA_MIN);
    EXPECT_EQ(lowest, sea::rank() % 2);
    EXPECT_EQ(mine.member(mine.size() - 1), lowest);
    EXPECT_DOUBLE_EQ(world.allreduce(0.5, SEA_SUM), 0.5 * sea::size());
    EXPECT_EQ(world.scan(sea::rank(), SEA_SUM), sea::rank() * (sea::rank() + 1) / 2);
    EXPECT_EQ(world.allreduce(std::uint8_t(sea::rank() + 1), SEA_MAX), std::uint8_t(sea::size()));
}

TEST(onesea_hpp, sums_go_to_one_or_in_parts_to_all_or_stop_before_the_caller)
{
    const sea::team world;
    const int me = sea::rank(), n = sea::size(), last = n - 1, all = n * (n + 1) / 2;
    EXPECT_EQ(world.reduce(last, me + 1, SEA_SUM), me == last ? all : me + 1);
    double sums[2] = {1, 2.0 * me};
    world.reduce(0, std::span(sums), SEA_SUM);
    EXPECT_EQ(sums[0], me == 0 ? n : 1);

    EXPECT_EQ(world.exscan(me + 1, SEA_SUM, -7), me == 0 ? -7 : me * (me + 1) / 2);
    std::vector<int> before{me + 1, 100};
    world.exscan(std::span(before), SEA_MAX);
    EXPECT_EQ(before, (std::vector<int>{me == 0 ? 1 : me, 100}));

    std::vector<int> terms(2 * std::size_t(n), 0), own(2);
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = int(i) * (me + 1);
    world.reduce_scatter(terms, std::span(own), SEA_SUM);
    EXPECT_EQ(own, (std::vector<int>{2 * me * all, (2 * me + 1) * all}));
    EXPECT_EQ(status_of([&] { world.reduce_scatter(terms, std::span(terms), SEA_SUM); }), SEA_ERR_INVALID);
}

TEST(onesea_hpp, values_go_to_one_from_one_and_from_each_to_each)
{
    struct number {
        explicit number(int n) : value(n) {}
        int value;
    };
    const sea::team world;
    const int me = sea::rank(), n = sea::size(), root = n - 1;
    const auto gathered = world.gather(root, number(10 * me));
    ASSERT_EQ(gathered.size(), me == root ? std::size_t(n) : 0);
    for (int r = 0; r < int(gathered.size()); ++r) EXPECT_EQ(gathered[std::size_t(r)].value, 10 * r);
    EXPECT_EQ(world.scatter<number>(root, gathered).value, 10 * me);
    EXPECT_EQ(world.gather(0, me % 2 == 0).size(), me == 0 ? std::size_t(n) : 0);

    std::vector<int> to_each;
    for (int r = 0; r < n; ++r) to_each.push_back(100 * me + r);
    const auto from_each = world.alltoall(std::span(std::as_const(to_each)));
    for (int r = 0; r < n; ++r) EXPECT_EQ(from_each[std::size_t(r)], 100 * r + me);
    EXPECT_EQ(status_of([&] { world.alltoall(std::span(to_each).subspan(1)); }), SEA_ERR_INVALID);
    EXPECT_EQ(status_of([&] { world.scatter<int>(me, std::span(to_each).subspan(1)); }), SEA_ERR_INVALID);
}

namespace {

// Member m has m + 1 elements of m; with gaps of one between them, or without.
struct stairs {
    std::vector<std::size_t> counts, starts;
    std::vector<short> room; // all of -1

    stairs(int members, std::size_t gap)
    {
        for (std::size_t m = 0, at = 0; m < std::size_t(members); at += counts[m++] + gap) {
            counts.push_back(m + 1);
            starts.push_back(at);
        }
        room.assign(starts.back() + counts.back(), -1);
    }
    static std::vector<short> part(int member) { return std::vector<short>(std::size_t(member) + 1, short(member)); }
    std::vector<short> expected() const
    {
        std::vector<short> all(room.size(), -1);
        for (std::size_t m = 0; m < counts.size(); ++m)
            std::fill_n(all.begin() + std::ptrdiff_t(starts[m]), counts[m], short(m));
        return all;
    }
};

} // namespace

TEST(onesea_hpp, parts_of_different_sizes_go_to_one_from_one_and_to_all)
{
    const sea::team world;
    const int me = sea::rank(), n = sea::size(), root = n - 1;
    const std::vector<short> mine = stairs::part(me);
    stairs close(n, 0), apart(n, 1), all(n, 1);
    if (me == root)
        world.gatherv(root, std::span(mine), close.room, {close.counts});
    else
        world.gatherv(root, std::span(mine));
    EXPECT_EQ(close.room, me == root ? close.expected() : stairs(n, 0).room);

    world.gatherv(root, std::span(mine), apart.room, {apart.counts, apart.starts});
    EXPECT_EQ(apart.room, me == root ? apart.expected() : stairs(n, 1).room);

    std::vector<short> got(mine.size(), -1);
    if (me == root)
        world.scatterv(root, std::span(got), apart.room, {apart.counts, apart.starts});
    else
        world.scatterv(root, std::span(got));
    EXPECT_EQ(got, mine);

    world.allgatherv(std::span(mine), all.room, {all.counts, all.starts});
    EXPECT_EQ(all.room, all.expected());
}

TEST(onesea_hpp, parts_of_different_sizes_go_from_each_to_each)
{
    const sea::team world;
    const int me = sea::rank(), n = sea::size();
    stairs from(n, 0), to(n, 1); // m + 1 to member m; me + 1 from each
    from.room = from.expected();
    std::fill(to.counts.begin(), to.counts.end(), std::size_t(me) + 1);
    for (std::size_t m = 0; m < to.counts.size(); ++m) to.starts[m] = m * to.counts[m];
    to.room.assign(std::size_t(n) * (std::size_t(me) + 1), -1);
    world.alltoallv(from.room, {from.counts}, std::span(to.room), {to.counts, to.starts});
    EXPECT_EQ(to.room, std::vector<short>(to.room.size(), short(me)));
}

TEST(onesea_hpp, parts_that_are_not_in_their_buffer_are_told)
{
    const sea::team world;
    const int me = sea::rank();
    const std::vector<short> mine = stairs::part(me);
    stairs all(sea::size(), 0);
    const auto told = [&](std::span<short> room, const sea::parts &of_room) {
        return status_of([&] { world.gatherv(me, std::span(mine), room, of_room); });
    };
    const auto whole = std::span(all.room);
    EXPECT_EQ(told(whole.subspan(1), {all.counts}), SEA_ERR_INVALID);
    EXPECT_EQ(told(whole.subspan(1), {all.counts, all.starts}), SEA_ERR_INVALID);
    EXPECT_EQ(told(whole, {std::span(all.counts).subspan(1)}), SEA_ERR_INVALID);
    all.starts.push_back(0);
    EXPECT_EQ(told(whole, {all.counts, all.starts}), SEA_ERR_INVALID);
    all.counts.back() = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(told(whole, {all.counts}), SEA_ERR_INVALID);
    sea::barrier();
}

TEST(onesea_hpp, spans_of_any_extent_are_sent_and_pointers_are_not)
{
    sea::team world;
    int fixed[4] = {}, sum[2] = {1, 2};
    std::vector<int> open(3);
    if (sea::rank() == 0) {
        std::fill_n(fixed, 4, 7);
        open.assign(3, 8);
    }
    world.broadcast(0, std::span(fixed));
    world.broadcast(0, std::span(open));
    EXPECT_EQ(std::count(fixed, fixed + 4, 7), 4);
    EXPECT_EQ(open, std::vector<int>(3, 8));
    world.allreduce(std::span(sum), SEA_SUM);
    EXPECT_EQ(sum[1], 2 * sea::size());
    const auto may_send = [](auto value) {
        return requires(sea::team t) { t.broadcast(0, value); };
    };
    EXPECT_TRUE(may_send(1));
    EXPECT_FALSE(may_send(fixed));
    EXPECT_FALSE(may_send(std::span<const int>(open)));
    EXPECT_FALSE(may_send(std::string_view("text")));
}

TEST(onesea_hpp, what_has_no_default_constructor_travels_and_so_does_bool)
{
    struct size {
        explicit size(int n) : value(n) {}
        int value;
    };
    sea::team world;
    for (bool b : world.allgather(true)) EXPECT_TRUE(b);
    const auto all = world.allgather(size(sea::rank()));
    EXPECT_EQ(all.back().value, sea::size() - 1);
    sea::allocation<size> mine(sea::rank(), 1);
    mine.data().put(size(5));
    EXPECT_EQ(mine.data().get().value, 5);
}

TEST(onesea_hpp, constants_are_registered_to_be_read_and_places_counted_as_pointers_are)
{
    static const std::vector<int> constants{1, 2, 3};
    auto open = sea::registration<int>::of_constants(constants);
    auto there = sea::team().allgather(open.data())[std::size_t(right_of_me())];
    EXPECT_EQ((2 + there).get(), 3);
    EXPECT_EQ((there++).get(), 1);
    EXPECT_EQ((there--).get(), 2);
    EXPECT_EQ(status_of([&] {
                  there.put(9);
                  sea::fence();
              }),
              SEA_ERR_ACCESS);
    sea::barrier();
}

TEST(onesea_hpp, an_operation_outlives_a_wait_for_no_time)
{
    std::vector<int> source(1 << 20, 3);
    sea::allocation<int> mine(sea::rank(), source.size());
    auto there = sea::team().allgather(mine.data())[std::size_t(right_of_me())];
    sea::operation put = sea::start_put(there, source);
    const sea_op before = put.handle();
    EXPECT_EQ(status_of([&] { put.wait(std::numeric_limits<double>::quiet_NaN()); }), SEA_ERR_INVALID);
    EXPECT_EQ(put.handle(), before);
    put.wait();
    sea::barrier();
}

TEST(onesea_hpp, number_types_have_their_own_sea_type)
{
    std::set<sea_type> all{sea::type_of<std::int8_t>(),   sea::type_of<std::uint8_t>(),  sea::type_of<std::int16_t>(),
                           sea::type_of<std::uint16_t>(), sea::type_of<std::int32_t>(),  sea::type_of<std::uint32_t>(),
                           sea::type_of<std::int64_t>(),  sea::type_of<std::uint64_t>(), sea::type_of<float>(),
                           sea::type_of<double>()};
    EXPECT_EQ(all.size(), 10u);
    static_assert(sea::type_of<std::int16_t>() == SEA_INT16 && sea::type_of<std::uint64_t>() == SEA_UINT64);
    static_assert(sea::type_of<const double>() == SEA_DOUBLE && sea::type_of<volatile float>() == SEA_FLOAT);
    static_assert(sea::type_of<long>() == SEA_INT64 && sea::type_of<float>() == SEA_FLOAT);
}

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    testing::FLAGS_gtest_brief = true;
    try {
        sea::job job;
        int failed = RUN_ALL_TESTS();
        job.finish();
        return failed;
    } catch (const sea::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
