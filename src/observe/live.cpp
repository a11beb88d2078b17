// SPDX-License-Identifier: Apache-2.0
// A page has no name, but /proc shows who holds one: the rank itself and its agent. Each is the same file, so it is
// read once. Whether its rank lives is whether the process that the page names holds it.
#include "observe/live.hpp"

#include "base/counts_page.hpp"
#include "observe/columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace onesea::observe {
namespace {

namespace fs = std::filesystem;

bool is_of_this_user(const fs::path &process)
{
    struct stat info;
    return stat(process.c_str(), &info) == 0 && info.st_uid == geteuid();
}

// By which number a process knows itself: another one than here where it runs in a container. The page names that one.
int own_number_of(int pid)
{
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("NSpid:")) return std::atoi(line.c_str() + line.find_last_of(" \t") + 1);
    return pid;
}

bool is_page(const fs::path &link)
{
    static const std::string name = std::string("/memfd:") + counts_name;
    std::error_code problem;
    return fs::read_symlink(link, problem).string().starts_with(name);
}

bool is_file_of_this_user(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
}

// What has a page's name may be anything: it is opened without waiting.
std::optional<page_copy> page_of(int pid, const fs::path &link)
{
    const int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return std::nullopt;
    std::string problem;
    auto page = is_file_of_this_user(fd) ? read_page(fd, any_ranks, &problem) : std::nullopt;
    close(fd);
    if (!page || page->pid != own_number_of(pid)) return std::nullopt;
    page->pid = pid;
    return page;
}

void pages_of(int pid, std::vector<page_copy> *result)
{
    std::error_code problem;
    for (fs::directory_iterator at(fmt::format("/proc/{}/fd", pid), problem), end; at != end && !problem;
         at.increment(problem)) {
        if (!is_page(at->path())) continue;
        auto page = page_of(pid, at->path());
        if (!page) continue;
        result->push_back(std::move(*page));
        return; // a process is one rank
    }
}

auto key(const page_copy &p) { return std::tuple(p.job, p.rank, p.pid); }

std::uint64_t growth(std::uint64_t before, std::uint64_t after) { return after > before ? after - before : 0; }

double growth(const pair_copy *before, const pair_copy &after, count_word pair_counts::*word)
{
    return double(growth(before ? before->counts[word] : 0, after.counts[word]));
}

void add_pair(rank_speed *s, const pair_copy *before, const pair_copy &after)
{
    s->operations += double(growth(before ? before->operations() : 0, after.operations()));
    s->bytes_out += growth(before, after, &pair_counts::bytes_out);
    s->bytes_in += growth(before, after, &pair_counts::bytes_in);
    s->packets += growth(before, after, &pair_counts::packets_out);
    s->lost += growth(before, after, &pair_counts::packets_lost);
}

// With what has not ended, and will be counted then.
std::uint64_t waited(const page_copy &p) { return p.process[&process_counts::wait_ns] + p.open_wait_ns; }

rank_speed speed(const page_copy &before, const page_copy &after, double seconds)
{
    rank_speed s;
    s.rank = after.rank;
    s.pid = after.pid;
    s.job = after.job;
    std::map<int, const pair_copy *> old;
    for (const pair_copy &p : before.pairs) old[p.rank] = &p;
    std::pair<std::uint64_t, std::uint64_t> most{0, 0};
    for (const pair_copy &p : after.pairs) {
        auto known = old.find(p.rank);
        const pair_copy *was = known == old.end() ? nullptr : known->second;
        add_pair(&s, was, p);
        std::pair weight{growth(was ? was->bytes() : 0, p.bytes()),
                         growth(was ? was->operations() : 0, p.operations())};
        if (weight > most) {
            most = weight;
            s.most_to = p.rank;
        }
    }
    for (auto word : {&process_counts::not_ours, &process_counts::forged, &process_counts::malformed,
                      &process_counts::replayed, &process_counts::kept_out})
        s.dropped += double(growth(before.process[word], after.process[word]));
    s.waiting = double(growth(waited(before), waited(after))) / 1e9;
    for (double *rate : {&s.operations, &s.bytes_out, &s.bytes_in, &s.packets, &s.lost, &s.dropped, &s.waiting})
        *rate /= seconds;
    return s;
}

} // namespace

std::vector<page_copy> running_pages()
{
    std::vector<page_copy> result;
    std::error_code problem;
    for (fs::directory_iterator at("/proc", problem), end; at != end && !problem; at.increment(problem)) {
        const std::string name = at->path().filename();
        if (name.find_first_not_of("0123456789") == name.npos && is_of_this_user(at->path()))
            pages_of(std::stoi(name), &result);
    }
    std::sort(result.begin(), result.end(), [](const auto &a, const auto &b) { return key(a) < key(b); });
    return result;
}

std::vector<rank_speed> speeds(const std::vector<page_copy> &before, const std::vector<page_copy> &after,
                               double seconds)
{
    std::map<decltype(key(before[0])), const page_copy *> old;
    for (const page_copy &p : before) old[key(p)] = &p;
    std::vector<rank_speed> result;
    for (const page_copy &p : after)
        if (auto known = old.find(key(p)); known != old.end()) result.push_back(speed(*known->second, p, seconds));
    return result;
}

std::string table(const std::vector<rank_speed> &ranks)
{
    if (ranks.empty()) return "  no rank runs on this machine\n";
    std::vector<cells> rows{{"job", "rank", "pid", "op/s", "bytes out/s", "bytes in/s", "pkts/s", "again/s",
                             "dropped/s", "waiting", "most to"}};
    auto whole = [](double x) { return std::uint64_t(std::llround(x)); };
    for (const rank_speed &r : ranks)
        rows.push_back({r.job ? fmt::format("{:08x}", std::uint32_t(r.job)) : "-", std::to_string(r.rank),
                        std::to_string(r.pid), count(whole(r.operations)), bytes(whole(r.bytes_out)),
                        bytes(whole(r.bytes_in)), count(whole(r.packets)), count(whole(r.lost)),
                        count(whole(r.dropped)), fmt::format("{:.0f} %", 100 * r.waiting),
                        r.most_to < 0 ? "-" : std::to_string(r.most_to)});
    return laid_out(rows);
}

} // namespace onesea::observe
