// SPDX-License-Identifier: Apache-2.0
// Structures of all ranks: each finds its own elements as it left them.
#include "structures.hpp"

#include <algorithm>
#include <map>

namespace soak {

sea_addr broadcast(sea_addr mine, int root)
{
    expect_ok(sea_broadcast(SEA_TEAM_WORLD, root, &mine, sizeof mine), "broadcast");
    return mine;
}

namespace {

std::uint64_t sum(std::uint64_t mine)
{
    std::uint64_t all = 0;
    expect_ok(sea_allreduce(SEA_TEAM_WORLD, &mine, &all, 1, SEA_UINT64, SEA_SUM), "allreduce");
    return all;
}

// A word that tells whose it is.
std::uint64_t word_of(std::uint64_t number) { return std::uint64_t(sea_rank()) << 40 | number; }

// Records that grow at the end only; each rank writes to its own.
class vector_subject : public subject {
  public:
    explicit vector_subject(int owner)
    {
        if (sea_rank() == owner) expect_ok(sea_vector_create(owner, 0, &vector_), "create");
        vector_.at = broadcast(vector_.at, owner);
    }
    bool step(random_source &random) override
    {
        const std::uint64_t word = word_of(random.below(1u << 30));
        if (mine_.size() < 2000 && random.below(3) == 0) {
            std::size_t position = 1;
            if (!expect_ok(sea_vector_push_back(vector_, &word, 8, &position), "push_back")) return false;
            const bool fresh = mine_.emplace(position, word).second;
            return expect(position % 8 == 0 && fresh, "a position given twice");
        }
        if (mine_.empty()) return true;
        auto some = mine_.lower_bound(random.below(mine_.rbegin()->first + 1));
        if (random.below(2)) {
            some->second = word;
            return expect_ok(sea_vector_write(vector_, some->first, &word, 8), "write");
        }
        std::uint64_t found = 0;
        return expect_ok(sea_vector_read(vector_, some->first, &found, 8), "read") &&
               expect(found == some->second, "another word in a shared vector");
    }
    bool look() override
    {
        std::size_t size = 0;
        if (!expect_ok(sea_vector_size(vector_, &size), "size")) return false;
        std::vector<std::uint64_t> all(size / 8);
        if (!expect_ok(sea_vector_read(vector_, 0, all.data(), all.size() * 8), "read all")) return false;
        for (const auto &[position, word] : mine_)
            if (!expect(position / 8 < all.size() && all[position / 8] == word, "a word is lost")) return false;
        return true;
    }
    bool end() override
    {
        std::size_t size = 0;
        if (!look() || !expect_ok(sea_vector_size(vector_, &size), "size")) return false;
        if (!expect(sum(mine_.size()) * 8 == size, "another size of a shared vector")) return false;
        sea_barrier(SEA_TEAM_WORLD);
        return sea_rank() != sea_addr_rank(vector_.at) || expect_ok(sea_vector_destroy(vector_), "destroy");
    }

  private:
    sea_vector vector_{};
    std::map<std::size_t, std::uint64_t> mine_;
};

// Own elements keep their order among each other.
class shared_list_subject : public subject {
  public:
    explicit shared_list_subject(int owner)
    {
        if (sea_rank() == owner) expect_ok(sea_list_create(owner, &list_), "create");
        list_.at = broadcast(list_.at, owner);
    }
    bool step(random_source &random) override
    {
        const std::uint64_t word = word_of(next_++);
        const auto what = mine_.size() < most_of_one_rank ? random.below(5) : 3;
        element e{word, {}};
        const auto where = std::next(mine_.begin(), std::ptrdiff_t(random.below(mine_.size() + 1)));
        const int rank = random.below(4) ? sea_addr_rank(list_.at) : random.rank();
        if (what == 0) {
            if (!expect_ok(sea_list_push_front(list_, rank, &word, 8, &e.it), "push_front")) return false;
            mine_.push_front(e);
        } else if (what == 1 || (what == 2 && where == mine_.end())) {
            if (!expect_ok(sea_list_push_back(list_, rank, &word, 8, &e.it), "push_back")) return false;
            mine_.push_back(e);
        } else if (what == 2) {
            if (!expect_ok(sea_list_insert(where->it, rank, &word, 8, &e.it), "insert")) return false;
            mine_.insert(where, e);
        } else if (where != mine_.end()) {
            std::uint64_t found = 0;
            if (!expect_ok(sea_list_read(where->it, &found, 8, nullptr), "read") ||
                !expect(found == where->word, "another word in a shared list"))
                return false;
            if (!expect_ok(sea_list_erase(where->it, nullptr), "erase")) return false;
            mine_.erase(where);
        }
        return true;
    }
    bool look() override
    {
        std::vector<sea_list_entry> all(most_of_one_rank * std::size_t(sea_size()));
        std::size_t n = 0;
        sea_list_it first{};
        int status;
        do { // another rank may erase the first one before it is fetched from
            if (!expect_ok(sea_list_begin(list_, &first), "begin")) return false;
            status = sea_list_fetch(first, all.data(), all.size(), &n, nullptr);
        } while (status == SEA_ERR_HANDLE);
        if (!expect_ok(status, "fetch")) return false;
        auto m = mine_.begin();
        for (std::size_t i = 0; i < n && m != mine_.end(); ++i) m = all[i].it.stamp == m->it.stamp ? std::next(m) : m;
        return expect(m == mine_.end(), "own elements are not in their order");
    }
    bool end() override
    {
        std::size_t size = 0;
        if (!look() || !expect_ok(sea_list_size(list_, &size), "size")) return false;
        if (!expect(sum(mine_.size()) == size, "another size of a shared list")) return false;
        sea_barrier(SEA_TEAM_WORLD);
        return sea_rank() != sea_addr_rank(list_.at) || expect_ok(sea_list_destroy(list_), "destroy");
    }

  private:
    static constexpr std::size_t most_of_one_rank = 60;
    struct element {
        std::uint64_t word;
        sea_list_it it;
    };
    sea_list list_{};
    std::list<element> mine_;
    std::uint64_t next_ = 0;
};

// Everything that goes in comes out once.
class queue_subject : public subject {
  public:
    queue_subject(int owner, std::size_t limit)
    {
        if (sea_rank() == owner) expect_ok(sea_queue_create(owner, limit, &queue_), "create");
        queue_.at = broadcast(queue_.at, owner);
    }
    bool step(random_source &random) override
    {
        std::uint64_t words[6] = {word_of(next_)};
        if (random.below(2)) {
            const int status = sea_queue_push(queue_, words, 8 + words[0] % 6 * 8, 0);
            if (status == SEA_ERR_TIMEOUT) return true;
            ++next_;
            put_ += mixed(words[0]);
            return expect_ok(status, "push");
        }
        std::size_t bytes = 0;
        const int status = sea_queue_pop(queue_, words, sizeof words, &bytes, 0);
        if (status == SEA_ERR_TIMEOUT) return true;
        return expect_ok(status, "pop") && take(words[0], bytes);
    }
    bool end() override
    {
        sea_barrier(SEA_TEAM_WORLD);
        std::uint64_t words[6];
        std::size_t bytes = 0;
        while (sea_queue_pop(queue_, words, sizeof words, &bytes, 0) == SEA_OK)
            if (!take(words[0], bytes)) return false;
        if (!expect(sum(next_) == sum(popped_) && sum(put_) == sum(taken_), "elements lost or doubled")) return false;
        sea_barrier(SEA_TEAM_WORLD);
        return sea_rank() != sea_addr_rank(queue_.at) || expect_ok(sea_queue_destroy(queue_), "destroy");
    }

  private:
    sea_queue queue_{};
    std::uint64_t next_ = 0, put_ = 0, popped_ = 0, taken_ = 0;
    std::map<std::uint64_t, std::uint64_t> last_; // of each rank: elements of one producer come in order

    static std::uint64_t mixed(std::uint64_t word) { return (word + 1) * 0x9e3779b97f4a7c15u ^ word >> 7; }
    bool take(std::uint64_t word, std::size_t bytes)
    {
        ++popped_;
        taken_ += mixed(word);
        auto [last, first_time] = last_.emplace(word >> 40, word);
        const bool in_order = first_time || word > last->second;
        last->second = word;
        return expect(bytes == 8 + word % 6 * 8 && in_order, "an element of another size or out of order");
    }
};

} // namespace

std::unique_ptr<subject> shared_vector(int owner) { return std::make_unique<vector_subject>(owner); }
std::unique_ptr<subject> shared_list(int owner) { return std::make_unique<shared_list_subject>(owner); }
std::unique_ptr<subject> shared_queue(int owner, std::size_t limit)
{
    return std::make_unique<queue_subject>(owner, limit);
}

everything::everything(std::uint64_t seed)
{
    random_source random(seed); // the same at all ranks
    for (int i = 0; i < 2; ++i) {
        all_.push_back(shared_vector(random.rank()));
        all_.push_back(shared_list(random.rank()));
        all_.push_back(shared_queue(random.rank(), i ? 1000 : 0));
    }
    for (int i = 0; i < 2; ++i) {
        all_.push_back(own_vector(random.rank()));
        all_.push_back(own_deque((random.rank() + sea_rank()) % sea_size()));
        all_.push_back(own_list((random.rank() + sea_rank()) % sea_size()));
    }
    all_.push_back(own_blocks());
}

bool everything::step(random_source &random) { return all_[random.below(all_.size())]->step(random); }

bool everything::look()
{
    return std::all_of(all_.begin(), all_.end(), [](auto &one) { return one->look(); });
}

bool everything::end()
{
    return std::all_of(all_.begin(), all_.end(), [](auto &one) { return one->end(); });
}

} // namespace soak
