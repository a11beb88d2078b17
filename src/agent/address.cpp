// SPDX-License-Identifier: Apache-2.0
// In order: the interface that the user named; the address that the launcher's connection came to, if it is one of
// ours (behind a translating router it is not); the first interface that is up; loopback. IPv4 before IPv6, and no
// link-local addresses unless there is nothing else.
#include "agent/address.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

using net::interface_info;

bool is_link_local(const net::ip_address &a)
{
    if (a.is_v4()) return a.bytes[12] == 169 && a.bytes[13] == 254;
    return a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80;
}

int preference(const interface_info &i)
{
    if (!i.up) return 0;
    return 1 + 4 * !i.loopback + 2 * !is_link_local(i.address) + i.address.is_v4();
}

template <class Accept>
const interface_info *best(const std::vector<interface_info> &list, Accept accept)
{
    const interface_info *found = nullptr;
    for (const interface_info &i : list)
        if (i.up && accept(i) && (!found || preference(i) > preference(*found))) found = &i;
    return found;
}

node_address result(const interface_info &i, std::string why) { return {i.address, i.mtu, i.name, std::move(why)}; }

std::string names_of(const std::vector<interface_info> &list)
{
    std::vector<std::string> names; // an interface comes once for each of its addresses
    for (const interface_info &i : list)
        if (i.up && std::find(names.begin(), names.end(), i.name) == names.end()) names.push_back(i.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::optional<node_address> choose_address(const address_wish &wish, const std::vector<interface_info> &interfaces,
                                           std::string *error)
{
    if (!wish.interface.empty()) {
        if (auto *i = best(interfaces, [&](const auto &x) { return x.name == wish.interface; }))
            return result(*i, "named with --iface");
        *error = fmt::format("there is no interface '{}' that is up and has an address; there are: {}", wish.interface,
                             names_of(interfaces));
        return std::nullopt;
    }
    if (wish.loopback)
        if (auto *i = best(interfaces, [](const auto &x) { return x.loopback; }))
            return result(*i, "all nodes are on this machine");
    net::ip_address wanted;
    if (!wish.address.empty() && net::parse_ip(wish.address, &wanted)) {
        auto same = [&](const auto &x) { return memcmp(x.address.bytes, wanted.bytes, sizeof wanted.bytes) == 0; };
        if (auto *i = best(interfaces, same)) return result(*i, "it is where the launcher's connection ends");
    }
    if (auto *i = best(interfaces, [](const auto &) { return true; }))
        return result(*i, "the first interface that is up");
    *error = "no network interface is up, not even loopback";
    return std::nullopt;
}

ssh_ends parse_ssh_connection(const char *text)
{
    char client[64], server[64];
    if (!text || std::sscanf(text, "%63s %*s %63s", client, server) != 2) return {};
    return {client, server};
}

bool is_this_machine(const std::string &name)
{
    if (name == "localhost") return true;
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    if (name == own || name == std::string(own, strcspn(own, "."))) return true;
    net::ip_address address;
    if (!net::parse_ip(name, &address)) return false;
    if (address.is_loopback()) return true;
    for (const interface_info &i : net::list_interfaces())
        if (memcmp(i.address.bytes, address.bytes, sizeof address.bytes) == 0) return true;
    return false;
}

} // namespace onesea::agent
