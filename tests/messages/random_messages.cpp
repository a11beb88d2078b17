// SPDX-License-Identifier: Apache-2.0
// Random messages against a model: every rank sends every rank --count / ranks^2 messages, of random sizes and tags,
// and receives them with random receives: source and tag open or not, posted before or after, withdrawn, looked at,
// taken, now and then with too little room. What a pair sends follows from the seed, so the receiver knows it and
// checks each message: the right one, whole, and in order.
//
// The order: receives that end together are judged in the order of posting. Such a receive must have got, of all
// messages of its source that are not received yet and that it wants, the first.
//
//   random_messages [--count N] [--most BYTES] [--seed N] [--window N]
#include <onesea/message.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int tags = 8;

struct settings {
    std::uint64_t count = 20000, most = 16u << 20, seed = 1, window = 24;
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

[[noreturn]] void give_up(const std::string &why)
{
    std::string text = "rank " + std::to_string(sea_rank()) + ": " + why + "; " + sea_last_error();
    sea_abort(1, text.c_str());
}

void good(int status, const char *what)
{
    if (status != SEA_OK) give_up(std::string(what) + " gave " + sea_status_name(status));
}

// The index-th message of a pair.
struct message {
    std::uint64_t seed;
    int tag;
    std::size_t bytes;
};

message message_of(const settings &s, int from, int to, std::uint64_t index)
{
    const std::uint64_t pair = mix(s.seed * 1000003 + unsigned(from) * 1009u + unsigned(to));
    const std::uint64_t word = mix(pair + index);
    const std::uint64_t kind = word % 1000, size = mix(word);
    std::uint64_t most = kind < 700 ? 64 : kind < 900 ? 4096 : kind < 985 ? 40000 : kind < 999 ? 300000 : s.most;
    return {word, int((word >> 20) % tags), std::size_t(size % (std::min(most, s.most) + 1))};
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
    stream(const settings &s, int from, int to, std::uint64_t count) : s_(s), from_(from), to_(to), count_(count) {}

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
    message at(std::uint64_t index) const { return message_of(s_, from_, to_, index); }
    void receive(int tag) { open_[tag].pop_front(); }

  private:
    const settings &s_;
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
    std::vector<std::uint64_t> *buffer;
    sea_message_info info;
    sea_op op;
    bool withdrawn;
};

class exchange {
  public:
    explicit exchange(const settings &s)
        : s_(s), me_(sea_rank()), n_(sea_size()),
          each_(s.count / std::uint64_t(n_) / std::uint64_t(n_) + 1), dice_{mix(s.seed) + unsigned(me_)},
          sent_(std::size_t(n_), 0), buffers_(s.window)
    {
        for (int from = 0; from < n_; ++from) streams_.emplace_back(s_, from, me_, each_);
        left_ = each_ * std::uint64_t(n_);
    }

    void run()
    {
        std::uint64_t to_send = left_;
        while (left_ > 0 || to_send > 0 || !flying_.empty()) {
            for (std::uint64_t i = dice_.below(s_.window); i > 0 && to_send > 0 && flying_.size() < s_.window;
                 --i, --to_send)
                send_one();
            if (left_ > 0) receive_some();
            drop_sent();
        }
        int found = 1;
        good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
        good(sea_message_look(SEA_TEAM_WORLD, SEA_ANY_SOURCE, SEA_ANY_TAG, &found, nullptr), "sea_message_look");
        if (found) give_up("there is a message more than was sent");
    }
    std::uint64_t received() const { return each_ * std::uint64_t(n_); }
    std::uint64_t withdrawn() const { return withdrawn_; }

  private:
    const settings &s_;
    int me_, n_;
    std::uint64_t each_, left_ = 0, withdrawn_ = 0;
    dice dice_;
    std::vector<std::uint64_t> sent_;
    std::vector<stream> streams_;
    std::vector<std::vector<std::uint64_t>> buffers_;
    struct flight {
        sea_op op;
        std::unique_ptr<std::vector<std::uint64_t>> data;
    };
    std::vector<flight> flying_;

    void send_one()
    {
        auto to = std::size_t(dice_.below(unsigned(n_)));
        while (sent_[to] == each_) to = (to + 1) % std::size_t(n_);
        const message m = message_of(s_, me_, int(to), sent_[to]++);
        flight f{SEA_OP_NONE, std::make_unique<std::vector<std::uint64_t>>()};
        write_content(m, *f.data);
        sea_opts o = SEA_OPTS_INIT;
        o.op = &f.op;
        good(sea_message_send(SEA_TEAM_WORLD, int(to), m.tag, f.data->data(), m.bytes, &o), "sea_message_send");
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
        switch (dice_.below(4)) {
        case 0:
            return take_one();
        default:
            return receive_together(1 + dice_.below(s_.window));
        }
    }

    wish some_wish(std::size_t i)
    {
        wish w{};
        w.source = dice_.below(3) ? int(dice_.below(unsigned(n_))) : SEA_ANY_SOURCE;
        w.tag = dice_.below(2) ? int(dice_.below(tags)) : SEA_ANY_TAG;
        w.buffer = &buffers_[i];
        w.room = dice_.below(40) ? s_.most : std::size_t(dice_.below(100));
        w.buffer->resize(w.room / 8 + 1);
        w.op = SEA_OP_NONE;
        return w;
    }

    void receive_together(std::uint64_t how_many)
    {
        std::vector<wish> all;
        for (std::uint64_t i = 0; i < how_many; ++i) all.push_back(some_wish(std::size_t(i)));
        for (wish &w : all) {
            sea_opts o = SEA_OPTS_INIT;
            o.op = &w.op;
            // An error at once is that of an operation that has ended at once.
            const int s = sea_message_receive(SEA_TEAM_WORLD, w.source, w.tag, w.buffer->data(), w.room, &w.info, &o);
            if (s == SEA_ERR_TRUNCATED)
                w.withdrawn = false;
            else
                good(s, "sea_message_receive");
        }
        const double patience = dice_.below(4) ? 0.002 : 0;
        for (wish &w : all) {
            int s = sea_wait(w.op, patience);
            if (s == SEA_ERR_TIMEOUT) {
                good(sea_message_cancel(w.op), "sea_message_cancel");
                s = sea_wait(w.op, SEA_FOREVER);
            }
            w.withdrawn = s == SEA_ERR_CANCELLED;
            withdrawn_ += w.withdrawn;
            if (!w.withdrawn && s != SEA_ERR_TRUNCATED) good(s, "a receive");
        }
        for (const wish &w : all)
            if (!w.withdrawn) check(w.source, w.tag, w.room, *w.buffer, w.info);
    }

    void take_one()
    {
        wish w = some_wish(0);
        sea_message message = SEA_MESSAGE_NONE;
        sea_message_info seen{};
        int s = sea_message_take(SEA_TEAM_WORLD, w.source, w.tag, &message, &seen, dice_.below(2) ? 0 : 0.001);
        if (s == SEA_ERR_TIMEOUT) return;
        good(s, "sea_message_take");
        s = sea_message_receive_taken(message, w.buffer->data(), w.room, &w.info, nullptr);
        if (s != SEA_ERR_TRUNCATED) good(s, "sea_message_receive_taken");
        if (seen.source != w.info.source || seen.tag != w.info.tag || seen.bytes != w.info.bytes)
            give_up("a message taken is another one when it is received");
        check(w.source, w.tag, w.room, *w.buffer, w.info);
    }

    void check(int source, int tag, std::size_t room, const std::vector<std::uint64_t> &got,
               const sea_message_info &info)
    {
        if (info.source < 0 || info.source >= n_ || info.tag < 0 || info.tag >= tags) give_up("strange source or tag");
        if ((source != SEA_ANY_SOURCE && source != info.source) || (tag != SEA_ANY_TAG && tag != info.tag))
            give_up("a receive got what it does not want");
        stream &from = streams_[std::size_t(info.source)];
        const std::uint64_t index = from.first(tag);
        if (index == each_) give_up("a message was received twice, or was never sent");
        const message m = from.at(index);
        if (m.tag != info.tag || m.bytes != info.bytes) give_up("not the first message that the receive wants");
        if (!is_content(m, got.data(), std::min(m.bytes, room))) give_up("the bytes of a message are wrong");
        from.receive(m.tag);
        --left_;
    }
};

std::uint64_t number(const char *text)
{
    char *end;
    const std::uint64_t n = std::strtoull(text, &end, 10);
    if (*end || end == text) {
        std::fprintf(stderr, "random_messages: '%s' is no number\n", text);
        std::exit(2);
    }
    return n;
}

settings read(int argc, char **argv)
{
    settings s;
    const struct {
        const char *name;
        std::uint64_t settings::*where;
    } options[] = {{"--count", &settings::count},
                   {"--most", &settings::most},
                   {"--seed", &settings::seed},
                   {"--window", &settings::window}};
    for (int i = 1; i < argc; i += 2) {
        auto at = std::find_if(std::begin(options), std::end(options),
                               [&](auto &o) { return std::strcmp(o.name, argv[i]) == 0; });
        if (at == std::end(options) || i + 1 == argc) {
            std::fprintf(stderr, "usage: random_messages [--count N] [--most BYTES] [--seed N] [--window N]\n");
            std::exit(2);
        }
        s.*at->where = number(argv[i + 1]);
    }
    s.window = std::max<std::uint64_t>(s.window, 1);
    return s;
}

} // namespace

int main(int argc, char **argv)
{
    const settings s = read(argc, argv);
    if (sea_init(nullptr) != SEA_OK) return 1;
    const double start = sea_time();
    exchange e(s);
    e.run();
    if (sea_rank() == 0)
        std::printf("rank 0: %" PRIu64 " messages received in order, %" PRIu64 " receives withdrawn, %.1f s\n",
                    e.received(), e.withdrawn(), sea_time() - start);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
