// SPDX-License-Identifier: Apache-2.0
// Random messages against a model: every rank sends every rank --count / ranks^2 messages, of random sizes and tags,
// and receives them with random receives: source and tag open or not, posted before or after, withdrawn, looked at,
// taken, now and then with too little room. Each of --threads threads of a rank does so in a team of its own. What a
// pair sends follows from the seed, so the receiver knows it and checks each message: the right one, whole, and in
// order.
//
// The order: receives that end together are judged in the order of posting. Such a receive must have got, of all
// messages of its source that are not received yet and that it wants, the first.
//
// Of 1000 messages 700 are of up to 64 bytes, 200 of up to 4 KB, 85 of up to 40 KB, 14 of up to 300 KB and one of up to
// --most; with --rare N all but the first are N times as rare. With --medium N, N of 1000 are of up to 64 KB instead,
// of which many in a row go from where they lie.
//
//   random_messages [--count N] [--most BYTES] [--rare N] [--medium N] [--seed N] [--window N] [--threads N]
#include "common.hpp"

#include <onesea/message.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int tags = 8, nobodys_tag = tags;        // the last is never sent
constexpr std::uint64_t worth_telling = 1'000'000; // so many messages: tell how far it has come

struct settings {
    std::uint64_t count = 20000, most = 16u << 20, rare = 1, medium = 0, seed = 1, window = 24, threads = 1;
};

std::uint64_t mix(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct dice {
    std::uint64_t state;
    std::uint64_t next() { return mix(state++); }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
};

// The index-th message of a pair.
struct message {
    std::uint64_t seed;
    int tag;
    std::size_t bytes;
};

// In the exchange of one thread.
message message_of(const settings &s, std::uint64_t thread, int from, int to, std::uint64_t index)
{
    const std::uint64_t pair = mix((s.seed * 64 + thread) * 1000003 + unsigned(from) * 1009u + unsigned(to));
    const std::uint64_t word = mix(pair + index), size = mix(word), kind = size % (1000 * s.rare);
    const bool medium = (word >> 40) % 1000 < s.medium;
    const std::uint64_t most = medium       ? 65536
                               : kind < 1   ? s.most
                               : kind < 15  ? 300000
                               : kind < 100 ? 40000
                               : kind < 300 ? 4096
                                            : 64;
    return {word, int((word >> 20) % tags), std::size_t(mix(size) % (std::min(most, s.most) + 1))};
}

void write_content(const message &m, std::vector<std::uint64_t> &words)
{
    words.resize(m.bytes / 8 + 1);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = m.seed + i * 0x9e3779b97f4a7c15u;
}

bool is_content(const message &m, const std::uint64_t *words, std::size_t bytes)
{
    for (std::size_t i = 0; i < bytes / 8; ++i)
        if (words[i] != m.seed + i * 0x9e3779b97f4a7c15u) return false;
    const std::uint64_t last = m.seed + bytes / 8 * 0x9e3779b97f4a7c15u;
    return std::memcmp(words + bytes / 8, &last, bytes % 8) == 0;
}

// What has not been received of one source.
class stream {
  public:
    stream(const settings &s, std::uint64_t thread, int from, int to, std::uint64_t count)
        : s_(s), thread_(thread), from_(from), to_(to), count_(count)
    {
    }

    // The earliest one with that tag, or of all; count_ if there is none.
    std::uint64_t first(int tag)
    {
        if (tag != SEA_ANY_TAG) {
            while (open_[tag].empty() && known_ < count_) learn();
            return open_[tag].empty() ? count_ : open_[tag].front();
        }
        std::uint64_t least = count_;
        for (int t = 0; t < tags; ++t)
            if (!open_[t].empty()) least = std::min(least, open_[t].front());
        if (least == count_ && known_ < count_) {
            least = known_;
            learn();
        }
        return least;
    }
    message at(std::uint64_t index) const { return message_of(s_, thread_, from_, to_, index); }
    void receive(int tag) { open_[tag].pop_front(); }

  private:
    const settings &s_;
    std::uint64_t thread_;
    int from_, to_;
    std::uint64_t count_, known_ = 0;
    std::deque<std::uint64_t> open_[tags];

    void learn()
    {
        open_[at(known_).tag].push_back(known_);
        ++known_;
    }
};

struct wish {
    int source, tag;
    std::size_t room;
    std::uint64_t *buffer;
    sea_message_info info;
    sea_op op;
    bool withdrawn;
};

// How often what has happened.
struct tally {
    std::uint64_t received = 0, bytes = 0, open_source = 0, open_tag = 0, open_both = 0, there_before = 0,
                  withdrawn = 0, looked_at = 0, taken = 0, truncated = 0;
    tally &operator+=(const tally &o)
    {
        for (auto field :
             {&tally::received, &tally::bytes, &tally::open_source, &tally::open_tag, &tally::open_both,
              &tally::there_before, &tally::withdrawn, &tally::looked_at, &tally::taken, &tally::truncated})
            this->*field += o.*field;
        return *this;
    }
};

class exchange {
  public:
    exchange(const settings &s, std::uint64_t thread, sea_team team)
        : s_(s), thread_(thread), team_(team), me_(sea_rank()), n_(sea_size()),
          each_(s.count / std::uint64_t(n_) / std::uint64_t(n_) / s.threads + 1), dice_{mix(s.seed * 64 + thread) +
                                                                                        unsigned(me_)},
          sent_(std::size_t(n_), 0)
    {
        for (int from = 0; from < n_; ++from) streams_.emplace_back(s_, thread, from, me_, each_);
        for (std::uint64_t i = 0; i < s.window; ++i) buffers_.emplace_back(new std::uint64_t[s.most / 8 + 1]);
        left_ = each_ * std::uint64_t(n_);
    }

    void run()
    {
        std::uint64_t to_send = left_, ahead = 0; // so many more than it has received may it have sent
        for (std::uint64_t round = 0; left_ > 0 || to_send > 0 || !flying_.empty(); ++round) {
            if (round % 256 == 0) ahead = dice_.below(8) ? left_ : dice_.below(8);
            for (std::uint64_t i = dice_.below(s_.window);
                 i > 0 && to_send > 0 && left_ <= to_send + ahead && flying_.size() < s_.window; --i, --to_send)
                send_one();
            if (left_ > 0) receive_some();
            drop_sent();
            tell_progress();
        }
        int found = 1;
        good(sea_barrier(team_), "sea_barrier");
        good(sea_message_look(team_, SEA_ANY_SOURCE, SEA_ANY_TAG, &found, nullptr), "sea_message_look");
        if (found) give_up("there is a message more than was sent");
    }
    const tally &done() const { return done_; }

  private:
    const settings &s_;
    std::uint64_t thread_;
    sea_team team_;
    int me_, n_;
    std::uint64_t each_, left_ = 0, told_ = 0;
    tally done_;
    dice dice_;
    std::vector<std::uint64_t> sent_;
    std::vector<stream> streams_;
    std::vector<std::unique_ptr<std::uint64_t[]>> buffers_; // of `most` bytes
    struct flight {
        sea_op op;
        std::unique_ptr<std::vector<std::uint64_t>> data;
    };
    std::vector<flight> flying_;

    void tell_progress()
    {
        const std::uint64_t all = each_ * std::uint64_t(n_), tenth = (all - left_) * 10 / all;
        if (s_.count < worth_telling || me_ != 0 || thread_ != 0 || tenth == told_) return;
        told_ = tenth;
        std::printf("%" PRIu64 "0 %%\n", tenth);
        std::fflush(stdout);
    }

    void send_one()
    {
        auto to = std::size_t(dice_.below(unsigned(n_)));
        while (sent_[to] == each_) to = (to + 1) % std::size_t(n_);
        const message m = message_of(s_, thread_, me_, int(to), sent_[to]++);
        flight f{SEA_OP_NONE, std::make_unique<std::vector<std::uint64_t>>()};
        write_content(m, *f.data);
        sea_opts o = SEA_OPTS_INIT;
        o.op = &f.op;
        good(sea_message_send(team_, int(to), m.tag, f.data->data(), m.bytes, &o), "sea_message_send");
        if (f.op != SEA_OP_NONE) flying_.push_back(std::move(f));
    }

    void drop_sent()
    {
        for (std::size_t i = 0; i < flying_.size();) {
            int done = 0;
            good(sea_test(flying_[i].op, &done), "a send");
            if (!done) {
                ++i;
                continue;
            }
            std::swap(flying_[i], flying_.back());
            flying_.pop_back();
        }
    }

    void receive_some()
    {
        switch (dice_.below(6)) {
        case 0:
            return take_one();
        case 1:
            return look_for_one();
        default:
            return receive_together(1 + dice_.below(s_.window));
        }
    }

    wish some_wish(std::size_t i)
    {
        wish w{};
        w.source = dice_.below(3) ? int(dice_.below(unsigned(n_))) : SEA_ANY_SOURCE;
        w.tag = dice_.below(2) ? int(dice_.below(tags)) : SEA_ANY_TAG;
        w.buffer = buffers_[i].get();
        w.room = dice_.below(40) ? s_.most : std::size_t(dice_.below(100));
        w.op = SEA_OP_NONE;
        return w;
    }

    // An error at once is that of an operation that has ended at once.
    void post(wish &w)
    {
        sea_opts o = SEA_OPTS_INIT;
        o.op = &w.op;
        const int s = sea_message_receive(team_, w.source, w.tag, w.buffer, w.room, &w.info, &o);
        if (s != SEA_ERR_TRUNCATED) good(s, "sea_message_receive");
        done_.there_before += w.op == SEA_OP_NONE;
    }

    void receive_together(std::uint64_t how_many)
    {
        std::vector<wish> all;
        for (std::uint64_t i = 0; i < how_many; ++i) {
            all.push_back(some_wish(std::size_t(i)));
            if (dice_.below(200) == 0) all.back().tag = nobodys_tag;
        }
        for (wish &w : all) post(w);
        const double patience = dice_.below(4) ? 0.0005 : 0;
        for (wish &w : all) {
            int s = sea_wait(w.op, w.tag == nobodys_tag ? 0 : patience);
            if (s == SEA_ERR_TIMEOUT) {
                good(sea_message_cancel(w.op), "sea_message_cancel");
                s = sea_wait(w.op, SEA_FOREVER);
            }
            w.withdrawn = s == SEA_ERR_CANCELLED;
            done_.withdrawn += w.withdrawn;
            if (!w.withdrawn && s != SEA_ERR_TRUNCATED) good(s, "a receive");
        }
        for (const wish &w : all)
            if (!w.withdrawn) check(w);
    }

    void take_one()
    {
        wish w = some_wish(0);
        sea_message message = SEA_MESSAGE_NONE;
        sea_message_info seen{};
        int s = sea_message_take(team_, w.source, w.tag, &message, &seen, dice_.below(2) ? 0 : 0.001);
        if (s == SEA_ERR_TIMEOUT) return;
        good(s, "sea_message_take");
        s = sea_message_receive_taken(message, w.buffer, w.room, &w.info, nullptr);
        if (s != SEA_ERR_TRUNCATED) good(s, "sea_message_receive_taken");
        if (!same(seen, w.info)) give_up("a message taken is another one when it is received");
        ++done_.taken;
        check(w);
    }

    // Probes, then receives exactly what was seen, by a call that blocks.
    void look_for_one()
    {
        wish w = some_wish(0);
        sea_message_info seen{};
        const int p = sea_message_probe(team_, w.source, w.tag, &seen, dice_.below(2) ? 0 : 0.001);
        if (p == SEA_ERR_TIMEOUT) return;
        good(p, "sea_message_probe");
        const int s = sea_message_receive(team_, seen.source, seen.tag, w.buffer, w.room, &w.info, nullptr);
        if (s != SEA_ERR_TRUNCATED) good(s, "sea_message_receive");
        if (!same(seen, w.info)) give_up("a message seen is another one when it is received");
        ++done_.looked_at;
        check(w);
    }

    static bool same(const sea_message_info &a, const sea_message_info &b)
    {
        return a.source == b.source && a.tag == b.tag && a.bytes == b.bytes;
    }

    void check(const wish &w)
    {
        const sea_message_info &info = w.info;
        if (info.source < 0 || info.source >= n_ || info.tag < 0 || info.tag >= tags) give_up("strange source or tag");
        if ((w.source != SEA_ANY_SOURCE && w.source != info.source) || (w.tag != SEA_ANY_TAG && w.tag != info.tag))
            give_up("a receive got what it does not want");
        stream &from = streams_[std::size_t(info.source)];
        const std::uint64_t index = from.first(w.tag);
        if (index == each_) give_up("a message was received twice, or was never sent");
        const message m = from.at(index);
        if (m.tag != info.tag || m.bytes != info.bytes) give_up("not the first message that the receive wants");
        if (!is_content(m, w.buffer, std::min(m.bytes, w.room))) give_up("the bytes of a message are wrong");
        from.receive(m.tag);
        --left_;
        const bool any_source = w.source == SEA_ANY_SOURCE, any_tag = w.tag == SEA_ANY_TAG;
        ++done_.received;
        done_.bytes += m.bytes;
        done_.open_source += any_source && !any_tag;
        done_.open_tag += any_tag && !any_source;
        done_.open_both += any_source && any_tag;
        done_.truncated += m.bytes > w.room;
    }
};

// Thread 0 uses the team of all, each other one has a team of its own.
tally run_threads(const settings &s)
{
    std::vector<int> everybody;
    for (int rank = 0; rank < sea_size(); ++rank) everybody.push_back(rank);
    std::vector<sea_team> teams(s.threads, SEA_TEAM_WORLD);
    for (std::uint64_t i = 1; i < s.threads; ++i)
        good(sea_team_create(everybody.data(), sea_size(), int(i), &teams[i]), "sea_team_create");
    std::vector<std::unique_ptr<exchange>> all;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < s.threads; ++i) all.push_back(std::make_unique<exchange>(s, i, teams[i]));
    for (std::uint64_t i = 1; i < s.threads; ++i) threads.emplace_back([&, i] { all[i]->run(); });
    all[0]->run();
    for (std::thread &t : threads) t.join();
    tally sum;
    for (auto &e : all) sum += e->done();
    for (std::uint64_t i = 1; i < s.threads; ++i) good(sea_team_free(teams[i]), "sea_team_free");
    return sum;
}

// The sum over all ranks, known to rank 0.
tally of_all(tally mine)
{
    std::vector<tally> all(static_cast<std::size_t>(sea_size()));
    good(sea_gather(SEA_TEAM_WORLD, 0, &mine, all.data(), sizeof mine), "sea_gather");
    tally sum;
    for (const tally &t : all) sum += t;
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    settings s;
    read_options(argc, argv,
                 {{"--count", &s.count},
                  {"--most", &s.most},
                  {"--rare", &s.rare, 1},
                  {"--medium", &s.medium},
                  {"--seed", &s.seed},
                  {"--window", &s.window, 1},
                  {"--threads", &s.threads, 1}});
    if (sea_init(nullptr) != SEA_OK) return 1;
    const double start = sea_time();
    const tally t = of_all(run_threads(s));
    if (sea_rank() == 0) {
        std::printf("%" PRIu64 " messages, %.1f GB, received in order in %.1f s\n", t.received, double(t.bytes) * 1e-9,
                    sea_time() - start);
        std::printf("by receives with open source %" PRIu64 ", open tag %" PRIu64 ", both %" PRIu64
                    "; after a look %" PRIu64 ", taken %" PRIu64 "\n",
                    t.open_source, t.open_tag, t.open_both, t.looked_at, t.taken);
        std::printf("posted when the message was there %" PRIu64 "; too short %" PRIu64 "; receives withdrawn %" PRIu64
                    "\n",
                    t.there_before, t.truncated, t.withdrawn);
    }
    return sea_finalize() == SEA_OK ? 0 : 1;
}
