// SPDX-License-Identifier: Apache-2.0
#include "driver/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

using row = std::vector<std::string>;

row header_row()
{
    return {"case", "path", "target", "size",    "ranks",     "metric", "median", "p99",   "floor",
            "",     "p99",  "ratio",  "by turn", "best peer", "",       "p99",    "ratio", "by turn"};
}

void add_rival(row &cells, const rival *r)
{
    if (!r) {
        cells.insert(cells.end(), {"-", "", "", "", ""});
        return;
    }
    cells.insert(cells.end(),
                 {r->name, number_text(r->median), r->p99 > 0 ? number_text(r->p99) : "",
                  fmt::format("{:.2f}", r->ratio), r->turn_ratio > 0 ? fmt::format("{:.2f}", r->turn_ratio) : ""});
}

row row_of(const figure &f)
{
    row cells = {f.name,
                 f.path,
                 f.target,
                 f.bytes ? size_text(f.bytes) : "-",
                 std::to_string(f.ranks),
                 f.metric,
                 number_text(f.median),
                 number_text(f.p99)};
    add_rival(cells, floor_of(f));
    add_rival(cells, best_peer_of(f));
    return cells;
}

bool is_number_column(std::size_t column)
{
    constexpr std::array text = {0, 1, 2, 5, 8, 13};
    return std::find(text.begin(), text.end(), static_cast<int>(column)) == text.end();
}

} // namespace

std::string ranks_text(int ranks) { return fmt::format("{} {}", ranks, ranks == 1 ? "rank" : "ranks"); }

std::string size_text(std::size_t bytes)
{
    constexpr std::array<const char *, 4> units = {"B", "KB", "MB", "GB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < units.size(); unit++) bytes /= 1024;
    return fmt::format("{} {}", bytes, units.at(unit));
}

std::string number_text(double value)
{
    if (value <= 0) return "0";
    const int digits = static_cast<int>(std::floor(std::log10(value)));
    return fmt::format("{:.{}f}", value, std::clamp(2 - digits, 0, 6));
}

std::string table(const std::vector<figure> &figures)
{
    std::vector<row> rows = {header_row()};
    for (const auto &f : figures) rows.push_back(row_of(f));
    std::vector<std::size_t> widths(rows[0].size(), 0);
    for (const auto &cells : rows)
        for (std::size_t i = 0; i < cells.size(); i++) widths[i] = std::max(widths[i], cells[i].size());
    std::string text;
    for (const auto &cells : rows) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); i++)
            line += is_number_column(i) ? fmt::format("{:>{}}  ", cells[i], widths[i])
                                        : fmt::format("{:<{}}  ", cells[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

} // namespace bench
