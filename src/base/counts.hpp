// SPDX-License-Identifier: Apache-2.0
// What a process counts, and the names of it. The words lie in its page (counts_page.hpp), which others read while
// they change; so each is stored whole, and nobody who counts waits for anybody.
//
// A word has one writer at a time: its writers hold the engine lock. Operations inside a node are counted without it;
// two threads that do so at the same moment towards the same rank may be counted once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace onesea {

class count_word {
  public:
    void operator+=(std::uint64_t n) { set(value_.load(std::memory_order_relaxed) + n); }
    void operator++() { *this += 1; }
    void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
    operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};
static_assert(sizeof(count_word) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

// What this rank has asked of another one, and what the link between them did.
struct pair_counts {
    count_word puts, gets, atomics, messages, copies;
    count_word bytes_out, bytes_in;
    count_word packets_out, packets_in, packets_lost, probes, spurious;
};

// What concerns the process as a whole.
struct process_counts {
    count_word not_ours, forged, malformed, replayed, kept_out;
    count_word waits, wait_ns, sleeps;
    count_word rounds, stalls, longest_stall_ns;
    count_word unrecorded;
};

template <class Counts>
struct count_label {
    const char *name; // in JSON
    const char *meaning;
    count_word Counts::*word;
};

inline constexpr std::array<count_label<pair_counts>, 12> pair_labels{{
    {"puts", "puts started", &pair_counts::puts},
    {"gets", "gets started", &pair_counts::gets},
    {"atomics", "atomics started", &pair_counts::atomics},
    {"messages", "active messages sent, those of collectives among them", &pair_counts::messages},
    {"copies", "copies asked for", &pair_counts::copies},
    {"bytes_out", "bytes of user data written to that rank", &pair_counts::bytes_out},
    {"bytes_in", "bytes of user data read from that rank", &pair_counts::bytes_in},
    {"packets_out", "packets sent to it", &pair_counts::packets_out},
    {"packets_in", "packets received from it", &pair_counts::packets_in},
    {"packets_lost", "packets taken for lost, whose content was sent again", &pair_counts::packets_lost},
    {"probes", "times that silence was followed by a probe", &pair_counts::probes},
    {"spurious", "packets taken for lost that were only late", &pair_counts::spurious},
}};

inline constexpr std::array<count_label<process_counts>, 12> process_labels{{
    {"not_ours", "datagrams dropped: of no protocol, job or living rank known here", &process_counts::not_ours},
    {"forged", "datagrams dropped: the tag is wrong", &process_counts::forged},
    {"malformed", "datagrams dropped: the tag is good, the content is not", &process_counts::malformed},
    {"replayed", "datagrams dropped: they had come before", &process_counts::replayed},
    {"kept_out", "datagrams dropped by the kernel at our socket: not ours, or without room", &process_counts::kept_out},
    {"waits", "calls that had to wait", &process_counts::waits},
    {"wait_ns", "nanoseconds spent waiting, summed over threads", &process_counts::wait_ns},
    {"sleeps", "times that a waiting thread or the dispatcher slept", &process_counts::sleeps},
    {"rounds", "rounds of the dispatcher", &process_counts::rounds},
    {"stalls", "rounds of the dispatcher that took longer than 10 ms", &process_counts::stalls},
    {"longest_stall_ns", "nanoseconds of the longest of them", &process_counts::longest_stall_ns},
    {"unrecorded", "ranks whose counts found no room in memory", &process_counts::unrecorded},
}};

// Every word has one label: there are as many of them as words, and no two are of the same word.
template <class Counts, std::size_t N>
constexpr bool complete(const std::array<count_label<Counts>, N> &labels)
{
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (labels[i].word == labels[j].word) return false;
    return N * sizeof(count_word) == sizeof(Counts);
}
static_assert(complete(pair_labels) && complete(process_labels));

inline std::uint64_t dropped(const process_counts &c)
{
    return c.not_ours + c.forged + c.malformed + c.replayed + c.kept_out;
}

} // namespace onesea
