// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <unistd.h>

namespace npb {
namespace {

constexpr std::size_t most_pairs = 24; // a table longer than a screen is no help

// 1234567 -> "1 234 567"
std::string grouped(unsigned long long value)
{
    std::string text = std::to_string(value);
    for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), " ");
    return text;
}

void print_row(const std::string &who, const std::string &transport, unsigned long long operations,
               unsigned long long bytes)
{
    std::printf("  %-14s %-9s %12s %16s %12.0f\n", who.c_str(), transport.c_str(), grouped(operations).c_str(),
                grouped(bytes).c_str(),
                operations > 0 ? static_cast<double>(bytes) / static_cast<double>(operations) : 0.0);
}

void print_spending(const spending &spent)
{
    std::printf("\n  of a rank's time, s: computing %.4f", spent.computing);
    const std::pair<const char *, double> calls[] = {
        {"counts for all", spent.gathering}, {"keys", spent.delivering}, {"vectors and sums", spent.exchanging}};
    for (const auto &[name, seconds] : calls)
        if (seconds > 0) std::printf(", %s %.4f", name, seconds);
    std::printf(
        "\n  of a processor's, s: program and library %.4f, system %.4f; gave it up %.0f times, lost it %.0f times\n",
        spent.user, spent.system, spent.sleeps, spent.losses);
}

void print_by_transport(const std::vector<pair_traffic> &traffic)
{
    struct total {
        unsigned long long pairs, operations, bytes;
    };
    std::map<std::string, total> totals;
    for (const auto &pair : traffic) {
        auto &sum = totals[pair.transport];
        sum = {sum.pairs + 1, sum.operations + pair.operations, sum.bytes + pair.bytes};
    }
    for (const auto &[name, sum] : totals) print_row(grouped(sum.pairs) + " pairs", name, sum.operations, sum.bytes);
}

} // namespace

progress_line::progress_line(progress_style style, int iterations)
    : live_(style == progress_style::live || (style == progress_style::automatic && isatty(STDOUT_FILENO) == 1)),
      iterations_(iterations), every_(live_ || style == progress_style::each ? 1 : std::max(1, iterations / 5))
{
    if (style == progress_style::none) every_ = 0;
}

void progress_line::show(int iteration, double seconds, const std::string &what)
{
    if (every_ == 0 || (iteration % every_ != 0 && iteration != iterations_)) return;
    std::printf("%s  iteration %3d of %d   %s%7.2f s%s", live_ ? "\r" : "", iteration, iterations_, what.c_str(),
                seconds, live_ ? "" : "\n");
    std::fflush(stdout);
}

void progress_line::end()
{
    if (live_) std::putchar('\n');
}

void print(const result &given, const spending &spent, const std::vector<pair_traffic> &traffic)
{
    std::printf("\nVERIFICATION %s\n", given.verified ? "SUCCESSFUL" : "FAILED");
    for (const auto &line : given.details) std::printf("  %s\n", line.c_str());
    std::printf("\n  time      %8.3f s\n  speed     %8.1f Mop/s\n", given.seconds, given.mops);
    print_spending(spent);
    if (traffic.empty()) return;
    std::printf("\n  %-14s %-9s %12s %16s %12s\n", "from -> to", "transport", "operations", "bytes", "bytes each");
    if (traffic.size() > most_pairs) return print_by_transport(traffic);
    for (const auto &pair : traffic)
        print_row(std::to_string(pair.from) + " -> " + std::to_string(pair.to), pair.transport, pair.operations,
                  pair.bytes);
}

bool write_report(const std::string &path, const result &given, const spending &spent, int ranks)
{
    FILE *file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fprintf(file, "ranks %d\nseconds %.6f\nmops %.2f\nverified %s\n", ranks, given.seconds, given.mops,
                 given.verified ? "yes" : "no");
    std::fprintf(file, "computing %.6f\ngathering %.6f\ndelivering %.6f\nexchanging %.6f\n", spent.computing,
                 spent.gathering, spent.delivering, spent.exchanging);
    std::fprintf(file, "user %.6f\nsystem %.6f\nsleeps %.1f\nlosses %.1f\n", spent.user, spent.system, spent.sleeps,
                 spent.losses);
    for (const auto &[name, value] : given.values) std::fprintf(file, "%s %s\n", name.c_str(), value.c_str());
    return std::fclose(file) == 0;
}

} // namespace npb
