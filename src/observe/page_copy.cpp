// SPDX-License-Identifier: Apache-2.0
// A rank can write whatever it likes into its page, so every place and number in it is checked against the file.
#include "observe/page_copy.hpp"

#include "base/clock.hpp"
#include "base/counts_page.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace onesea::observe {
namespace {

constexpr std::uint32_t most_windows = 1u << 16;

template <class Counts, std::size_t N>
std::size_t place_of(const std::array<count_label<Counts>, N> &labels, count_word Counts::*word)
{
    auto at = std::find_if(labels.begin(), labels.end(), [word](const auto &l) { return l.word == word; });
    return std::size_t(at - labels.begin());
}

template <class Counts, std::size_t N>
values<Counts, N> copy(const Counts &from, const std::array<count_label<Counts>, N> &labels)
{
    values<Counts, N> to;
    for (std::size_t i = 0; i < N; ++i) to.by_label[i] = from.*labels[i].word;
    return to;
}

template <class T>
bool read_at(int fd, std::vector<T> &to, std::uint64_t at)
{
    const std::size_t bytes = to.size() * sizeof(T);
    return pread(fd, static_cast<void *>(to.data()), bytes, off_t(at)) == ssize_t(bytes);
}

bool sensible(const counts_header &h, std::uint64_t file_bytes)
{
    auto inside = [file_bytes](std::uint64_t at, std::uint64_t bytes) {
        return at <= file_bytes && bytes <= file_bytes - at;
    };
    return h.magic == counts_magic && h.version == counts_version && h.windows <= most_windows &&
           inside(h.owners_at, h.windows * sizeof(std::int32_t)) &&
           inside(h.windows_at, h.windows * sizeof(sea_window_)) &&
           inside(h.rows_at, std::uint64_t(h.rows) * sizeof(pair_row));
}

void add_inlined(pair_values &to, const sea_window_ &w)
{
    auto add = [&to](count_word pair_counts::*word, std::uint64_t n) { to.by_label[place_of(pair_labels, word)] += n; };
    add(&pair_counts::puts, w.puts);
    add(&pair_counts::gets, w.gets);
    add(&pair_counts::atomics, w.atomics);
    add(&pair_counts::bytes_out, 8 * w.puts);
    add(&pair_counts::bytes_in, 8 * w.gets);
}

bool anything(const pair_copy &p)
{
    return std::any_of(p.counts.by_label.begin(), p.counts.by_label.end(), [](std::uint64_t n) { return n > 0; });
}

template <class Counts, std::size_t N>
nlohmann::json to_json(const values<Counts, N> &v, const std::array<count_label<Counts>, N> &labels)
{
    nlohmann::json j;
    for (std::size_t i = 0; i < N; ++i) j[labels[i].name] = v.by_label[i];
    return j;
}

template <class Counts, std::size_t N>
void from_json(const nlohmann::json &j, values<Counts, N> &v, const std::array<count_label<Counts>, N> &labels)
{
    for (std::size_t i = 0; i < N; ++i) j.at(labels[i].name).get_to(v.by_label[i]);
}

nlohmann::json trips_to_json(const pair_copy &p)
{
    nlohmann::json buckets = nlohmann::json::array();
    for (unsigned i = 0; i < p.round_trips.counts.size(); ++i)
        if (p.round_trips.counts[i]) buckets.push_back({histogram_scale::low_of(i), p.round_trips.counts[i]});
    return {{"samples", p.round_trips.samples()},  {"smoothed", p.smoothed_ns},    {"p50", p.round_trips.quantile(0.5)},
            {"p99", p.round_trips.quantile(0.99)}, {"max", p.round_trips.longest}, {"buckets", std::move(buckets)}};
}

void trips_from_json(const nlohmann::json &j, pair_copy &p)
{
    j.at("smoothed").get_to(p.smoothed_ns);
    j.at("max").get_to(p.round_trips.longest);
    for (const auto &b : j.at("buckets"))
        p.round_trips.counts[histogram_scale::bucket_of(b.at(0).get<std::uint64_t>())] = b.at(1).get<std::uint32_t>();
}

// Its clock is this machine's.
std::uint64_t open_wait(const counts_header &h)
{
    const std::uint64_t since = h.waiting_since, now = now_ns();
    return since && since < now ? now - since : 0;
}

// In pieces, up to the first that is none: a file may claim any number of rows without any memory behind them. Each is
// of another rank.
bool read_rows(int fd, const counts_header &h, std::uint32_t ranks, std::map<int, pair_copy> *pairs)
{
    for (std::uint32_t at = 0; at < h.rows;) {
        std::vector<pair_row> rows(std::min(h.rows - at, counts_page::rows_at_once));
        if (!read_at(fd, rows, h.rows_at + std::uint64_t(at) * sizeof(pair_row))) return false;
        at += std::uint32_t(rows.size());
        for (const pair_row &row : rows) {
            if (row.rank < 0 || std::uint32_t(row.rank) >= ranks) return false;
            const auto [place, first] = pairs->try_emplace(row.rank);
            if (!first) return false;
            place->second.counts = copy(row.counts, pair_labels);
            place->second.smoothed_ns = row.smoothed_ns;
            place->second.round_trips = row.round_trips.copy();
        }
    }
    return true;
}

} // namespace

template <>
std::uint64_t pair_values::operator[](count_word pair_counts::*word) const
{
    return by_label[place_of(pair_labels, word)];
}

template <>
std::uint64_t process_values::operator[](count_word process_counts::*word) const
{
    return by_label[place_of(process_labels, word)];
}

std::uint64_t pair_copy::operations() const
{
    return counts[&pair_counts::puts] + counts[&pair_counts::gets] + counts[&pair_counts::atomics] +
           counts[&pair_counts::messages] + counts[&pair_counts::copies];
}

std::uint64_t pair_copy::bytes() const { return counts[&pair_counts::bytes_out] + counts[&pair_counts::bytes_in]; }

std::optional<page_copy> read_page(int fd, std::uint32_t ranks, std::string *problem)
{
    auto refuse = [problem](std::string why) {
        *problem = std::move(why);
        return std::nullopt;
    };
    struct stat info;
    if (fstat(fd, &info) != 0) return refuse(std::strerror(errno));
    std::vector<counts_header> head(1);
    if (!read_at(fd, head, 0)) return refuse("it is too short");
    const counts_header &h = head[0];
    if (!sensible(h, std::uint64_t(info.st_size))) return refuse("it is no page of this version, or damaged");
    std::vector<std::int32_t> owners(h.windows);
    std::vector<sea_window_> windows(h.windows);
    std::map<int, pair_copy> pairs;
    if (!read_at(fd, owners, h.owners_at) || !read_at(fd, windows, h.windows_at)) return refuse("it cannot be read");
    if (!read_rows(fd, h, ranks, &pairs)) return refuse("it tells of no rank, or twice of one");
    for (std::size_t i = 0; i < windows.size(); ++i) {
        if (owners[i] <= 0) continue;
        if (std::uint32_t(owners[i]) > ranks) return refuse("it tells of no rank");
        add_inlined(pairs[owners[i] - 1].counts, windows[i]);
    }
    page_copy page{h.rank, h.pid, h.job, copy(h.process, process_labels), {}, open_wait(h)};
    for (auto &[rank, p] : pairs) {
        p.rank = rank;
        if (anything(p)) page.pairs.push_back(std::move(p));
    }
    return page;
}

std::optional<wait_copy> read_waits(int fd)
{
    struct stat info;
    std::vector<counts_header> head(1);
    if (fstat(fd, &info) != 0 || !read_at(fd, head, 0)) return std::nullopt;
    const counts_header &h = head[0];
    if (!sensible(h, std::uint64_t(info.st_size))) return std::nullopt;
    const std::size_t bytes = std::min<std::size_t>(h.waits.bytes, sizeof h.waits.text);
    return wait_copy{h.waits.answers, h.pid != 0, open_wait(h) / 1'000'000, std::string(h.waits.text, bytes)};
}

nlohmann::json to_json(const page_copy &page)
{
    nlohmann::json pairs = nlohmann::json::array();
    for (const pair_copy &p : page.pairs) {
        nlohmann::json j = to_json(p.counts, pair_labels);
        j["rank"] = p.rank;
        if (p.round_trips.samples()) j["round_trip_ns"] = trips_to_json(p);
        pairs.push_back(std::move(j));
    }
    return {{"rank", page.rank},
            {"pid", page.pid},
            {"process", to_json(page.process, process_labels)},
            {"pairs", std::move(pairs)}};
}

page_copy page_from_json(const nlohmann::json &j)
{
    page_copy page;
    j.at("rank").get_to(page.rank);
    j.at("pid").get_to(page.pid);
    from_json(j.at("process"), page.process, process_labels);
    for (const auto &one : j.at("pairs")) {
        pair_copy p;
        one.at("rank").get_to(p.rank);
        from_json(one, p.counts, pair_labels);
        if (one.contains("round_trip_ns")) trips_from_json(one.at("round_trip_ns"), p);
        page.pairs.push_back(std::move(p));
    }
    return page;
}

} // namespace onesea::observe
