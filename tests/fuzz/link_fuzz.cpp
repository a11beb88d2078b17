// SPDX-License-Identifier: Apache-2.0
// Any packets with a good tag, at any time, at a link that sends and receives: acknowledgements of what was never sent,
// bundle numbers from anywhere, closing and breaking. Each message must settle exactly once, building must end, and a
// timer that is due must do something.
//
// Input: steps. The low bits of a byte choose: send a message, take a packet (length, then its bytes), let time pass,
// build.
#include "net/link.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace onesea;
using namespace onesea::net;

namespace {

[[noreturn]] void fail_with(const char *text)
{
    std::fprintf(stderr, "%s\n", text);
    std::abort();
}

struct nobody final : sink {
    void receive(int, const frame &, std::span<const std::byte>) override {}
};

struct message : delivery {
    unsigned times = 0;
    std::vector<std::byte> data;
};

void count_settling(delivery *d, int) { ++static_cast<message *>(d)->times; }

class input {
  public:
    input(const std::uint8_t *data, std::size_t size) : at_(data), end_(data + size) {}
    bool more() const { return at_ < end_; }
    std::uint8_t byte() { return more() ? *at_++ : std::uint8_t(0); }
    std::vector<std::byte> bytes(std::size_t n)
    {
        n = std::min<std::size_t>(n, std::size_t(end_ - at_));
        std::vector<std::byte> result(n);
        if (n) std::memcpy(result.data(), at_, n);
        at_ += n;
        return result;
    }

  private:
    const std::uint8_t *at_, *end_;
};

class run {
  public:
    run() : cipher_(secure_mode::off), link_(config(), cipher_, nobody_, pool_) {}

    void steps(input in)
    {
        while (in.more()) {
            const std::uint8_t what = in.byte();
            switch (what & 3) {
            case 0:
                send(what, in.byte());
                break;
            case 1:
                take(in.bytes(8u * in.byte()));
                break;
            case 2:
                pass_time(std::uint64_t(in.byte()) << (what >> 2 & 31));
                break;
            default:
                build();
            }
        }
        link_.settle_all(SEA_ERR_DEAD);
        for (const auto &m : messages_)
            if (m->times != 1) fail_with("a message did not settle once");
        if (!link_.idle()) fail_with("a link that has ended is not idle");
    }

  private:
    crypto cipher_;
    nobody nobody_;
    bundle_pool pool_;
    net::link link_;
    datagram out_;
    std::vector<std::unique_ptr<message>> messages_;
    std::uint64_t now_ = second;

    static link_config config()
    {
        link_config c;
        c.peer_rank = 1;
        c.job_tag = 7;
        c.trains = true;
        return c;
    }
    void send(std::uint8_t how, std::size_t size)
    {
        auto &m = messages_.emplace_back(std::make_unique<message>());
        m->settled = count_settling;
        m->data.resize(how & 4 ? size * 300 : size);
        outgoing o;
        o.payload = m->data.data();
        o.bytes = m->data.size();
        o.borrow = how & 4;
        o.ordered = how & 8;
        o.notice = how & 16;
        o.done = m.get();
        link_.send(o);
        if (how & 32) link_.flush();
    }
    void build()
    {
        for (unsigned n = 0; link_.build(now_, &out_); ++n)
            if (n > 100'000) fail_with("building does not end");
    }
    void take(std::vector<std::byte> bytes)
    {
        packet_header header;
        packet_view view;
        if (!read_header(bytes, false, &header) || read_packet(bytes, false, header, &view) != defect::none) return;
        link_.receive(view, now_);
        if (link_.peer_closed() && !link_.has_failed()) link_.settle_all(SEA_OK);
        link_.end_of_burst();
    }
    void pass_time(std::uint64_t by)
    {
        now_ += by;
        if (link_.idle()) link_.rest();
        for (unsigned n = 0; link_.deadline() <= now_; ++n) {
            if (n > 1000) fail_with("a timer is due and does nothing");
            link_.on_time(now_);
            build();
        }
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    run().steps(input(data, size));
    return 0;
}
