// SPDX-License-Identifier: Apache-2.0
// A job in one process, for tests: every rank is a thread with a mailbox of its own; messages lie in one heap and are
// delivered in random order, long ones in two steps (header, then data), and read from the sender's memory only then,
// so that an algorithm that changes a buffer too early is found out.
#pragma once

#include "coll/algorithms.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace onesea::coll::fake {

struct died {}; // unwinds the thread of a rank that was killed

class job;

class post_office final : public courier {
  public:
    post_office(job &j, int rank) : job_(j), rank_(rank) {}
    int send(int rank, const envelope &e, const void *data, std::size_t bytes, sea_counter *sent) override;
    int wait(bool (*ready)(void *), void *argument, nanoseconds deadline) override;
    void nudge() override {}
    bool alive(int rank) override;
    bool nothing_comes(int rank) override { return !alive(rank); }
    int node_of(int rank) override;
    std::uint32_t ended() override;
    int ended_rank(std::uint32_t i) override;

  private:
    job &job_;
    int rank_;
};

class job {
  public:
    job(int ranks, int nodes, unsigned seed)
        : random_(seed), per_node_((ranks + nodes - 1) / nodes), alive_(ranks, true), waited_after_(ranks, runs)
    {
        for (int r = 0; r < ranks; ++r) {
            offices_.push_back(std::make_unique<post_office>(*this, r));
            mailboxes_.push_back(std::make_unique<mailbox>());
        }
    }

    // Runs one thread per rank. A rank that is killed simply stops.
    void run(const std::function<void(int rank, mailbox &, courier &)> &body)
    {
        std::vector<std::thread> threads;
        for (int r = 0; r < int(alive_.size()); ++r)
            threads.emplace_back([&, r] {
                try {
                    body(r, *mailboxes_[std::size_t(r)], *offices_[std::size_t(r)]);
                } catch (const died &) {
                }
            });
        for (auto &t : threads) t.join();
    }

    // The rank dies at the `after`th message that anybody sends from now on.
    void kill_after(int rank, int after)
    {
        victim_ = rank;
        countdown_ = after;
    }

    // Nothing is under way, and each of the others that live has looked since the last change and waits on.
    bool all_wait_but(int rank)
    {
        std::lock_guard lock(mutex_);
        if (!heap_.empty()) return false;
        for (int r = 0; r < int(alive_.size()); ++r)
            if (r != rank && alive_[std::size_t(r)] && waited_after_[std::size_t(r)] != changes_) return false;
        return true;
    }

    int sent() const { return sent_; } // messages, once run() has returned

  private:
    friend class post_office;
    struct parcel {
        int from, to;
        envelope e;
        std::vector<std::byte> copied; // short
        const void *data;              // long: the sender's memory
        std::size_t bytes;
        sea_counter *sent;
        bool placed = false; // the header has been delivered
        placement where;
    };
    std::mutex mutex_;
    std::condition_variable changed_;
    std::mt19937 random_;
    int per_node_;
    std::vector<bool> alive_;
    static constexpr std::int64_t runs = -1;
    std::int64_t changes_ = 0;               // messages sent, and steps of delivery
    std::vector<std::int64_t> waited_after_; // by rank: of how many changes a wait knows that was in vain; or runs
    std::vector<int> ended_;
    int victim_ = -1, countdown_ = 0, sent_ = 0;
    std::vector<std::unique_ptr<post_office>> offices_;
    std::vector<std::unique_ptr<mailbox>> mailboxes_;
    std::vector<parcel> heap_;

    void deliver_one()
    {
        ++changes_;
        std::swap(heap_[random_() % heap_.size()], heap_.back());
        parcel p = std::move(heap_.back());
        heap_.pop_back();
        mailbox &box = *mailboxes_[std::size_t(p.to)];
        const bool is_long = p.sent != nullptr;
        // What a dead rank had not sent whole is lost; what was to reach a dead one goes nowhere.
        if (!alive_[std::size_t(p.to)] || (is_long && !alive_[std::size_t(p.from)])) return settle(p);
        if (!p.placed) {
            static const std::byte nothing{};
            const void *data = is_long ? nullptr : p.copied.empty() ? &nothing : p.copied.data();
            p.where = box.take_in(p.from, p.e, data, p.bytes);
            if (p.where.given_up) box.given_up(p.e);
            p.placed = true;
            sent_ += int(p.where.tell.size());
            for (int rank : p.where.tell) heap_.push_back({p.to, rank, p.e, {}, nullptr, 0, nullptr, false, {}});
            if (!p.where.to) return settle(p);
            heap_.push_back(std::move(p));
            return;
        }
        std::memcpy(p.where.to, p.data, p.bytes);
        settle(p);
        if (p.where.matched)
            box.arrived(p.where.matched);
        else
            box.arrived(p.where.stored);
    }

    void settle(parcel &p)
    {
        if (p.sent) std::atomic_ref(p.sent->value).fetch_add(1);
    }

    void maybe_die()
    {
        if (victim_ < 0 || --countdown_ > 0 || !alive_[std::size_t(victim_)]) return;
        alive_[std::size_t(victim_)] = false;
        ended_.push_back(victim_);
    }
};

inline int post_office::send(int rank, const envelope &e, const void *data, std::size_t bytes, sea_counter *sent)
{
    std::lock_guard lock(job_.mutex_);
    job_.maybe_die();
    if (!job_.alive_[std::size_t(rank_)]) throw died();
    ++job_.sent_;
    ++job_.changes_;
    job::parcel p{rank_, rank, e, {}, data, bytes, sent, false, {}};
    if (!sent && bytes > 0) {
        auto *from = static_cast<const std::byte *>(data);
        p.copied.assign(from, from + bytes);
    }
    job_.heap_.push_back(std::move(p));
    job_.changed_.notify_all();
    return SEA_OK;
}

inline int post_office::wait(bool (*ready)(void *), void *argument, nanoseconds deadline)
{
    std::unique_lock lock(job_.mutex_);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60); // no test takes so long
    while (true) {
        if (!job_.alive_[std::size_t(rank_)]) throw died();
        const std::int64_t seen = job_.changes_;
        lock.unlock();
        const bool yes = ready(argument);
        lock.lock();
        const bool ends = yes || deadline == 0 || std::chrono::steady_clock::now() > give_up;
        job_.waited_after_[std::size_t(rank_)] = ends ? job::runs : seen;
        if (ends) return yes ? SEA_OK : SEA_ERR_TIMEOUT;
        if (job_.heap_.empty()) {
            job_.changed_.wait_for(lock, std::chrono::milliseconds(1));
        } else {
            job_.deliver_one();
            job_.changed_.notify_all();
        }
    }
}

inline bool post_office::alive(int rank)
{
    std::lock_guard lock(job_.mutex_);
    return job_.alive_[std::size_t(rank)];
}

inline int post_office::node_of(int rank) { return rank / job_.per_node_; }

inline std::uint32_t post_office::ended()
{
    std::lock_guard lock(job_.mutex_);
    return std::uint32_t(job_.ended_.size());
}

inline int post_office::ended_rank(std::uint32_t i)
{
    std::lock_guard lock(job_.mutex_);
    return job_.ended_[i];
}

// One collective call of a member: how it ends.
template <class Body>
int one_call(team &t, const signature &s, Body &&body)
{
    call c(t, s, never);
    body(c);
    return c.conclude();
}

} // namespace onesea::coll::fake
