// SPDX-License-Identifier: Apache-2.0
#include "measured.hpp"

#include <sys/resource.h>

namespace npb {
namespace {

double seconds_of(const timeval &time)
{
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Adds to `sum`, `sign` times, what this process has used since it began.
void add_usage(spending &sum, double sign)
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    sum.user += sign * seconds_of(used.ru_utime);
    sum.system += sign * seconds_of(used.ru_stime);
    sum.sleeps += sign * static_cast<double>(used.ru_nvcsw);
    sum.losses += sign * static_cast<double>(used.ru_nivcsw);
}

} // namespace

void measured_comm::allgather(const void *mine, void *all, std::size_t bytes)
{
    const double before = seconds();
    inner_->allgather(mine, all, bytes);
    mine_.gathering += seconds() - before;
}

std::span<const double> measured_comm::exchange(int channel, std::span<const double> mine, std::size_t expected)
{
    const double before = seconds();
    const auto arrived = inner_->exchange(channel, mine, expected);
    mine_.exchanging += seconds() - before;
    return arrived;
}

void measured_comm::deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                            const arrival_fn &arrived)
{
    const double before = seconds();
    double outside = 0;
    inner_->deliver(outgoing, incoming, [&](int source, std::span<const key> keys) {
        const double called = seconds();
        arrived(source, keys);
        outside += seconds() - called;
    });
    mine_.delivering += seconds() - before - outside;
}

void measured_comm::start_counting()
{
    inner_->start_counting();
    mine_ = {};
    add_usage(mine_, -1);
    started_ = seconds();
}

void measured_comm::stop_counting()
{
    mine_.computing = seconds() - started_ - mine_.gathering - mine_.delivering - mine_.exchanging;
    add_usage(mine_, 1);
    inner_->stop_counting();
}

spending measured_comm::spent()
{
    std::vector<spending> all(static_cast<std::size_t>(size()));
    inner_->allgather(&mine_, all.data(), sizeof mine_);
    spending mean{};
    const double share = 1.0 / size();
    for (const auto &each : all) {
        mean.computing += share * each.computing;
        mean.gathering += share * each.gathering;
        mean.delivering += share * each.delivering;
        mean.exchanging += share * each.exchanging;
        mean.user += share * each.user;
        mean.system += share * each.system;
        mean.sleeps += share * each.sleeps;
        mean.losses += share * each.losses;
    }
    return mean;
}

} // namespace npb
