// SPDX-License-Identifier: Apache-2.0
// Where messages of collectives meet the receives that wait for them.
//
// Every team has a box. A message is matched by (team, sequence, step, source). If its receive is posted, its data goes
// straight to the receive's memory; otherwise it becomes an *early* message with memory of its own and is handed over
// when the receive is posted. Messages may come before the team exists here (others were quicker): then they make the
// box, and the team takes it over.
//
//   message header ──► receive posted?  yes: waiting ─► arriving ─► here
//                                        no: early (─► whole) ─► copied to the receive that is posted later
//
// What was arriving from a rank of which nothing comes any more is *lost*: its memory is not written to again, but a
// handler may still bring the end of what was all there.
//
// A notice that a member has given a large team up goes on to the neighbours: it floods a tree over the members, so
// that nobody talks to all of them.
//
// A box that is *broken* takes nothing any more; what comes for it is thrown away. It keeps the memory that transfers
// in flight may still write to or read, also when its team has been freed. Of a freed team with nothing under way only
// the name is kept.
//
// Handlers run on any thread: all of it is under one mutex, except the fields that waiters look at.
#pragma once

#include "base/light_mutex.hpp"
#include "coll/envelope.hpp"
#include "coll/gone_teams.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace onesea::coll {

struct box;

struct receive {
    enum class phase : std::uint8_t { waiting, arriving, copying, here, lost }; // copying: what came early
    std::uint32_t step;
    int source; // rank
    void *to;
    std::size_t bytes;
    box *owner;
    std::atomic<phase> state{phase::waiting};

    receive(std::uint32_t in_step, int from, void *target, std::size_t size, box *of)
        : step(in_step), source(from), to(target), bytes(size), owner(of)
    {
    }
};

struct early_key {
    std::uint32_t sequence, step;
    int source;
    bool operator==(const early_key &) const = default;
};

struct early_hash {
    std::size_t operator()(const early_key &k) const
    {
        return ((std::uint64_t(k.sequence) << 32 | std::uint32_t(k.source)) * 0x9e3779b97f4a7c15u) ^ k.step;
    }
};

struct early_message {
    early_key key;
    signature sign;
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
    bool whole;     // all the data is there
    receive *taker; // a receive was posted while the data was arriving
    box *owner;
    bool lost = false;
};

struct box {
    context_id id;
    bool owned = false; // a team of this process has it
    bool open = false;  // a call is running
    bool freed = false; // its team has been
    std::uint32_t sequence = 0;
    signature sign;
    std::deque<receive> receives; // of the running call
    std::size_t first_waiting = 0;
    std::unordered_map<early_key, early_message, early_hash> early;
    std::vector<std::unique_ptr<std::byte[]>> scratch; // of the running call

    std::atomic<std::uint32_t> outstanding{0}; // receives that are not here
    std::atomic<bool> broken{false};
    int status = SEA_OK; // why it is broken; written before `broken`
    std::string reason;
    std::vector<int> neighbours; // ranks that are told when the team is given up
    bool passes_on = false;      // they are not all: notices go on to them
    bool told = false;           // they have been
    bool let_end = false;        // the failed call has waited for its transfers

    sea_counter sent{}; // long messages whose data may be changed again
    std::uint64_t started = 0;
};

// What a handler does with a message.
struct placement {
    void *to = nullptr;              // where its data goes; null: nowhere
    receive *matched = nullptr;      // then call arrived() with one of these
    early_message *stored = nullptr; // "
    bool somebody_waits = false;     // a receive is complete, or the box broke
    bool given_up = false;           // a notice: send it on to the ranks in `tell`, then call given_up()
    std::vector<int> tell{};
};

class mailbox {
  public:
    // ---- by the team ----
    // nullptr: a team of this process has that name.
    box *adopt(const context_id &id, std::vector<int> neighbours = {}, bool passes_on = false);
    void release(box *b);
    void begin(box *b, const signature &sign); // the next call
    void end(box *b);                          // all receives are here
    receive *post(box *b, int source, std::uint32_t step, void *to, std::size_t bytes);
    std::byte *scratch(box *b, std::size_t bytes); // lives as long as the call and its transfers; throws bad_alloc
    void break_down(box *b, int status, std::string reason); // the first reason stays
    std::vector<int> give_up(box *b);                        // who is to be told of it now
    std::vector<int> missing_from(box *b);                   // ranks of which posted receives have not all, once each
    std::vector<int> arriving_from(box *b);                  // ranks whose data goes to posted receives,
    std::vector<int> under_way_from(box *b);                 // and those whose data goes anywhere
    void nothing_comes(box *b, int rank);                    // nothing is written any more, see courier
    void clear();
    void awaited(std::set<int> &ranks); // adds those of which calls wait for messages

    // ---- by handlers ----
    // `data`: what travelled in the header; else `bytes` of data follow if the placement says where.
    placement take_in(int source, const envelope &e, const void *data, std::size_t bytes);
    void arrived(receive *r);
    void arrived(early_message *m);
    void unreadable(const placement &p, int source); // its data could not be copied: that breaks the box
    void given_up(const envelope &notice); // it has gone on; only now members here see that their team is broken

    std::size_t early_count(const context_id &id); // for tests
    std::size_t box_count();                       // "

  private:
    light_mutex mutex_{light_mutex::prepared};
    std::unordered_map<context_id, std::unique_ptr<box>, context_hash> boxes_;
    gone_teams gone_;
    std::deque<context_id> leaving_; // freed, but something was under way

    box *box_of(const context_id &id); // nullptr: the team is gone
    static placement take_notice(const box &b, int source);
    placement take_late_notice(const context_id &id, int source);
    placement place(box &b, int source, const envelope &e, const void *data, std::size_t bytes);
    placement deliver(box &b, receive &r, const void *data, std::size_t bytes);
    placement store(box &b, const early_key &key, const signature &sign, const void *data, std::size_t bytes);
    static receive *find_waiting(box &b, int source, std::uint32_t step);
    static void set_broken(box &b, int status, std::string reason);
    static void set_here(receive &r);
    void look_at_leaving();
    bool forget(box &b);
};

} // namespace onesea::coll
