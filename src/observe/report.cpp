// SPDX-License-Identifier: Apache-2.0
#include "observe/report.hpp"

#include "observe/columns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace onesea::observe {
namespace {

struct spoken {
    int from;
    const pair_copy *pair;
};

const char *way(const spoken &s)
{
    if (s.from == s.pair->rank) return "self";
    return s.pair->counts[&pair_counts::packets_out] + s.pair->counts[&pair_counts::packets_in] ? "net" : "shm";
}

std::vector<spoken> all_pairs(const job_report &job)
{
    std::vector<spoken> all;
    for (const rank_report &r : job.ranks)
        if (r.page)
            for (const pair_copy &p : r.page->pairs) all.push_back({r.rank, &p});
    return all;
}

const cells pair_head{"from",     "to",     "via",       "puts",     "gets",     "atomics",
                      "messages", "copies", "bytes out", "bytes in", "pkts out", "pkts in",
                      "again",    "probes", "trip p50",  "p99",      "max"};

cells pair_row(const spoken &s)
{
    const pair_values &c = s.pair->counts;
    const histogram_copy &trips = s.pair->round_trips;
    auto time = [&](std::uint64_t ns) { return trips.samples() ? duration(ns) : std::string("-"); };
    cells row{std::to_string(s.from), std::to_string(s.pair->rank), way(s)};
    for (auto word :
         {&pair_counts::puts, &pair_counts::gets, &pair_counts::atomics, &pair_counts::messages, &pair_counts::copies})
        row.push_back(count(c[word]));
    for (auto word : {&pair_counts::bytes_out, &pair_counts::bytes_in}) row.push_back(bytes(c[word]));
    for (auto word :
         {&pair_counts::packets_out, &pair_counts::packets_in, &pair_counts::packets_lost, &pair_counts::probes})
        row.push_back(count(c[word]));
    for (std::uint64_t ns : {trips.quantile(0.5), trips.quantile(0.99), trips.longest}) row.push_back(time(ns));
    return row;
}

std::string rest_of_pairs(const std::vector<spoken> &rest)
{
    std::uint64_t operations = 0, out = 0, in = 0, packets = 0, lost = 0;
    for (const spoken &s : rest) {
        operations += s.pair->operations();
        out += s.pair->counts[&pair_counts::bytes_out];
        in += s.pair->counts[&pair_counts::bytes_in];
        packets += s.pair->counts[&pair_counts::packets_out];
        lost += s.pair->counts[&pair_counts::packets_lost];
    }
    return fmt::format("  and {} more pairs: {} operations, {} bytes out, {} bytes in, {} packets out, {} sent again; "
                       "use --stats=FILE for all as JSON\n",
                       rest.size(), count(operations), bytes(out), bytes(in), count(packets), count(lost));
}

std::string pair_table(const job_report &job)
{
    std::vector<spoken> pairs = all_pairs(job), rest;
    std::string text = fmt::format("{} pair{} of ranks spoke\n", pairs.size(), pairs.size() == 1 ? "" : "s");
    if (pairs.empty()) return text;
    if (pairs.size() > most_pairs_shown) {
        std::stable_sort(pairs.begin(), pairs.end(), [](const spoken &a, const spoken &b) {
            return std::pair(a.pair->bytes(), a.pair->operations()) > std::pair(b.pair->bytes(), b.pair->operations());
        });
        rest.assign(pairs.begin() + most_pairs_shown, pairs.end());
        pairs.resize(most_pairs_shown);
    }
    std::vector<cells> rows{pair_head};
    for (const spoken &one : pairs) rows.push_back(pair_row(one));
    text += laid_out(rows);
    return rest.empty() ? text : text + rest_of_pairs(rest);
}

const cells rank_head{"rank",    "waits",    "waited", "sleeps",    "rounds",   "stalls",
                      "longest", "not ours", "forged", "malformed", "replayed", "kept out"};

cells rank_row(std::string head, const process_values &p)
{
    cells row{std::move(head)};
    for (auto word :
         {&process_counts::waits, &process_counts::wait_ns, &process_counts::sleeps, &process_counts::rounds,
          &process_counts::stalls, &process_counts::longest_stall_ns, &process_counts::not_ours,
          &process_counts::forged, &process_counts::malformed, &process_counts::replayed, &process_counts::kept_out}) {
        const bool is_time = word == &process_counts::wait_ns || word == &process_counts::longest_stall_ns;
        row.push_back(is_time ? duration(p[word]) : count(p[word]));
    }
    return row;
}

std::vector<const page_copy *> started(const job_report &job)
{
    std::vector<const page_copy *> pages;
    for (const rank_report &r : job.ranks)
        if (r.page && r.page->pid) pages.push_back(&*r.page);
    return pages;
}

std::string rank_table(const std::vector<const page_copy *> &pages)
{
    auto waited = [](const page_copy *p) { return p->process[&process_counts::wait_ns]; };
    std::vector<const page_copy *> shown = pages;
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const page_copy *a, const page_copy *b) { return waited(a) > waited(b); });
    process_values rest;
    const std::size_t hidden = shown.size() > most_ranks_shown ? shown.size() - most_ranks_shown : 0;
    for (std::size_t i = shown.size() - hidden; i < shown.size(); ++i)
        for (std::size_t k = 0; k < rest.by_label.size(); ++k)
            rest.by_label[k] = process_labels[k].word == &process_counts::longest_stall_ns
                                   ? std::max(rest.by_label[k], shown[i]->process.by_label[k])
                                   : rest.by_label[k] + shown[i]->process.by_label[k];
    shown.resize(shown.size() - hidden);
    std::sort(shown.begin(), shown.end(), [](const page_copy *a, const page_copy *b) { return a->rank < b->rank; });
    std::vector<cells> rows{rank_head};
    for (const page_copy *p : shown) rows.push_back(rank_row(std::to_string(p->rank), p->process));
    if (hidden) rows.push_back(rank_row(fmt::format("{} more", hidden), rest));
    return laid_out(rows);
}

std::string unrecorded(const rank_report &r)
{
    const std::uint64_t pairs = r.page->process[&process_counts::unrecorded];
    if (pairs == 0) return "";
    return fmt::format("  rank {}: what it did with {} rank{} is in no line, since its page of counts could not grow\n",
                       r.rank, pairs, pairs == 1 ? "" : "s");
}

std::string absent(const job_report &job)
{
    std::string text;
    std::size_t silent = 0;
    for (const rank_report &r : job.ranks) {
        if (!r.page) {
            text +=
                fmt::format("  rank {} on {}: {}\n", r.rank, r.host,
                            r.agent_lost ? "its agent was lost, and its counts with it" : "its counts are unreadable");
            continue;
        }
        silent += r.page->pid == 0;
        text += unrecorded(r);
    }
    if (silent) text += fmt::format("  {} rank{} never called sea_init()\n", silent, silent == 1 ? "" : "s");
    return text;
}

} // namespace

std::string table(const job_report &job)
{
    const auto pages = started(job);
    std::string text = "onesea: " + pair_table(job);
    if (!pages.empty()) text += rank_table(pages);
    return text + absent(job);
}

nlohmann::json to_json(const job_report &job)
{
    nlohmann::json ranks = nlohmann::json::array(), lost = nlohmann::json::array();
    for (const rank_report &report : job.ranks) {
        if (!report.page) {
            lost.push_back(report.rank);
            continue;
        }
        nlohmann::json one = to_json(*report.page);
        one["node"] = report.node;
        one["host"] = report.host;
        ranks.push_back(std::move(one));
    }
    return {{"version", 1}, {"ranks", std::move(ranks)}, {"lost", std::move(lost)}};
}

} // namespace onesea::observe
