// SPDX-License-Identifier: Apache-2.0
#include "driver/options.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace bench {
namespace {

constexpr double no_limit = 1e6;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool wanted(const std::vector<std::string> &list, const std::string &name)
{
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

void write_file(const std::filesystem::path &file, const std::string &text)
{
    std::ofstream stream(file);
    stream << text;
    stream.close();
    if (!stream) throw std::runtime_error("cannot write " + file.string());
    progress("wrote " + file.string());
}

} // namespace

bool options::wants_case(const std::string &name) const { return wanted(cases, name); }
bool options::wants_path(const std::string &name) const { return wanted(paths, name); }
bool options::names_path(const std::string &name) const { return !paths.empty() && wanted(paths, name); }

budget::budget(bool quick, double seconds) : end_(now() + (quick ? seconds : no_limit)) {}
budget::budget(const options &o, double seconds) : budget(o.quick, o.seconds > 0 ? o.seconds : seconds) {}

double budget::left() const { return end_ - now(); }

void progress(const std::string &line) { fmt::print(stderr, "{}\n", line); }

void publish(const std::vector<figure> &figures, const options &o, const std::string &name,
             const std::function<std::vector<std::pair<std::string, std::string>>()> &pictures,
             const std::function<std::string(const std::vector<figure> &)> &for_people)
{
    std::string lines;
    for (const auto &f : figures) lines += json_line(f) + '\n';
    fmt::print("{}", o.json ? lines : for_people(figures));
    std::fflush(stdout);
    if (o.out.empty()) return;
    std::filesystem::create_directories(o.out);
    write_file(std::filesystem::path(o.out) / (name + ".json"), lines);
    for (const auto &[file, text] : pictures()) write_file(std::filesystem::path(o.out) / file, text);
}

} // namespace bench
