// SPDX-License-Identifier: Apache-2.0
// `onesea bench cipher`. Design: all in this process. First every cipher must open what it sealed and refuse what was
// changed. Then a run goes through sizes and cases, and in each of them through the ciphers, one after the other.
//
// A sample is one pass over a ring of packets that fits into the caches, so that an opened packet need not be sealed
// again at once: sealing them anew is done between the samples.
#include "cipher/check.hpp"
#include "cipher/cipher.hpp"
#include "cipher/report.hpp"
#include "driver/command_line.hpp"
#include "driver/places.hpp"
#include "driver/turns.hpp"
#include "measure/measure.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *help_text =
    "Measures what it takes to protect a packet, beside other libraries, on one processor, from the caches.\n\n"
    "What is counted: the time of one call for one packet; keys are made before.\n"
    "  auth_seal     making the tag of a packet (mode auth)\n"
    "  auth_open     making it again and comparing\n"
    "  encrypt_seal  encrypting all but the first 32 bytes in place, and making the tag (mode encrypt)\n"
    "  encrypt_open  checking it and decrypting in place\n"
    "A sample is one pass over a ring of packets, 32 KB together and at least 4; the figure is the median of the "
    "runs'\n"
    "medians. `bytes` is what the tag protects, header included, tag not. The bandwidth is that of the longest "
    "packet.\n"
    "Floor: memcpy of as many bytes. Own: aegis_128l and aegis_128x4, of which links take the first up to 1024 bytes\n"
    "and the second beyond. Peers, where they were installed when this was built: OpenSSL, libsodium, ipsec-mb. What\n"
    "needs a nonce or a key for each packet makes it of the packet's number, and that is counted.\n";

struct bench_case {
    const char *name;
    bool hides, opens;
};
constexpr std::array<bench_case, 4> all_cases = {bench_case{"auth_seal", false, false},
                                                 {"auth_open", false, true},
                                                 {"encrypt_seal", true, false},
                                                 {"encrypt_open", true, true}};
constexpr std::array<std::size_t, 6> sizes = {64, 256, 1024, 1472, 4096, 61440};
constexpr const char *time_metric = "latency_us", *stream_metric = "bandwidth_gbs";
constexpr const char *floor_name = "memcpy";

struct session {
    options opts;
    candidates ciphers;
    series_table series;
    double milliseconds() const { return opts.quick ? 3 : 15; }
};

std::vector<std::string> case_names()
{
    std::vector<std::string> names;
    for (const auto &c : all_cases) names.emplace_back(c.name);
    return names;
}

// ---- one measurement ------------------------------------------------------------------------------------------------

class ring {
  public:
    ring(cipher *what, std::size_t bytes) : what_(what), room_(bytes + tag_bytes)
    {
        constexpr std::size_t together = 32 * 1024, least = 4;
        memory_.resize(std::max(least, together / bytes) * room_);
    }
    std::size_t packets() const { return memory_.size() / room_; }
    void seal()
    {
        for (std::size_t i = 0; i < packets(); i++) what_->seal(packet(i), i);
    }
    void open()
    {
        for (std::size_t i = 0; i < packets(); i++) good_ = what_->open(packet(i), i) && good_;
    }
    bool good() const { return good_; }

  private:
    std::span<std::byte> packet(std::size_t i) { return {memory_.data() + i * room_, room_}; }
    cipher *what_;
    std::size_t room_;
    std::vector<std::byte> memory_;
    bool good_ = true;
};

void seal_ring(void *r) { static_cast<ring *>(r)->seal(); }
void open_ring(void *r) { static_cast<ring *>(r)->open(); }

void measure_one(session &s, const std::string &name, cipher &what, const bench_case &which, std::size_t bytes)
{
    ring r(&what, bytes);
    const measurement m{
        which.name, METRIC_LATENCY, bytes, r.packets(), s.milliseconds(), 0, which.opens ? open_ring : seal_ring, &r};
    const measured result = measure_quietly(&m, which.opens ? seal_ring : nullptr);
    if (!r.good()) throw std::runtime_error(fmt::format("{}: {} refused a good packet", which.name, name));
    s.series.add({name, which.name, time_metric, bytes}, {result.median, result.p99});
    const auto speed = [bytes](double us) { return static_cast<double>(bytes) / us * 1e-3; };
    if (bytes == sizes.back())
        s.series.add({name, which.name, stream_metric, bytes}, {speed(result.median), speed(result.p99)});
}

class copying : public cipher {
  public:
    void seal(std::span<std::byte> packet, std::uint64_t) override
    {
        std::memcpy(to_.data(), packet.data(), packet.size() - tag_bytes);
    }
    bool open(std::span<std::byte>, std::uint64_t) override { return true; } // nothing is sealed

  private:
    std::vector<std::byte> to_ = std::vector<std::byte>(sizes.back());
};

void measure_turn(session &s)
{
    copying copies;
    for (const std::size_t bytes : sizes)
        for (const auto &c : all_cases) {
            if (!s.opts.wants_case(c.name)) continue;
            measure_one(s, floor_name, copies, {c.name, c.hides, false}, bytes);
            for (const auto &one : s.ciphers)
                if (one.hides == c.hides) measure_one(s, one.name, *one.self, c, bytes);
        }
}

// ---- all of them ----------------------------------------------------------------------------------------------------

void take(candidates &all, candidates more) { std::move(more.begin(), more.end(), std::back_inserter(all)); }

candidates peers()
{
    candidates all = sodium_ciphers();
#ifdef ONESEA_BENCH_OPENSSL
    take(all, openssl_ciphers());
#else
    progress("openssl is left out: it was not there when this was built (no libssl-dev then)");
#endif
#ifdef ONESEA_BENCH_IPSEC_MB
    take(all, ipsec_mb_ciphers());
#else
    progress("ipsec_mb is left out: it was not there when this was built (no libipsec-mb-dev then)");
#endif
    return all;
}

// True if the cipher does its work; a peer that does not is told of and left out.
bool works(const candidate &c)
{
    for (const std::size_t bytes : sizes) {
        const std::string fault = fault_of(c, bytes);
        if (fault.empty()) continue;
        if (c.kind != "peer")
            throw std::runtime_error(fmt::format("{} ({}): {}", c.name, c.hides ? "encrypt" : "auth", fault));
        progress(fmt::format("{} is left out: {}", c.name, fault));
        return false;
    }
    return true;
}

void add_figure(const session &s, std::vector<figure> &all, const bench_case &c, const char *metric, std::size_t bytes)
{
    const auto runs_of = [&](const std::string &who) { return s.series.find({who, c.name, metric, bytes}); };
    const auto *ours = runs_of("onesea");
    if (!ours) return;
    figure f{"cipher", c.name, "net", "none", c.hides ? "encrypt" : "auth", bytes, 1, metric};
    summarise(f, *ours);
    compare(f, {floor_name, "floor", ""}, runs_of(floor_name));
    for (const auto &one : s.ciphers)
        if (one.hides == c.hides && !one.kind.empty()) compare(f, {one.name, one.kind, one.version}, runs_of(one.name));
    all.push_back(f);
}

std::vector<figure> figures_of(const session &s)
{
    std::vector<figure> all;
    for (const auto &c : all_cases)
        for (const char *metric : {time_metric, stream_metric})
            for (const std::size_t bytes : sizes) add_figure(s, all, c, metric, bytes);
    return all;
}

int run_all(session &s)
{
    const budget time(s.opts);
    pin_all_threads(measuring_cores().origin);
    s.ciphers = our_ciphers();
    if (!s.opts.no_peers) take(s.ciphers, peers());
    std::erase_if(s.ciphers, [](const candidate &c) { return !works(c); });
    in_turns("cipher", s.opts, 3, 7, time, s.series, [&](const turn &now) {
        progress(now.title);
        measure_turn(s);
        return true;
    });
    const auto figures = figures_of(s);
    publish(
        figures, s.opts, "cipher", [&] { return cipher_pictures(figures); }, cipher_table);
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    const std::vector<std::string> nothing_is_sent;
    return bench::run_benchmark(argc, argv, {"cipher", bench::help_text, bench::case_names(), nothing_is_sent},
                                [](const bench::options &o) {
                                    bench::session s;
                                    s.opts = o;
                                    return bench::run_all(s);
                                });
}
