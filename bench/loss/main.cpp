// SPDX-License-Identifier: Apache-2.0
// `onesea bench loss`. Design: a virtual cable between two network namespaces; netfilter in both drops a share of what
// comes in, acknowledgements too. A turn sends a stream of puts and then a TCP stream along it, for each share.
#include "driver/cable.hpp"
#include "driver/command_line.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *help_text =
    "Measures the goodput of a stream of puts of 1 MB, authenticated, between two network namespaces (virtual cable,\n"
    "mtu 1500) while netfilter drops 0, 0.1, 1 and 5 % of the packets in each direction, beside TCP on the same "
    "cable.\n"
    "Needs root, and the commands `ip` and `nft`. Each stream is measured for 1000 ms (--quick: 400 ms). The figure "
    "is\n"
    "the median over the runs, in GB/s.\n";
constexpr std::size_t bytes = 1 << 20;
const std::vector<std::string> shares = {"0", "0.1", "1", "5"}; // percent

void lose(const cable &path, const std::string &percent)
{
    const int drop = static_cast<int>(std::stod(percent) * 100 + 0.5);
    const std::string rules =
        fmt::format("flush ruleset; table inet loss {{ chain in {{ type filter hook input priority 0; iifname {} "
                    "numgen random mod 10000 < {} drop; }}; }}",
                    cable::device, drop);
    for (const auto &end : {path.from, path.to}) {
        const auto result = run(path.inside(end, {{"nft", drop ? rules : std::string("flush ruleset")}, {}}), 10);
        if (!result.good()) throw std::runtime_error("nft failed: " + result.err.substr(0, 300));
    }
}

bool measure_one(series_table &series, const std::string &who, const std::string &share, const command &what)
{
    const auto result = run(what, 60);
    series.add_lines(who + "@" + share, result.out);
    if (!result.good()) progress(fmt::format("  {} at {} %: {}", who, share, result.err.substr(0, 300)));
    return result.good();
}

int loss(const options &o)
{
    prepare_to_run();
    const std::string onesea = own_program("onesea"), worker = own_program("onesea-bench-worker-patterns"),
                      tcp = own_program("onesea-bench-worker-tcp"), ms = o.quick ? "400" : "1000";
    if (!in_path("nft")) throw std::runtime_error("needs the command 'nft' (package nftables)");
    const cable path;
    series_table series;
    const auto measure_share = [&](const std::string &share) {
        lose(path, share);
        const command ours{{onesea, "run", "-n", "2", "--iface", cable::device, "--host", path.from + "," + path.to,
                            "--secure", o.secure, "--timeout", "50", worker, "one", std::to_string(bytes), ms},
                           {{"ONESEA_RSH", path.remote_shell()}}};
        const bool good = measure_one(series, "onesea", share, ours);
        return measure_one(series, "tcp", share, {{tcp, path.from, path.to, cable::to_address, ms}, {}}) && good;
    };
    const bool good = in_turns("loss", o, 3, 7, budget(o), series, [&](const turn &now) {
        bool well = true;
        for (const auto &share : shares) {
            if (!o.wants_case("loss_" + share)) continue;
            progress(fmt::format("{}: {} %", now.title, share));
            well = measure_share(share) && well;
        }
        return well;
    });
    std::vector<figure> all;
    for (const auto &share : shares) {
        const auto *runs = series.find({"onesea@" + share, "total", "bandwidth_gbs", bytes});
        if (!runs) continue;
        figure f{"loss", "loss_" + share, "net", "waiting", o.secure, bytes, 2, "bandwidth_gbs"};
        summarise(f, *runs);
        f.p99 = f.min; // one sample a run: the worst of them
        compare(f, {"tcp_stream", "floor", ""}, series.find({"tcp@" + share, "tcp_stream", "bandwidth_gbs", bytes}));
        all.push_back(f);
    }
    publish(all, o, "loss", [&] {
        std::vector<bar_group> groups;
        for (const auto &f : all) groups.push_back({f.name, {f.median, floor_of(f) ? floor_of(f)->median : 0}});
        return std::vector{std::pair<std::string, std::string>{
            "loss.svg", bar_picture("Goodput under loss", "GB/s; above is better", {"onesea", "tcp"}, groups)}};
    });
    return good && !all.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    std::vector<std::string> cases;
    for (const auto &share : bench::shares) cases.push_back("loss_" + share);
    return bench::run_benchmark(argc, argv, {"loss", bench::help_text, cases, {"net"}}, bench::loss);
}
