// SPDX-License-Identifier: Apache-2.0
// Structures that one rank has to itself: they do what standard ones do.
#include "structures.hpp"

#include <cstdio>
#include <iterator>

namespace soak {

bool expect(bool good, const char *what)
{
    if (!good) std::fprintf(stderr, "rank %d: %s; last error: %s\n", sea_rank(), what, sea_last_error());
    return good;
}

bool expect_ok(int status, const char *what) { return expect(status == SEA_OK, what); }

std::string random_source::text(std::size_t most)
{
    std::string s(below(most + 1), char('a' + below(26)));
    return s;
}

namespace {

constexpr std::size_t most_bytes = 20'000; // then it shrinks again

// The calls that differ in their names only.
struct vector_calls {
    using handle = sea_vector;
    static constexpr auto create = sea_vector_create;
    static constexpr auto destroy = sea_vector_destroy;
    static constexpr auto insert = sea_vector_insert;
    static constexpr auto erase = sea_vector_erase;
    static constexpr auto read = sea_vector_read;
    static constexpr auto write = sea_vector_write;
    static constexpr auto assign = sea_vector_assign;
    static constexpr auto pop_back = sea_vector_pop_back;
    static constexpr auto size = sea_vector_size;
    static constexpr auto at = sea_vector_at;
    static int push_back(handle v, const void *d, std::size_t n) { return sea_vector_push_back(v, d, n, nullptr); }
};

struct deque_calls {
    using handle = sea_deque;
    static constexpr auto create = sea_deque_create;
    static constexpr auto destroy = sea_deque_destroy;
    static constexpr auto insert = sea_deque_insert;
    static constexpr auto erase = sea_deque_erase;
    static constexpr auto read = sea_deque_read;
    static constexpr auto write = sea_deque_write;
    static constexpr auto assign = sea_deque_assign;
    static constexpr auto pop_back = sea_deque_pop_back;
    static constexpr auto size = sea_deque_size;
    static constexpr auto at = sea_deque_at;
    static constexpr auto push_back = sea_deque_push_back;
};

template <class Calls>
class bytes_subject : public subject {
  public:
    explicit bytes_subject(int owner) { expect_ok(Calls::create(owner, 0, &handle_), "create"); }

    bool step(random_source &random) override
    {
        const std::string s = random.text(random.below(50) ? 40 : 3000);
        const std::size_t position = random.below(model_.size() + 1), n = random.below(model_.size() - position + 1);
        switch (model_.size() > most_bytes ? 8 : random.below(9)) {
        case 0:
        case 1:
            model_ += s;
            return expect_ok(Calls::push_back(handle_, s.data(), s.size()), "push_back");
        case 2:
            model_.insert(position, s);
            return expect_ok(Calls::insert(handle_, position, s.data(), s.size()), "insert");
        case 3:
            model_.insert(0, s);
            return expect_ok(Calls::insert(handle_, 0, s.data(), s.size()), "insert at the front");
        case 4:
            return check(position, n);
        case 5:
            return take_back(n);
        case 6:
            return overwrite(position, s.substr(0, n));
        case 7:
            return by_address(position);
        case 8:
            if (random.below(8) == 0) {
                model_ = s;
                return expect_ok(Calls::assign(handle_, s.data(), s.size()), "assign");
            }
            [[fallthrough]];
        default:
            model_.erase(position, n);
            return expect_ok(Calls::erase(handle_, position, n), "erase");
        }
    }

    bool look() override
    {
        std::size_t size = 0;
        return expect_ok(Calls::size(handle_, &size), "size") && expect(size == model_.size(), "another size") &&
               check(0, size);
    }

    bool end() override { return look() && expect_ok(Calls::destroy(handle_), "destroy"); }

  private:
    typename Calls::handle handle_{};
    std::string model_;

    bool check(std::size_t position, std::size_t n)
    {
        std::string out(n, ' ');
        return expect_ok(Calls::read(handle_, position, out.data(), n), "read") &&
               expect(out == model_.substr(position, n), "read something else");
    }
    bool take_back(std::size_t n)
    {
        std::string out(n, ' ');
        const bool good = expect_ok(Calls::pop_back(handle_, out.data(), n), "pop_back") &&
                          expect(out == model_.substr(model_.size() - n), "popped something else");
        model_.resize(model_.size() - n);
        return good;
    }
    bool overwrite(std::size_t position, const std::string &s)
    {
        model_.replace(position, s.size(), s);
        return expect_ok(Calls::write(handle_, position, s.data(), s.size()), "write");
    }
    bool by_address(std::size_t position)
    {
        if (position == model_.size()) return true;
        sea_addr at = SEA_NULL;
        char byte = 0;
        return expect_ok(Calls::at(handle_, position, &at), "at") && expect_ok(sea_get(&byte, at, 1, nullptr), "get") &&
               expect(byte == model_[position], "another byte at its address");
    }
};

class own_list_subject : public subject {
  public:
    explicit own_list_subject(int owner) { expect_ok(sea_list_create(owner, &list_), "create a list"); }

    bool step(random_source &random) override
    {
        const auto where = std::next(model_.begin(), std::ptrdiff_t(random.below(model_.size() + 1)));
        const unsigned what = unsigned(model_.size() > 100 ? 3 : random.below(8));
        if (what < 3) return insert(random, where);
        if (what == 6) {
            model_.reverse();
            return expect_ok(sea_list_reverse(list_), "reverse");
        }
        if (where == model_.end()) return true;
        if (what == 5) return check(*where);
        if (what == 7) {
            const sea_list_it front = model_.front().it;
            if (where != model_.begin()) model_.splice(model_.begin(), model_, where, model_.end());
            return expect_ok(sea_list_splice(front, where->it, sea_list_end(list_)), "splice");
        }
        const sea_list_it gone = where->it;
        model_.erase(where);
        return expect_ok(sea_list_erase(gone, nullptr), "erase of a list") &&
               expect(sea_list_erase(gone, nullptr) == SEA_ERR_HANDLE, "a stale iterator was taken");
    }

    bool look() override
    {
        std::vector<sea_list_entry> entries(model_.size() + 1);
        std::size_t n = 0;
        sea_list_it first{};
        if (!expect_ok(sea_list_begin(list_, &first), "begin")) return false;
        if (!expect_ok(sea_list_fetch(first, entries.data(), entries.size(), &n, nullptr), "fetch")) return false;
        if (!expect(n == model_.size(), "another number of elements")) return false;
        auto m = model_.begin();
        for (std::size_t i = 0; i < n; ++i, ++m)
            if (!expect(entries[i].it.entry == m->it.entry, "another order") || !check(*m)) return false;
        return true;
    }

    bool end() override { return look() && expect_ok(sea_list_destroy(list_), "destroy a list"); }

  private:
    struct element {
        std::string text;
        sea_list_it it;
    };
    sea_list list_{};
    std::list<element> model_;

    bool insert(random_source &random, std::list<element>::iterator where)
    {
        const std::string s = random.text(random.below(30) ? 60 : 3000);
        const int rank = random.below(4) ? sea_addr_rank(list_.at) : random.rank();
        const sea_list_it before = where == model_.end() ? sea_list_end(list_) : where->it;
        sea_list_it it{};
        if (!expect_ok(sea_list_insert(before, rank, s.data(), s.size(), &it), "insert into a list")) return false;
        model_.insert(where, {s, it});
        return true;
    }
    bool check(const element &e)
    {
        std::string out(e.text.size(), ' ');
        std::size_t bytes = 0;
        return expect_ok(sea_list_read(e.it, out.data(), out.size(), &bytes), "read of a list") &&
               expect(bytes == e.text.size() && out == e.text, "another element");
    }
};

class blocks_subject : public subject {
  public:
    bool step(random_source &random) override
    {
        if (blocks_.size() < 20 && random.below(2)) {
            block b{SEA_NULL, random.below(2000) + 8, random.below(1u << 30)};
            if (!expect_ok(sea_heap_alloc(random.rank(), b.bytes, &b.at), "alloc")) return false;
            blocks_.push_back(b);
            return expect_ok(sea_put(b.at, &b.mark, 8, nullptr), "put") &&
                   expect_ok(sea_fence(sea_addr_rank(b.at)), "fence");
        }
        if (blocks_.empty()) return true;
        const std::size_t i = random.below(blocks_.size());
        const block b = blocks_[i];
        blocks_.erase(blocks_.begin() + std::ptrdiff_t(i));
        std::uint64_t mark = 0;
        return expect_ok(sea_get(&mark, b.at, 8, nullptr), "get") &&
               expect(mark == b.mark, "another mark in a block") && expect_ok(sea_heap_free(b.at), "free");
    }
    bool end() override
    {
        for (const block &b : blocks_)
            if (!expect_ok(sea_heap_free(b.at), "free")) return false;
        return true;
    }

  private:
    struct block {
        sea_addr at;
        std::uint64_t bytes, mark;
    };
    std::vector<block> blocks_;
};

} // namespace

std::unique_ptr<subject> own_vector(int owner) { return std::make_unique<bytes_subject<vector_calls>>(owner); }
std::unique_ptr<subject> own_deque(int owner) { return std::make_unique<bytes_subject<deque_calls>>(owner); }
std::unique_ptr<subject> own_list(int owner) { return std::make_unique<own_list_subject>(owner); }
std::unique_ptr<subject> own_blocks() { return std::make_unique<blocks_subject>(); }

} // namespace soak
