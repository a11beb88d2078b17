// SPDX-License-Identifier: Apache-2.0
// One ranking:
//
//   1. every process counts how many of its keys fall into each of a fixed number of buckets (equal shares of the
//   range);
//   2. all tell all (one allgather, the values of the five test keys in the same message);
//   3. from the sums everybody computes the same division: process i takes the next buckets until its share of the keys
//      is reached. With the single counts everybody also knows how many keys go from whom to whom and where they
//      belong;
//   4. every process writes its keys bucket by bucket, and sends to each other process its buckets' keys, which are
//      contiguous;
//   5. it counts the values of the keys of its own buckets as they arrive, its own first, and adds the counts up: the
//      rank of a value is the number of keys that are less.
//
// The keys that a process receives are in the order of the buckets, so the counting of 5 works in a small part of the
// table at a time. The number of buckets is a compromise: with few for a process one may get much more than its share,
// and the part of the table is larger; with many the writing of 4 has more places under way than the nearest cache has
// lines, and more counts are told.
#include "kernel.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace npb::is {
namespace {

constexpr int fewest_buckets_log = 8, most_buckets_log = 10;
constexpr int buckets_of_a_process_log = 6; // it gets at most 1/64 more than its share, 2.7 times that in the middle
constexpr std::uint32_t not_mine = ~std::uint32_t(0); // told for a test key that another process has

std::size_t cut(std::size_t whole, std::size_t part, std::size_t parts) { return whole * part / parts; }

int buckets_log_for(const problem &given, std::size_t processes)
{
    const int wanted = static_cast<int>(std::bit_width(processes - 1)) + buckets_of_a_process_log;
    return std::min(std::clamp(wanted, fewest_buckets_log, most_buckets_log), given.range_log - 1);
}

} // namespace

kernel::kernel(const problem &given, comm &peers)
    : given_(given), peers_(peers), buckets_log_(buckets_log_for(given, parts())),
      shift_(given.range_log - buckets_log_), first_key_(cut(given.keys(), me(), parts())),
      keys_(cut(given.keys(), me() + 1, parts()) - first_key_), shared_length_(buckets() + tests),
      mine_(shared_length_), shared_(parts() * shared_length_), takes_(parts() + 1), outgoing_(parts()),
      incoming_(parts()), parts_(parts())
{
    make_keys(given, first_key_, keys_);
    count_buckets(0);
    std::size_t largest = 0;
    for (std::size_t b = 0; b < buckets(); ++b) {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < parts(); ++i) sum += shared_by(i)[b];
        largest = std::max(largest, sum);
    }
    // A process takes buckets until it has its share, so at most one bucket more. Each iteration changes two keys.
    by_bucket_ = peers_.open_landing(given.keys() / parts() + 1 + largest + 2 * (iterations + 1), keys_.size());
}

// The specification's change: one key becomes small, one large.
void kernel::change_keys(int iteration)
{
    const auto set = [&](int index, int value) {
        const auto i = static_cast<std::size_t>(index) - first_key_;
        if (static_cast<std::size_t>(index) >= first_key_ && i < keys_.size()) keys_[i] = static_cast<key>(value);
    };
    set(iteration, iteration);
    set(iteration + iterations, static_cast<int>(given_.range()) - iteration);
}

void kernel::count_buckets(int iteration)
{
    if (iteration > 0) change_keys(iteration);
    std::fill(mine_.begin(), mine_.end(), 0);
    count *const counts = mine_.data();
    const int shift = shift_;
    for (key k : keys_) ++counts[k >> shift];
    for (std::size_t t = 0; t < tests; ++t) {
        const std::size_t i = given_.at[t] - first_key_; // wraps around if it is below
        mine_[buckets() + t] = given_.at[t] >= first_key_ && i < keys_.size() ? keys_[i] : not_mine;
    }
    peers_.allgather(mine_.data(), shared_.data(), shared_length_ * sizeof(count));
}

void kernel::deal_out()
{
    std::vector<std::size_t> place(parts()); // in the landing of the process whose buckets are dealt out
    std::size_t dealt = 0, bucket = 0, sent = 0;
    for (std::size_t taker = 0; taker < parts(); ++taker) {
        takes_[taker] = bucket;
        if (taker == me()) below_ = static_cast<std::uint32_t>(dealt);
        std::vector<std::size_t> from(parts());
        const std::size_t share = cut(given_.keys(), taker + 1, parts());
        for (; bucket < buckets() && (dealt < share || taker + 1 == parts()); ++bucket)
            for (std::size_t i = 0; i < parts(); ++i) {
                from[i] += shared_by(i)[bucket];
                dealt += shared_by(i)[bucket];
            }
        std::size_t at = 0;
        for (std::size_t i = 0; i < parts(); ++i) {
            if (i == me()) outgoing_[taker] = {{by_bucket_.data() + sent, from[i]}, at};
            if (taker == me()) incoming_[i] = {at, from[i]};
            if (i != taker) at += from[i];
        }
        sent += from[me()];
    }
    takes_[parts()] = buckets();
    first_value_ = static_cast<key>(takes_[me()]) << shift_;
    last_value_ = static_cast<key>(takes_[me() + 1]) << shift_;
}

void kernel::fill_buckets()
{
    std::vector<key *> next(buckets());
    key *start = by_bucket_.data();
    for (std::size_t b = 0; b < buckets(); start += mine_[b++]) next[b] = start;
    const int shift = shift_;
    key **const places = next.data();
    for (key k : keys_) *places[k >> shift]++ = k;
}

void kernel::receive_and_count()
{
    ranks_.assign(last_value_ - first_value_, 0);
    const auto count_part = [this](int source, std::span<const key> part) {
        parts_[static_cast<std::size_t>(source)] = part;
        count *const counts = ranks_.data();
        const key first = first_value_;
        for (key k : part) ++counts[k - first];
    };
    count_part(peers_.rank(), outgoing_[me()].keys);
    peers_.deliver(outgoing_, incoming_, count_part);
}

void kernel::add_up()
{
    std::uint32_t less = below_;
    for (count &each : ranks_) {
        const count here = each;
        each = less;
        less += here;
    }
}

int kernel::check_tests(int iteration) const
{
    int passed = 0;
    for (std::size_t t = 0; t < tests; ++t)
        for (std::size_t i = 0; i < parts(); ++i) {
            const key value = shared_by(i)[buckets() + t];
            if (value == not_mine || value < first_value_ || value >= last_value_) continue;
            passed += rank_of(value) == given_.rank_in(static_cast<int>(t), iteration) ? 1 : 0;
        }
    return passed;
}

int kernel::rank_keys(int iteration)
{
    count_buckets(iteration);
    deal_out();
    fill_buckets();
    receive_and_count();
    add_up();
    return check_tests(iteration);
}

// Puts each key of my buckets at its rank; false if two would share a place or one has none.
bool kernel::put_in_order(std::vector<key> &sorted) const
{
    std::vector<std::uint32_t> next(ranks_);
    for (const auto &part : parts_)
        for (key k : part) {
            if (k < first_value_ || k >= last_value_) return false;
            const std::uint32_t at = next[k - first_value_]++ - below_;
            if (at >= sorted.size()) return false;
            sorted[at] = k;
        }
    return std::is_sorted(sorted.begin(), sorted.end());
}

// Beside the order inside each process: between neighbours, and that no key was lost or changed on its way.
bool kernel::verify_all()
{
    struct summary {
        std::uint64_t good, keys, sum, sum_before;
        key first, last;
    } mine{};
    std::size_t length = 0;
    for (const auto &part : parts_) length += part.size();
    std::vector<key> sorted(length);
    mine.good = put_in_order(sorted) ? 1 : 0;
    mine.keys = length;
    for (key k : sorted) mine.sum += k;
    for (key k : keys_) mine.sum_before += k;
    if (length > 0) mine.first = sorted.front(), mine.last = sorted.back();

    std::vector<summary> all(parts());
    peers_.allgather(&mine, all.data(), sizeof mine);
    summary total{1, 0, 0, 0, 0, 0};
    for (const auto &each : all) {
        if (each.keys > 0 && each.first < total.last) return false;
        if (each.keys > 0) total.last = each.last;
        total.good &= each.good;
        total.keys += each.keys;
        total.sum += each.sum;
        total.sum_before += each.sum_before;
    }
    return total.good == 1 && total.keys == given_.keys() && total.sum == total.sum_before;
}

outcome kernel::run(const progress_fn &progress)
{
    outcome result;
    rank_keys(1);
    peers_.barrier();
    peers_.start_counting();
    const double start = peers_.seconds();
    for (int iteration = 1; iteration <= iterations; ++iteration) {
        result.tests_passed += rank_keys(iteration);
        if (progress) progress(iteration);
    }
    result.seconds = peers_.seconds() - start;
    peers_.stop_counting();
    result.seconds = peers_.maximum(result.seconds);

    std::vector<int> passed(parts());
    peers_.allgather(&result.tests_passed, passed.data(), sizeof(int));
    result.tests_passed = 0;
    for (int each : passed) result.tests_passed += each;
    result.sorted = verify_all();
    return result;
}

} // namespace npb::is
