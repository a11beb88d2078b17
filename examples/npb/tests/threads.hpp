// SPDX-License-Identifier: Apache-2.0
// A back end without any library, of one rank or of several threads of this process, so that the kernels can be tested
// alone.
#pragma once

#include "../comm.hpp"

#include <barrier>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace npb {

// What the threads of a job share.
class thread_job {
  public:
    explicit thread_job(int size) : size_(size), given_(static_cast<std::size_t>(size)), meeting_(size) {}

    // Calls body(comm &) on as many threads; returns when all have ended.
    template <typename Body>
    void run(Body &&body);

  private:
    friend class thread_comm;
    int size_;
    std::vector<const void *> given_; // what each rank shows to the others between two meetings
    std::barrier<> meeting_;
};

class thread_comm final : public comm {
  public:
    thread_comm(thread_job &job, int rank) : job_(job), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return job_.size_; }
    std::string describe() const override { return "threads"; }
    double seconds() const override { return 0; }
    void barrier() override { job_.meeting_.arrive_and_wait(); }

    void allgather(const void *mine, void *all, std::size_t bytes) override
    {
        show(mine, [&] {
            for (std::size_t i = 0; i < job_.given_.size(); ++i)
                std::memcpy(static_cast<char *>(all) + i * bytes, job_.given_[i], bytes);
        });
    }

    int open(int partner, std::size_t capacity) override
    {
        channels_.push_back({partner, std::vector<double>(capacity)});
        return static_cast<int>(channels_.size()) - 1;
    }
    void connect() override {}

    // All ranks exchange on the same channel at the same time, as the kernel does.
    std::span<const double> exchange(int number, std::span<const double> mine, std::size_t expected) override
    {
        channel &link = channels_.at(static_cast<std::size_t>(number));
        show(mine.data(), [&] {
            std::memcpy(link.arrived.data(), job_.given_[static_cast<std::size_t>(link.partner)],
                        expected * sizeof(double));
        });
        return {link.arrived.data(), expected};
    }

    std::span<key> open_landing(std::size_t capacity, std::size_t own) override
    {
        landing_.resize(capacity);
        own_.resize(own);
        return own_;
    }

    void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                 const arrival_fn &arrived) override
    {
        show(outgoing.data(), [&] {
            for (int source = 0; source < size(); ++source) {
                if (source == rank_) continue;
                const auto *theirs = static_cast<const outgoing_keys *>(job_.given_[static_cast<std::size_t>(source)]);
                take(theirs[rank_], incoming[static_cast<std::size_t>(source)], source, arrived);
            }
        });
    }

    // From now on the first key that arrives from elsewhere is changed by that much on its way.
    void falsify(key by) { falsified_ = by; }

  private:
    struct channel {
        int partner;
        std::vector<double> arrived;
    };

    template <typename Look>
    void show(const void *mine, Look &&look)
    {
        job_.given_[static_cast<std::size_t>(rank_)] = mine;
        job_.meeting_.arrive_and_wait();
        look();
        job_.meeting_.arrive_and_wait();
    }

    void take(const outgoing_keys &part, const incoming_keys &expected, int source, const arrival_fn &arrived)
    {
        if (part.place != expected.place || part.keys.size() != expected.count ||
            part.place + part.keys.size() > landing_.size())
            throw std::logic_error("sender and receiver do not agree on what comes");
        std::copy(part.keys.begin(), part.keys.end(), landing_.begin() + static_cast<std::ptrdiff_t>(part.place));
        if (falsified_ != 0 && expected.count > 0) landing_[part.place] += std::exchange(falsified_, 0);
        arrived(source, {landing_.data() + part.place, expected.count});
    }

    thread_job &job_;
    int rank_;
    std::vector<channel> channels_;
    std::vector<key> landing_, own_;
    key falsified_ = 0;
};

template <typename Body>
void thread_job::run(Body &&body)
{
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size_; ++rank)
        threads.emplace_back([&, rank] {
            thread_comm peers(*this, rank);
            body(peers);
        });
}

} // namespace npb
