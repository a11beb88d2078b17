// SPDX-License-Identifier: Apache-2.0
#include "net/link_world.hpp"

#include <cstring>

namespace onesea::net::test {

namespace {

constexpr std::uint16_t kind_request = 1, kind_notice = 2;

std::uint8_t pattern(std::uint64_t number, std::uint64_t at) { return std::uint8_t(number * 31 + at * 7 + at / 251); }

// The first bytes of a message of that number, at least so many. Messages whose numbers differ by 256 have the same.
const std::uint8_t *pattern_of(std::uint64_t number, std::size_t bytes)
{
    static std::array<std::vector<std::uint8_t>, 256> made;
    auto &row = made[number % 256];
    for (std::size_t at = row.size(); at < bytes; ++at) row.push_back(pattern(number, at));
    return row.data();
}

} // namespace

void party::ask(std::size_t bytes, bool borrow, bool ordered, bool wants_notice)
{
    request &r = requests.emplace_back();
    r.number = requests.size() - 1;
    r.ordered = ordered;
    r.wants_notice = wants_notice;
    r.owner = this;
    r.settled = [](delivery *d, int status) {
        static_cast<request *>(d)->owner->settle(*static_cast<request *>(d), status);
    };
    const std::uint8_t *wanted = pattern_of(r.number, bytes);
    r.data.assign(wanted, wanted + bytes);
    other->executed.push_back(0);
    outgoing m;
    m.head.type = frame_type::am;
    m.head.aux = kind_request;
    m.head.id = r.number;
    m.payload = r.data.data();
    m.bytes = bytes;
    m.borrow = borrow;
    m.ordered = ordered;
    m.done = &r;
    net->send(side, m);
}

void party::settle(request &r, int status)
{
    EXPECT_EQ(++r.settled_times, 1) << "request " << r.number;
    r.status = status;
    ++finished;
    if (status != SEA_OK) return;
    EXPECT_EQ(other->executed[r.number], r.data.size() + 1) << "settled before it was executed";
    EXPECT_TRUE(!r.wants_notice || notices.contains(r.number)) << "settled before its notice came";
    std::fill(r.data.begin(), r.data.end(), std::uint8_t(0xee)); // the program may use it again
}

void party::receive(int source, const frame &head, std::span<const std::byte> payload)
{
    EXPECT_EQ(source, 1 - side);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 8, 0u);
    EXPECT_EQ(head.flags & notice_flag, 0);
    if (head.aux == kind_notice) {
        EXPECT_TRUE(notices.insert(head.id).second) << "notice executed twice";
        return;
    }
    const request &r = other->requests.at(head.id);
    if (!is_right(r, head.position, payload)) return;
    std::size_t &bytes = executed[head.id];
    bytes += payload.size();
    if (r.ordered) expect_earlier_done(head.id);
    if (bytes < r.data.size()) return;
    EXPECT_EQ(bytes, r.data.size()) << "request " << head.id << " executed twice";
    ++bytes; // whole
    if (r.wants_notice) answer(head.id);
}

bool party::is_right(const request &r, std::size_t from, std::span<const std::byte> got) const
{
    if (from > r.data.size() || got.size() > r.data.size() - from) {
        ADD_FAILURE() << got.size() << " bytes at " << from << " of request " << r.number << ", which is shorter";
        return false;
    }
    const std::uint8_t *wanted = pattern_of(r.number, from + got.size()) + from;
    if (got.empty() || std::memcmp(got.data(), wanted, got.size()) == 0) return true;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (from + i != live && std::uint8_t(got[i]) != wanted[i]) {
            ADD_FAILURE() << "wrong byte " << from + i << " of request " << r.number;
            return false;
        }
    return true;
}

void party::expect_earlier_done(std::uint64_t number)
{
    while (whole_below < number && executed[whole_below] == other->requests[whole_below].data.size() + 1) ++whole_below;
    EXPECT_GE(whole_below, number) << "ordered request " << number << " before request " << whole_below;
}

void party::answer(std::uint64_t number)
{
    outgoing m;
    m.head.type = frame_type::done;
    m.head.aux = kind_notice;
    m.head.id = number;
    m.notice = true;
    net->send(side, m);
}

world::world(std::uint64_t seed, const sim_rates &rates, secure_mode mode, std::size_t limit, nanoseconds give_up,
             std::array<const path_tuning *, 2> tunings, bool trains, std::uint32_t trust)
    : net((crypto_ready(), seed), rates, a, b, mode, limit, give_up, tunings, trains, trust)
{
    a.net = b.net = &net;
    a.side = 0;
    b.side = 1;
    a.other = &b;
    b.other = &a;
}

world::~world() = default;

bool world::finish(nanoseconds limit)
{
    net.flush(0);
    net.flush(1);
    return net.run([&] { return a.all_settled() && b.all_settled(); }, net.now() + limit);
}

void world::expect_all_good()
{
    for (auto *p : {&a, &b})
        for (auto &r : p->requests) {
            EXPECT_EQ(r.settled_times, 1) << "request " << r.number;
            EXPECT_EQ(r.status, SEA_OK) << "request " << r.number;
        }
}

} // namespace onesea::net::test
