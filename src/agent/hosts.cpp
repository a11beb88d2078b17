// SPDX-License-Identifier: Apache-2.0
// A host's name is whatever ssh accepts, without white space; a colon splits off a number of slots unless it is part
// of an IPv6 address, which has brackets when a number follows. A host that is named again adds its slots (1 if none
// are given) to what it has: the habit of machine files made by batch systems, one line per process.
#include "agent/hosts.hpp"

#include "agent/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace onesea::agent {
namespace {

constexpr unsigned most_slots = shm::max_slots;
constexpr std::string_view blanks = " \t\r";

std::string_view trim(std::string_view s)
{
    auto first = s.find_first_not_of(blanks);
    if (first == s.npos) return {};
    return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

unsigned parse_slots(std::string_view text)
{
    unsigned n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n == 0 || n > most_slots)
        throw request_error(fmt::format("'{}' is not a number of slots (1 to {})", text, most_slots));
    return n;
}

void check_name(std::string_view name)
{
    if (name.empty()) throw request_error("a host name is missing");
    // A name that looks like an option would be one to ssh.
    if (name.front() == '-') throw request_error(fmt::format("'{}' is not a host name", name));
    if (printable(name) != name) throw request_error(fmt::format("'{}' is not a host name", name));
    for (char c : name)
        if (static_cast<unsigned char>(c) <= ' ' ||
            std::string_view("\"'`$;&|<>(){}\\,=").find(c) != std::string_view::npos)
            throw request_error(fmt::format("'{}' is not a host name", name));
}

// "name", "name:slots", "[address]", "[address]:slots", or an IPv6 address without brackets.
host_slots parse_host(std::string_view text)
{
    host_slots host;
    std::string_view name = text, slots;
    bool counted = false;
    if (text.starts_with('[')) {
        auto close = text.find(']');
        if (close == text.npos) throw request_error(fmt::format("'{}' lacks a closing bracket", text));
        name = text.substr(1, close - 1);
        std::string_view rest = text.substr(close + 1);
        counted = !rest.empty();
        if (counted && rest.front() != ':') throw request_error(fmt::format("'{}' is not a host", text));
        if (counted) slots = rest.substr(1);
    } else if (std::count(text.begin(), text.end(), ':') == 1) {
        auto colon = text.find(':');
        name = text.substr(0, colon);
        slots = text.substr(colon + 1);
        counted = true;
    }
    check_name(name);
    host.name = name;
    if (counted) host.slots = parse_slots(slots);
    return host;
}

void add(std::vector<host_slots> &hosts, host_slots host)
{
    auto same = std::find_if(hosts.begin(), hosts.end(), [&](const host_slots &h) { return h.name == host.name; });
    if (same == hosts.end())
        hosts.push_back(std::move(host));
    else
        same->slots = std::max(1u, same->slots) + std::max(1u, host.slots);
}

host_slots parse_line(std::string_view line)
{
    auto blank = line.find_first_of(blanks);
    host_slots host = parse_host(line.substr(0, blank));
    std::string_view rest = blank == line.npos ? std::string_view() : trim(line.substr(blank));
    if (rest.empty()) return host;
    constexpr std::string_view key = "slots=";
    if (!rest.starts_with(key))
        throw request_error(fmt::format("'{}' is not understood; 'slots=N' may follow a host", rest));
    if (host.slots) throw request_error("the number of slots is given twice");
    host.slots = parse_slots(rest.substr(key.size()));
    return host;
}

} // namespace

std::vector<host_slots> parse_host_list(std::string_view text)
{
    std::vector<host_slots> hosts;
    for (std::string_view rest = text;;) {
        auto comma = rest.find(',');
        try {
            add(hosts, parse_host(trim(rest.substr(0, comma))));
        } catch (const request_error &e) {
            throw request_error(fmt::format("--host {}: {}", text, e.what()));
        }
        if (comma == rest.npos) return hosts;
        rest.remove_prefix(comma + 1);
    }
}

std::vector<host_slots> parse_hostfile(std::string_view text, std::string_view name)
{
    std::vector<host_slots> hosts;
    for (unsigned number = 1; !text.empty(); ++number) {
        auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        line = trim(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        try {
            add(hosts, parse_line(line));
        } catch (const request_error &e) {
            throw request_error(fmt::format("{}:{}: {}", name, number, e.what()));
        }
    }
    if (hosts.empty()) throw request_error(fmt::format("{}: it names no host", name));
    return hosts;
}

std::vector<host_slots> read_hostfile(const std::string &path)
{
    return parse_hostfile(read_text_file("host file", path), path);
}

} // namespace onesea::agent
