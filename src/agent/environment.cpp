// SPDX-License-Identifier: Apache-2.0
#include "agent/environment.hpp"

#include "agent/hosts.hpp"
#include "agent/text_file.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <unordered_map>

namespace onesea::agent {
namespace {

constexpr std::string_view own_prefix = "ONESEA_";

// Set for each rank; what a launcher inherits of them belongs to the job around it.
constexpr std::array<std::string_view, 6> per_rank{"ONESEA_BIRTH", "ONESEA_RANK",       "ONESEA_SIZE",
                                                   "ONESEA_NODE",  "ONESEA_LOCAL_RANK", "ONESEA_NODES"};

// What somebody reads beside these: the library, the launcher, the tests.
constexpr std::array<std::string_view, 6> read_by_us{"ONESEA_LOG",        "ONESEA_RSH",   "ONESEA_MESSAGE_MEMORY",
                                                     "ONESEA_NET_FAULTS", "ONESEA_SEEDS", "ONESEA_SEED"};

bool is_name(std::string_view name)
{
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
    return std::all_of(name.begin(), name.end(), [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

bool is_per_rank(std::string_view name) { return std::find(per_rank.begin(), per_rank.end(), name) != per_rank.end(); }

std::size_t edits_between(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t(0));
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

} // namespace

std::vector<std::string> merge_environment(char *const *base, std::span<const variables *const> changes)
{
    std::vector<std::string> merged;
    std::unordered_map<std::string, std::size_t> place;
    auto set = [&](std::string name, std::string entry) {
        auto [found, added] = place.emplace(std::move(name), merged.size());
        if (added)
            merged.push_back(std::move(entry));
        else
            merged[found->second] = std::move(entry);
    };
    for (; base && *base; ++base)
        if (std::string_view entry = *base; !is_per_rank(name_of(entry))) set(std::string(name_of(entry)), *base);
    for (const variables *list : changes)
        for (const auto &[name, value] : *list)
            if (!is_per_rank(name)) set(name, name + "=" + value);
    return merged;
}

std::string value_of(const std::vector<std::string> &environment, std::string_view name)
{
    for (const std::string &e : environment)
        if (name_of(e) == name && e.size() > name.size()) return e.substr(name.size() + 1);
    return {};
}

variables parse_env_file(std::string_view text, std::string_view name)
{
    variables list;
    for (unsigned number = 1; !text.empty(); ++number) {
        auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == line.npos || line[line.find_first_not_of(" \t")] == '#') continue;
        auto equals = line.find('=');
        if (equals == line.npos || !is_name(line.substr(0, equals)))
            throw request_error(fmt::format("{}:{}: '{}' is not NAME=value", name, number, line));
        list.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return list;
}

variables read_env_file(const std::string &path)
{
    return parse_env_file(read_text_file("environment file", path), path);
}

void add_export(variables &to, const std::string &wish)
{
    std::string name(name_of(wish));
    if (!is_name(name)) throw request_error(fmt::format("-x {}: '{}' is not a name of a variable", wish, name));
    if (name.size() < wish.size()) {
        to.emplace_back(name, wish.substr(name.size() + 1));
        return;
    }
    const char *value = std::getenv(name.c_str());
    if (!value)
        throw request_error(fmt::format("-x {}: there is no such variable here; give it as -x {}=value", wish, name));
    to.emplace_back(name, value);
}

variables variables_to_send(char *const *base, bool all)
{
    variables list;
    for (; base && *base; ++base) {
        std::string_view entry = *base, name = name_of(entry);
        bool own = name.starts_with(own_prefix);
        if (is_per_rank(name) || name == "ONESEA_RSH" || name.size() == entry.size() || name.starts_with("SSH_"))
            continue;
        if (all || own) list.emplace_back(name, entry.substr(name.size() + 1));
    }
    return list;
}

std::vector<std::pair<std::string, std::string>> unknown_variables(char *const *base)
{
    std::vector<std::pair<std::string, std::string>> list;
    for (; base && *base; ++base) {
        std::string name(name_of(*base));
        if (!name.starts_with(own_prefix)) continue;
        std::string_view near;
        std::size_t least = 4;
        for (std::span<const std::string_view> names : {std::span(read_by_us), std::span(per_rank)})
            for (std::string_view known : names)
                if (std::size_t edits = edits_between(name, known); edits < least) {
                    least = edits;
                    near = known;
                }
        if (least > 0) list.emplace_back(name, near);
    }
    return list;
}

} // namespace onesea::agent
