// SPDX-License-Identifier: Apache-2.0
#include "observe/columns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>

namespace onesea::observe {
namespace {

std::string short_number(std::uint64_t n, double step, std::initializer_list<const char *> units)
{
    if (n < 10'000'000) return fmt::format("{}", n);
    double value = double(n);
    const char *unit = "";
    for (const char *next : units) {
        if (value < step) break;
        value /= step;
        unit = next;
    }
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

} // namespace

std::string count(std::uint64_t n) { return short_number(n, 1000, {"k", "M", "G", "T"}); }
std::string bytes(std::uint64_t n) { return short_number(n, 1024, {"KiB", "MiB", "GiB", "TiB"}); }

std::string duration(std::uint64_t ns)
{
    const double us = double(ns) / 1e3;
    if (us < 10'000) return fmt::format("{:.{}f} us", us, us < 100 ? 1 : 0);
    return us < 1e7 ? fmt::format("{:.1f} ms", us / 1e3) : fmt::format("{:.1f} s", us / 1e6);
}

std::string laid_out(const std::vector<cells> &rows)
{
    std::vector<std::size_t> widths(rows[0].size());
    for (const cells &row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const cells &row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
        text += '\n';
    }
    return text;
}

} // namespace onesea::observe
