// SPDX-License-Identifier: Apache-2.0
// Design. The names carry our process id, so benchmarks at the same time do not meet, and what a killed one left (kill
// -9 lets nobody clean up) can be told from what is in use: the process is gone. All that happens to a namespace when
// it is removed is done by the kernel, cable included, so removing the two names is the whole of cleaning up.
#include "driver/cable.hpp"
#include "driver/options.hpp"
#include "driver/places.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::string_view stem = "seabench";
constexpr const char *folder = "/run/netns"; // where `ip` keeps the names
constexpr double step_seconds = 10;

void must(const std::vector<std::string> &argv)
{
    const auto result = run({argv, {}}, step_seconds);
    if (!result.good())
        throw std::runtime_error(fmt::format("'{}' failed: {}", fmt::join(argv, " "), result.err.substr(0, 300)));
}

// The kernel may take a second to see that the cable is plugged in; until then some libraries find no such device.
void wait_until_up(const std::string &name_space)
{
    for (int tries = 0; tries < 100; tries++) {
        const auto seen = run({{"ip", "-n", name_space, "-o", "link", "show", "dev", cable::device}, {}}, step_seconds);
        if (seen.good() && seen.out.find("state UP") != std::string::npos) return;
        usleep(50000);
    }
    throw std::runtime_error("the virtual cable does not come up in the network namespace " + name_space);
}

void remove(const std::string &name_space)
{
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(folder) / name_space, none))
        run_undisturbed({{"ip", "netns", "del", name_space}, {}}, step_seconds);
}

void remove_what_was_left()
{
    std::error_code none;
    for (const auto &entry : std::filesystem::directory_iterator(folder, none)) {
        const auto name = entry.path().filename().string();
        const auto owner = cable_owner(name);
        if (owner && kill(*owner, 0) != 0 && errno == ESRCH) remove(name);
    }
}

} // namespace

std::optional<int> cable_owner(std::string_view name)
{
    if (!name.starts_with(stem) || name.size() < stem.size() + 2 || (name.back() != 'a' && name.back() != 'b'))
        return {};
    const char *begin = name.data() + stem.size(), *end = name.data() + name.size() - 1;
    int pid = 0;
    const auto [stop, error] = std::from_chars(begin, end, pid);
    if (error != std::errc() || stop != end || pid <= 0) return {};
    return pid;
}

cable::cable(int pid, const std::string &shell)
    : from(fmt::format("{}{}a", stem, pid)), to(fmt::format("{}{}b", stem, pid)), shell_(shell)
{
}

// The members are there before the first step is taken: if one throws, the destructor removes what the others made.
cable::cable() : cable(getpid(), own_program("onesea-bench-worker-enter"))
{
    if (geteuid() != 0) throw std::runtime_error("needs root: it makes network namespaces");
    if (!in_path("ip")) throw std::runtime_error("needs the command 'ip' (package iproute2)");
    remove_what_was_left();
    must({"ip", "netns", "add", from});
    must({"ip", "netns", "add", to});
    must({"ip", "-n", from, "link", "add", device, "mtu", "1500", "type", "veth", "peer", "name", device, "mtu", "1500",
          "netns", to});
    const std::array<std::pair<std::string, std::string>, 2> ends = {{{from, from_address}, {to, to_address}}};
    for (const auto &[end, address] : ends) {
        must({"ip", "-n", end, "addr", "add", address + "/30", "dev", device});
        for (const char *link : {"lo", device}) must({"ip", "-n", end, "link", "set", link, "up"});
    }
    for (const auto &end : {from, to}) wait_until_up(end);
}

cable::~cable()
{
    for (const auto &end : {from, to}) try {
            remove(end);
        } catch (const std::exception &e) {
            progress(fmt::format("network namespace {} is left: {}", end, e.what()));
        }
}

command cable::inside(const std::string &name_space, const command &what) const
{
    command c{{"ip", "netns", "exec", name_space}, what.environment};
    c.argv.insert(c.argv.end(), what.argv.begin(), what.argv.end());
    return c;
}

} // namespace bench
