// SPDX-License-Identifier: Apache-2.0
// What the runs of a family have in common, and what their seeds choose.
#include "world.hpp"

namespace onesea::sim {
namespace {

struct chooser {
    network::random_engine &random;
    std::uint64_t up_to(std::uint64_t n) { return random() % (n + 1); }
    double rate(double most) { return most * double(up_to(1000)) / 1000; }
};

void lossy(chooser c, plan &p)
{
    p.wrong.loss = c.rate(0.3);
    p.wrong.dup = c.rate(0.1);
    p.wrong.jitter = microsecond * c.up_to(500);
}

void hostile(chooser c, plan &p)
{
    p.wrong.corrupt = c.rate(0.2);
    p.wrong.replay = c.rate(0.3);
    p.wrong.stray = c.rate(0.2);
    p.wrong.loss = c.rate(0.05);
}

void everything(chooser c, plan &p)
{
    lossy(c, p);
    hostile(c, p);
    p.wrong.burst = c.rate(0.02);
    p.wrong.refuse = c.rate(0.2);
    p.partitions = p.stops = p.jumps = p.deaths = true;
    p.long_partitions = c.up_to(3) == 0;
}

void choose_faults(family f, chooser c, plan &p)
{
    switch (f) {
    case family::loss:
        return lossy(c, p);
    case family::bursts:
        p.wrong.burst = c.rate(0.05);
        p.wrong.jitter = microsecond * c.up_to(50);
        return;
    case family::hostile:
        return hostile(c, p);
    case family::give_up:
        p.long_partitions = true;
        [[fallthrough]];
    case family::partitions:
        p.wrong.loss = c.rate(0.05);
        p.partitions = true;
        return;
    case family::stops:
        p.wrong.loss = c.rate(0.05);
        p.wrong.latency = microsecond * c.up_to(2000);
        p.stops = true;
        return;
    case family::clocks:
        p.wrong.loss = c.rate(0.1);
        p.jumps = true;
        p.stops = c.up_to(1);
        return;
    case family::refusals:
        p.wrong.refuse = c.rate(0.5);
        p.wrong.loss = c.rate(0.05);
        return;
    case family::deaths:
        p.wrong.loss = c.rate(0.1);
        p.deaths = true;
        return;
    case family::everything:
        return everything(c, p);
    }
}

} // namespace

const char *name_of(family f)
{
    static constexpr const char *names[] = {"loss",  "bursts", "hostile",  "partitions", "give_up",
                                            "stops", "clocks", "refusals", "deaths",     "everything"};
    static_assert(std::size(names) == std::size(families));
    return names[std::size_t(f)];
}

plan make_plan(family f, network::random_engine &random)
{
    chooser c{random};
    plan p;
    p.ranks = unsigned(2 + c.up_to(4));
    p.operations = unsigned(20 + c.up_to(60));
    p.mode = c.up_to(3) == 0 ? net::secure_mode::encrypt : net::secure_mode::auth;
    constexpr std::uint32_t mtus[] = {1280, 1500, 9000, 65536};
    p.mtu = mtus[c.up_to(3)];
    p.gap = c.up_to(1) ? microsecond * c.up_to(5000) : 0;
    p.longest = c.up_to(7) ? 10'000 : c.up_to(3) ? 200'000 : 1'500'000; // the last one is longer than any window
    p.wrong.delay = microsecond * (1 + (c.up_to(1) ? c.up_to(50) : c.up_to(2000)));
    p.wrong.latency = c.up_to(1) ? microsecond * c.up_to(100) : 0;
    p.wrong.inbox_bytes = (128 + (c.up_to(1) ? c.up_to(500) : c.up_to(8000))) * 1024;
    p.wrong.gso = c.up_to(3) != 0;
    choose_faults(f, c, p);
    if (p.wrong.corrupt == 0 && c.up_to(4) == 0)
        p.mode = net::secure_mode::off; // there UDP's checksum drops the changed
    if (p.partitions || p.stops || p.jumps || p.deaths) p.faults = 0.02 + c.rate(0.1);
    p.trust = c.up_to(3) ? std::uint32_t(c.up_to(8)) : 256; // trains are to be lost, too
    if (p.long_partitions) p.give_up = second * (1 + c.up_to(4));
    return p;
}

} // namespace onesea::sim
