// SPDX-License-Identifier: Apache-2.0
#include "driver/plot.hpp"
#include "driver/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t columns = 64, rows = 12;

struct range {
    double low = 0, high = 0; // > 0
    void take(double v)
    {
        if (v <= 0) return;
        low = low == 0 ? v : std::min(low, v);
        high = std::max(high, v);
    }
    // 0 .. cells-1
    std::size_t cell(double v, std::size_t cells) const
    {
        if (high <= low) return cells / 2;
        const double at = std::log(v / low) / std::log(high / low) * double(cells - 1);
        return std::min(static_cast<std::size_t>(std::lround(at)), cells - 1);
    }
    double at(std::size_t cell, std::size_t cells) const
    {
        return low * std::pow(high / low, double(cell) / double(cells - 1));
    }
};

void draw(std::vector<std::string> &lines, const curve &c, char letter, const range &x, const range &y)
{
    for (const auto &[size, value] : c.points) {
        if (value <= 0) continue;
        char &cell = lines[rows - 1 - y.cell(value, rows)][x.cell(size, columns)];
        if (size == c.marked)
            cell = '#';
        else if (cell != '#')
            cell = cell == ' ' || cell == letter ? letter : '*';
    }
}

} // namespace

std::string text_plot(const std::string &title, const std::string &unit, const std::vector<curve> &curves)
{
    range x, y;
    for (const auto &c : curves)
        for (const auto &[size, value] : c.points) {
            x.take(size);
            y.take(value);
        }
    std::string text = fmt::format("{} ({})\n", title, unit);
    if (y.high <= 0) return text + "  nothing was measured\n";
    std::vector<std::string> lines(rows, std::string(columns, ' '));
    for (std::size_t i = 0; i < curves.size(); i++) draw(lines, curves[i], char('a' + i % 26), x, y);
    for (std::size_t row = 0; row < rows; row++) {
        const bool named = row % 4 == 0 || row + 1 == rows;
        std::string line = fmt::format("{:>8} |{}", named ? number_text(y.at(rows - 1 - row, rows)) : "", lines[row]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    const std::string left = size_text(static_cast<std::size_t>(x.low)),
                      right = size_text(static_cast<std::size_t>(x.high));
    text += fmt::format("{:>8} +{}\n{:>9} {}{:>{}}\n", "", std::string(columns, '-'), "", left, right,
                        columns - left.size());
    for (std::size_t i = 0; i < curves.size(); i++)
        text += fmt::format("  {} {}{}\n", char('a' + i % 26), curves[i].label,
                            curves[i].marked > 0
                                ? fmt::format(", # chosen: {}", size_text(static_cast<std::size_t>(curves[i].marked)))
                                : "");
    return text + (curves.size() > 1 ? "  * several\n" : "");
}

} // namespace bench
