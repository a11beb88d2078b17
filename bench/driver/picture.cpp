// SPDX-License-Identifier: Apache-2.0
// Design. A canvas of fixed size; an axis maps the logarithm of a value to a place on it and puts a line at each power
// of ten. Colours are chosen to be told apart by colour-blind eyes too (after Okabe and Ito).
#include "driver/picture.hpp"
#include "driver/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr double width = 960, height = 480, left = 70, right = 220, top = 50, bottom = 60;
constexpr std::array<const char *, 9> colours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00",
                                                 "#56b4e9", "#999999", "#000000", "#882255"};

const char *colour_of(std::size_t i) { return colours.at(i % colours.size()); }

std::string escaped(const std::string &text)
{
    std::string safe;
    for (char c : text) {
        if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '&')
            safe += "&amp;";
        else
            safe += c;
    }
    return safe;
}

std::string label(double x, double y, const std::string &anchor, const std::string &text, int size = 12)
{
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y, anchor,
                       size, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char *stroke)
{
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
                       y2, stroke);
}

// A logarithmic axis from one power of `base` below the smallest value to one above the largest.
struct axis {
    double low, high, base, from, to;

    axis(double smallest, double largest, double b, double f, double t) : base(b), from(f), to(t)
    {
        low = std::floor(std::log(smallest) / std::log(base) + 1e-9);
        high = std::ceil(std::log(largest) / std::log(base) - 1e-9);
        if (high <= low) high = low + 1;
    }
    double place(double value) const
    {
        return from + (std::log(value) / std::log(base) - low) / (high - low) * (to - from);
    }
};

std::string frame(const std::string &title, const std::string &unit, const std::vector<std::string> &series,
                  const axis &y)
{
    std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                                  "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n"
                                  "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                                  width, height);
    svg += label(left, 24, "start", title, 16) + label(left, 42, "start", unit);
    for (double power = y.low; power <= y.high; power++) {
        const double value = std::pow(y.base, power), at = y.place(value);
        svg +=
            line(left, at, width - right, at, "#dddddd") + label(left - 6, at + 4, "end", fmt::format("{:g}", value));
    }
    for (std::size_t i = 0; i < series.size(); i++) {
        const double at = top + 20 * static_cast<double>(i);
        svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", width - right + 16, at,
                           colour_of(i));
        svg += label(width - right + 34, at + 11, "start", series[i]);
    }
    return svg;
}

template <class Groups, class Values>
std::pair<double, double> limits(const Groups &groups, Values values)
{
    double smallest = 0, largest = 0;
    for (const auto &g : groups)
        for (double v : values(g)) {
            if (v <= 0) continue;
            smallest = smallest == 0 ? v : std::min(smallest, v);
            largest = std::max(largest, v);
        }
    return largest > 0 ? std::pair{smallest, largest} : std::pair{1.0, 10.0};
}

} // namespace

std::string bar_picture(const std::string &title, const std::string &unit, const std::vector<std::string> &series,
                        const std::vector<bar_group> &groups)
{
    const auto [smallest, largest] = limits(groups, [](const bar_group &g) { return g.values; });
    const axis y(smallest / 2, largest, 10, height - bottom, top);
    std::string svg = frame(title, unit, series, y);
    const double room = (width - left - right) / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
    const double bar = room * 0.8 / static_cast<double>(std::max<std::size_t>(series.size(), 1));
    for (std::size_t g = 0; g < groups.size(); g++) {
        const double x0 = left + room * (static_cast<double>(g) + 0.1);
        for (std::size_t i = 0; i < groups[g].values.size(); i++) {
            const double value = groups[g].values[i];
            if (value <= 0) continue;
            const double at = y.place(value);
            svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">"
                               "<title>{} {}: {}</title></rect>\n",
                               x0 + bar * static_cast<double>(i), at, bar * 0.9, height - bottom - at, colour_of(i),
                               escaped(groups[g].label), escaped(series[i]), number_text(value));
        }
        svg += label(x0 + room * 0.4, height - bottom + (g % 2 ? 34 : 18), "middle", groups[g].label, 11);
    }
    return svg + "</svg>\n";
}

std::string curve_picture(const std::string &title, const std::string &unit, const std::vector<curve> &curves)
{
    const auto [smallest, largest] = limits(curves, [](const curve &c) {
        std::vector<double> values;
        for (const auto &p : c.points) values.push_back(p.second);
        return values;
    });
    const auto [first, last] = limits(curves, [](const curve &c) {
        std::vector<double> sizes;
        for (const auto &p : c.points) sizes.push_back(p.first);
        return sizes;
    });
    const axis y(smallest, largest, 10, height - bottom, top), x(first, last, 2, left, width - right);
    std::vector<std::string> names;
    for (const auto &c : curves) names.push_back(c.label);
    std::string svg = frame(title, unit, names, y);
    for (double power = std::ceil(x.low / 3) * 3; power <= x.high; power += 3) {
        const double size = std::pow(2, power);
        svg += label(x.place(size), height - bottom + 18, "middle", size_text(static_cast<std::size_t>(size)));
    }
    for (std::size_t i = 0; i < curves.size(); i++) {
        std::string points;
        for (const auto &[size, value] : curves[i].points)
            if (value > 0) points += fmt::format("{:.1f},{:.1f} ", x.place(size), y.place(value));
        svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points,
                           colour_of(i));
        for (const auto &[size, value] : curves[i].points)
            if (size == curves[i].marked && value > 0)
                svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\" fill=\"none\" stroke=\"{}\" "
                                   "stroke-width=\"2\"/>\n",
                                   x.place(size), y.place(value), colour_of(i)) +
                       label(x.place(size), y.place(value) - 12, "middle",
                             size_text(static_cast<std::size_t>(size)) + ", " + number_text(value));
    }
    return svg + "</svg>\n";
}

} // namespace bench
