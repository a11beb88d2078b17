// SPDX-License-Identifier: Apache-2.0
// The matched messages of this process: where they leave, arrive, wait and are handed out.
//
//   send ──► small, room left: eager ──► lane (own node) or frames (other nodes) ──► receive posted? its buffer
//        └─► else: an offer, the data stays here                                  └─► else a letter, kept
//                                                     offer met by a receive ──► its data is fetched, the sender told
//
// Eager messages. A sender has a share of the receiver's memory for messages that nobody has received; what it sends is
// charged to it, what leaves that memory is released. Out of its share it makes offers: they cost the receiver an
// envelope, and the sender's operations bound how many there are. So neither side grows, and nothing that a receiver
// waits for can be stuck behind what it does not want. They are copied. Where many of 3 KB and more go to another node
// in a row, by calls that have handles, they go from where they lie: the operation ends when the receiver has taken it
// in.
//
// Offers. The sender's operation is an external one of core. Inside a node the receiver copies from the sender's
// memory: if it is mapped here by itself, else together with the sender (office_stage.cpp) or by one system call; where
// the system forbids that, and between nodes, it pulls through core. Then it answers. A thread that is inside a
// blocking receive copies itself, without any lock unless both copy. For others it is done in pieces by who makes
// progress.
//
// Order. A pair's eager messages and offers go the same way, in the order of the calls: the lane, or frames that are
// executed in order. What finds the lane full waits in front of it, a small message as a copy, and all that follow
// behind.
//
// Locks. `lock_` (a spin lock) protects everything here except fields of a request that its own thread looks at. It is
// taken inside the engine lock, or alone, and never held over a call of core. What needs core afterwards is listed and
// done by settle(): completions of operations, fetches, grants, doorbells. The blocking calls inside a node need the
// engine lock not at all, unless they sleep or fetch.
//
// Sleeping. A small message wakes a receiver only if a thread of it waits inside the library, or when its lane is half
// full: one that computes is left alone and finds its messages in the lane. An offer wakes also the dispatcher, unless
// a thread is looking at the lanes at this moment (slot::receiving).
#pragma once

#include "base/huge_pages.hpp"
#include "coll/survivors.hpp"
#include "core/internal.hpp"
#include "core/node.hpp"
#include "msg/letter_box.hpp"
#include "msg/matcher.hpp"
#include "msg/memory_shares.hpp"
#include "msg/receive_table.hpp"
#include "msg/send_row.hpp"
#include "msg/settings.hpp"
#include "msg/spin_lock.hpp"
#include "msg/way_choice.hpp"
#include "onesea/message.h"
#include "shm/lane.hpp"
#include "shm/stage.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace onesea::msg {

// What a send is about.
struct parcel {
    std::uint64_t team = 0;
    int rank = -1; // the target
    int tag = 0;
    const void *data = nullptr;
    std::size_t bytes = 0;
    bool in_place = false; // an eager one is not copied, between nodes
};

class office {
  public:
    void open(core::engine_held_t); // in sea_init, or when the first message comes, if that is earlier
    void close();                   // in sea_finalize

    // ---- sending ----
    // SEA_OK: it is on its way, the data may be changed. must_offer: it was not sent. Errors with text.
    static constexpr int must_offer = 1;
    int send_eager(const parcel &p);
    // One of many that go there in a row: better not copied. To be sent by send(), with an operation that ends when the
    // target has taken it in.
    bool goes_in_place(const parcel &p);
    // The start of an operation on p.rank that sends it one way or the other. The engine lock is held.
    void send(core::engine_held_t, const parcel &p, std::uint64_t id);

    // ---- receiving ----
    // Hands out what is there, or posts it. Ends requests of operations through core, with settle().
    void receive(request &r);
    // The same without an operation: its handle. SEA_OP_NONE: it has ended, and is left to the caller.
    sea_op receive_kept(std::unique_ptr<request> &r);
    // As receive() with a message that was taken: SEA_OK, or SEA_ERR_HANDLE (no text).
    int receive_taken(std::uint64_t number, request &r);
    // The same for a request on the stack of this thread, which looks for it as long as is worth while.
    void receive_here(request &r);
    // Waits until a request on the stack of this thread has ended. Its status, with the text.
    int wait(request &r, nanoseconds deadline);
    static std::string end_text(const request &r); // how it has ended, if not well
    // core's questions about handles of receive_kept(): core::handle_keeper.
    core::handle_state state(sea_op handle);
    core::handle_state look_for(sea_op handle);
    core::handle_state take(sea_op handle, bool look, int *status);
    int follow(core::engine_held_t, sea_op handle, sea_op *operation);
    // As sea_message_cancel(); false: there is no such handle.
    bool cancel(sea_op handle);
    // False: it has met a message already.
    bool withdraw(request &r, int status);
    // The earliest message; with `number`, it is taken. SEA_OK, SEA_ERR_TIMEOUT (there is none, no text), SEA_ERR_DEAD.
    int look(const pattern &want, const std::shared_ptr<coll::team> &team, sea_message_info *info,
             std::uint64_t *number);
    // What a thread waits to see.
    struct sight {
        const pattern &want;
        coll::team *team;
    };
    void wait_for_arrival(const sight &of, bool (*ready)(void *argument), void *argument, double seconds);
    // What a taken message looks like; false: there is none of that number.
    bool find_taken(std::uint64_t number, pattern *what, std::shared_ptr<coll::team> *team);

    // Does, with the engine lock (taken if not held), what could not be done under `lock_`. Fetches only begin: rounds
    // of progress go on with them, so that a call does not wait for what others are to receive.
    void settle();
    bool settle(core::engine_held_t); // has it sent something?

    void usage(std::size_t *used, std::size_t *bound);

    // ---- progress_source, and frames; the engine lock is held ----
    bool poll();
    nanoseconds rest();
    void gone(int rank, int status);
    void awaited(std::set<int> &ranks);
    void waits(std::vector<std::string> &what);
    void on_frame(const core::upper_frame &frame);

  private:
    // What this process keeps of a slot of its node.
    struct neighbour {
        shm::lane_writer out;
        std::uint64_t charged = 0, released_seen = 0; // of our share there
        std::uint64_t heard = 0;                      // where the lane from there was read at the last message to there
        struct stuck_item {                           // for which the lane has no room
            shm::lane_item item;
            offer_words words;                 // of an offer
            std::unique_ptr<std::byte[]> copy; // of a message
        };
        std::deque<stuck_item> stuck;
        bool listed = false; // in stuck_
    };
    // What it keeps of its lane to here.
    struct incoming_lane {
        shm::lane_reader in;
        std::uint64_t released = 0, told = 0; // of its share here
    };
    // Of a rank of another node.
    struct remote {
        std::uint64_t charged = 0, granted = 0; // of our share there
        std::uint64_t released = 0, told = 0;   // of its share here
        letter *assembling = nullptr;           // an eager message of several frames
        request *filling = nullptr;             // or the receive that it goes to
        std::size_t whole = 0, got = 0;
        int broken = 0;              // why nothing can be sent any more
        std::size_t eager = unknown; // longer ones are offered
        static constexpr std::size_t unknown = ~std::size_t(0);
        send_row row; // of those that may go in place
    };

    bool open_ = false;
    int me_ = -1;
    unsigned slot_ = 0;
    std::size_t bound_ = 0;
    memory_shares shares_;
    std::size_t share_ = 0;               // this rank's, of that of others
    std::size_t lane_eager_ = lane_eager; // as tuned
    bool crowded_ = false;
    unsigned first_ = 0, near_ = 0, offset_ = 0; // consecutive ranks of this node, and the slot of the first
    static constexpr unsigned no_slot = shm::no_slot;
    // The slot of a rank of this node, its own among them; no_slot: it is of another one.
    unsigned slot_of(int rank) const
    {
        const unsigned i = unsigned(rank) - first_;
        return i < near_ ? offset_ + i : core::slot_of(rank);
    }

    spin_lock lock_;
    matcher matcher_;
    std::vector<std::unique_ptr<neighbour>> neighbours_;  // by slot
    std::vector<incoming_lane> lanes_;                    // by slot
    std::vector<way_choice> ways_;                        // by slot
    std::unordered_map<int, remote> remotes_;             // by rank
    std::pair<const int, remote> *last_remote_ = nullptr; // that was asked for last
    struct taken_letter {
        letter *what;
        std::shared_ptr<coll::team> team;
    };
    std::unordered_map<std::uint64_t, taken_letter> taken_;
    std::uint64_t next_taken_ = 1;
    letter_box letter_box_;
    std::size_t used_ = 0, own_charged_ = 0;
    std::vector<unsigned> stuck_; // slots of neighbours with stuck items, or that had some
    std::atomic<bool> any_stuck_{false};
    unsigned turn_ = 0; // which lane is looked at first
    receive_table handles_;
    std::size_t handles_posted_ = 0; // posted receives of these, and of operations
    coll::survivors world_left_;
    std::uint32_t told_ = 0;                // how many of the ends in core's list gone() has seen
    int last_loss_ = SEA_OK;                // what it was told last
    std::vector<const sight *> looked_for_; // by threads that wait in probe or take
    class looking;

    // For settle().
    std::atomic<bool> work_{false};
    bool nudge_ = false, settling_ = false;
    bool in_round_ = false; // a frame is taken in: the round of progress that brought it wakes who waits in core
    struct errands {
        struct follower {
            std::uint64_t operation;
            int status;
            std::string text;
        };
        std::vector<request *> finished; // with an operation
        std::vector<follower> followers; // whose receive has finished
        std::vector<request *> to_fetch;
        std::vector<int> grants;      // ranks of other nodes that are to hear what was released
        std::vector<unsigned> knocks; // slots that wait for room in their lane
        void clear() { finished.clear(), followers.clear(), to_fetch.clear(), grants.clear(), knocks.clear(); }
        bool any() const
        {
            return !finished.empty() || !followers.empty() || !to_fetch.empty() || !grants.empty() || !knocks.empty();
        }
    };
    errands errands_;
    errands running_;               // those that settle() is at
    std::deque<request *> fetches_; // under the engine lock, as all that follows

    std::uint64_t readable_ = 0; // an operation whose data was seen to be mapped
    shm::stage_writer stage_;    // where this process lays pieces of what it has offered
    struct taking {
        shm::stage_reader from;
        unsigned slot = no_slot; // whose stage that is
        nanoseconds heard = 0;   // when the last piece came, or a share was taken here
    };
    taking taking_; // from another one's
    struct held_up {
        request *fetch;
        taking stage;
    };
    std::vector<held_up> aside_;   // fetches that wait for a sender that has long been at a share
    nanoseconds last_by_both_ = 0; // when all of a message had come so
    huge_pages huge_pages_;        // private buffers that the kernel copies from and to

    using guard = std::lock_guard<spin_lock>;

    neighbour &neighbour_at(unsigned slot) { return neighbours_[slot] ? *neighbours_[slot] : first_to(slot); }
    neighbour &first_to(unsigned slot);
    remote &remote_of(int rank)
    {
        return last_remote_ && last_remote_->first == rank ? last_remote_->second : other_remote(rank);
    }
    remote &other_remote(int rank);
    enum lane_kind : std::uint16_t { lane_message = 1, lane_offer };
    static constexpr int lane_full = 2;
    static constexpr int share_used = 3; // as far as was told: a grant may have come that nobody has taken in
    static constexpr int under_way = 4;  // its operation ends by itself
    int send_self(const parcel &p);
    int send_local(unsigned slot, const parcel &p);
    int send_remote(core::engine_held_t, const parcel &p);
    int send_in_place(core::engine_held_t, const parcel &p, std::uint64_t id);
    int admit_remote(const parcel &p);
    bool has_room(const remote &r, std::size_t bytes) const;
    void send_in_frames(const parcel &p);
    void send_from_memory(const parcel &p, std::uint64_t id);
    void offer(const parcel &p, std::uint64_t id);
    void offer_local(unsigned slot, shm::lane_item item, const offer_words &words);
    int offer_remote(const parcel &p, const offer_words &words);
    void announce(unsigned slot, bool is_offer, bool crowded_lane);
    bool push_stuck();
    bool push_stuck(unsigned slot, neighbour &n);
    void stick(unsigned slot, neighbour &n, neighbour::stuck_item item);
    int send_late(unsigned slot, const parcel &p);
    bool share_has_room(neighbour &n, std::size_t cost) const;
    void grant(int rank);

    bool run_errands();

    request *meet(const pattern &what);
    void unpost(request &r);
    // slot: of the lane that it came through, or no_slot.
    void arrive(unsigned slot, const pattern &what, const void *data, std::size_t bytes) noexcept;
    void arrive(request *r, unsigned slot, const pattern &what, const void *data, std::size_t bytes) noexcept;
    void arrive_offer(int source, const pattern &what, const offer_words &words) noexcept;
    void arrive_offer(request *r, int source, const pattern &what, const offer_words &words) noexcept;
    void hand_out(letter *l, request &r);
    void meet_offer(request &r, int source, const offer_words &words);
    void finish(request &r, int status);
    void end_follower(const request &r);
    core::handle_state state_of(sea_op handle, request **r) const;
    core::handle_state state_after_look(sea_op handle);
    void release(int source, std::size_t bytes);
    void release_lane(unsigned slot, int source, std::size_t bytes);
    void keep(letter *l);
    void forget(letter *l);
    bool has_ended(int rank) const;
    bool is_lost(int rank) const;     // or cannot be reached any more
    int first_left(coll::team *team); // of the others; -1: nobody. nullptr: SEA_TEAM_WORLD
    bool nobody_left(coll::team *team);
    int end_of_sources(const pattern &want, coll::team *team);

    template <class Use>
    void for_each_lane(Use &&use) const;
    bool drain(unsigned slot, int limit, const request *until);
    bool drain_all(int limit, const request *until);
    void drain_for(const pattern &want, const request *until);
    bool any_ready() const;
    void take_or_post(request &r);
    void watch_lane(request &r);
    unsigned lane_to_watch(const request &r) const;
    bool comes_in_frames(const pattern &want) const
    {
        return want.source != anything && want.source != me_ && slot_of(want.source) == no_slot;
    }
    void spin_for(request &r);

    static constexpr std::size_t least_shared = 64 * 1024; // bytes: shorter ones are quicker copied by one
    int copy_here(request &r, std::size_t bytes);
    int copy_by_kernel(request &r, std::uint64_t from, void *to, std::size_t bytes);
    void copy_mapped(request &r, int pieces);
    void fetch_here(request &r);
    static void wait_for(request &r);
    void fetch_some();
    bool look_at_stage(nanoseconds now);
    bool lay_pieces(int looks);
    bool may_be_read(const shm::stage_order &o, const std::byte *memory);
    bool copy_share(const shm::stage_order &o, const std::byte *memory);
    bool fit_for_both(request &r);
    bool looks_at_stage(unsigned slot) const;
    bool take_pieces(request &r);
    bool place_orders(request &r);
    void order(request &r);
    bool take_ready(request &r);
    bool take_shares(request &r);
    static bool shares_over(request &r);
    bool is_held_up(const request &r) const;
    void set_aside();
    void look_aside();
    void give_up_shares(request &r);
    void stop_taking();
    static bool may_be_written(const request &r);
    void end_fetch(core::engine_held_t, request &r, int status);
    void pull(request &r);
    static void pulled(void *request_, int status);

    void take_frame(const core::upper_frame &frame);
    void first_frame(remote &from, const core::upper_frame &frame);
    void next_frame(remote &from, std::span<const std::byte> data);
    void drop_assembly(remote &from, int status);
};

office &the_office();

} // namespace onesea::msg
