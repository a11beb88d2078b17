// SPDX-License-Identifier: Apache-2.0
// What the layers above core (coll, data, msg) use beside onesea.h.
#pragma once

#include "base/light_mutex.hpp"
#include "base/transport.hpp"
#include "core/options.hpp"
#include "onesea.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace onesea::shm {
class heap;
}

namespace onesea::core {

// Handler numbers of the library itself follow those of programs.
enum internal_am : int {
    am_collective = SEA_AM_IDS, // coll: one message between two members of a team
    am_leave,                   // coll: the barrier of sea_finalize
    am_data,                    // data: a call on a structure, executed at its owner
    am_ask,                     // core: nothing, but to be acknowledged
    am_id_end
};

// As sea_am_register and sea_am_send, for internal numbers. Registration is allowed before sea_init() (static
// initialisers), so that no message can come too early.
int register_internal_am(int id, sea_am_header_fn fn, void *context);
// The same, and its messages do not wait for handlers of the program: several may run at once, also within a handler
// that waits. They must be short, and wait for nobody.
void register_am_beside(int id, sea_am_header_fn fn, void *context);
int send_internal_am(int rank, int id, const void *header, std::size_t header_bytes, const void *data,
                     std::size_t data_bytes, const sea_opts *opts);
// What takes a message sent by send_untold() when it arrives, under the lock and on the terms of a call_fn (below),
// before any handler is asked. False: it is the handler's.
using arrival_fn = bool (*)(int source, std::span<const std::byte> header, std::span<const std::byte> data);
void set_arrival_function(int id, arrival_fn fn);
// As send_internal_am() with copied data, and this rank does not hear of its end: nothing comes back but the
// acknowledgement, with what goes that way later. It arrives unless the rank ends or the link fails. Complete on
// return; no fence waits for it.
int send_untold(int rank, int id, const void *header, std::size_t header_bytes, const void *data,
                std::size_t data_bytes);
// The most data that it takes beside such a header.
std::size_t most_untold(int rank, std::size_t header_bytes);

// Calls: messages whose end brings an answer, so that nothing but a request and its answer travels.

// What a call is to be answered with. Goes back as one: head, then tail. What is longer than most_bytes does not go,
// and the call ends with SEA_ERR_MEMORY: who executes it looks before he changes anything.
struct call_reply {
    static constexpr std::size_t most_head = 128;
    static constexpr std::uint64_t most_bytes = (std::uint64_t(1) << 32) - 1; // they have 32 bits in a frame
    alignas(8) std::byte head[most_head];
    std::size_t head_bytes = 0;
    std::vector<std::byte> tail;
};

// Runs where the call arrives, under the engine lock: it must be short, wait for nobody and call nothing of onesea.h.
using call_fn = void (*)(int source, std::span<const std::byte> header, std::span<const std::byte> data,
                         call_reply &reply);

// Makes an internal number one of calls. What send_internal_am() sends to it is called, too; its answer is dropped.
int register_call(int id, call_fn fn);

// What is to be done when a call or a get ends that was given up (SEA_ERR_TIMEOUT). Under the lock: only functions that
// take engine_held.
struct late_end {
    std::vector<std::byte> answer;     // to a call
    std::shared_ptr<const void> owner; // of its data
    virtual ~late_end() = default;
    virtual void ended(int status) = 0;
};

// Sends the call and waits for its answer up to the deadline. SEA_ERR_TIMEOUT: it may still be executed, and data that
// does not fit a packet may be read up to the next fence. `owner`: of the data, where it is not the program's; it lives
// as long as that. `late` is called then, and makes what waits for its end; or nullptr.
int call(int rank, int id, std::span<const std::byte> header, std::span<const std::byte> data,
         std::vector<std::byte> *answer, nanoseconds deadline, const std::shared_ptr<const void> &owner,
         const std::function<std::shared_ptr<late_end>()> &late);

// A get to memory of a layer, whose owner lives as long as data may come: after SEA_ERR_TIMEOUT it still may.
int fetch(const char *function, std::span<std::byte> to, sea_addr source, const std::shared_ptr<const void> &owner);
// A get of a layer to memory of the program.
int fetch(const char *function, std::span<std::byte> to, sea_addr source, const std::shared_ptr<late_end> &late);

// Puts with signals of a layer above, of which nothing but these counts tells: no fence has their errors, no callback
// hears of them. It lives as long as one of them has not ended.
struct put_counts {
    std::uint64_t started = 0;    // under the lock
    sea_counter local{}, ended{}; // so many of them have let go of their sources, are over
};
// Puts `bytes` (0 is allowed) and then adds 1 to the word, and waits for nothing; who needs its end soon hurries.
int put_signal(sea_addr target, const void *source, std::size_t bytes, sea_addr word,
               const std::shared_ptr<put_counts> &counts);
// Somebody waits now for the end of all that was sent to that rank.
void hurry_to(int rank);

// The global heap of a rank as this process works on it; heap is nullptr if the rank is of another node.
struct heap_view {
    shm::heap *heap = nullptr;
    std::byte *memory = nullptr; // where offset 0 is mapped
};
heap_view heap_in_node(int rank);

// The memory behind a range of the heap of a rank of this node, or of a registration of this rank; else nullptr.
const void *readable_here(sea_addr address, std::size_t bytes);

// This rank; and SEA_OK, SEA_ERR_RANK or SEA_ERR_DEAD (with text) for another. Only between init and finalize.
int own_rank();
int check_rank(int rank);

// First argument of functions that are called with the engine lock held.
inline constexpr struct engine_held_t {
} engine_held;

// As sea_heap_free(), but waits for nothing and tells nobody.
void free_later(engine_held_t, sea_addr address);

// Makes progress, then sleeps, until ready(argument) is true, or `deadline` (SEA_ERR_TIMEOUT). `ready` is called
// without any lock of core held, often, by this thread only; whatever makes it true (a handler, another thread) calls
// nudge().
int wait_until(bool (*ready)(void *argument), void *argument, nanoseconds deadline);
// The same for what is quick, needs no lock and changes nothing: it is called with the engine lock held, also while
// what arrives is taken in, so that the caller goes on before more is.
int wait_watched(bool (*ready)(void *argument), void *argument, nanoseconds deadline);
void nudge();
void nudge(engine_held_t);

// How many ranks have left or died so far, and which was the i-th of them; wait_until() calls `ready` after the number
// has grown. With them a waiter that watches many ranks looks only at those who have ended.
bool alive(int rank); // of a rank that the job has had
std::uint32_t ended();
int ended_rank(std::uint32_t i);
bool end_was_told(int rank, std::uint32_t told); // it has ended, and was among the first `told` that did
std::uint32_t ends_told(engine_held_t); // of how many of them the progress sources have been told, this one included

// To how many ranks the way was given up so far, and to which as the i-th of them; wait_until() calls `ready` after the
// number has grown. A rank to which it was may live or not.
std::uint32_t cut_off();
int cut_off_rank(std::uint32_t i);
bool is_cut_off(int rank);

// Nothing comes from it any more: it was cut off, or has ended and what it had sent was taken in. Takes the engine
// lock: another thread may be taking that in.
bool nothing_comes(int rank);

// The engine lock, for the functions below that want it held. A lock of an upper layer is taken inside it, never
// around.
using locked = std::unique_lock<light_mutex>;
locked enter();
bool others_wait(engine_held_t); // for the lock

// Layers above with frames of their own.
enum class upper : std::uint8_t { message, channel, data, neighbors };
inline constexpr std::size_t uppers = 4;

// ---- Operations that a layer above makes and completes (external.cpp) ----
// They have handles, counters and start conditions like any other and can be waited for with them, but concern no fence
// and no SEA_OP_ALL.

// How often this thread has looked, or waited, for ends of operations.
std::uint32_t looks_for_ends();

struct external_plan {
    int target = -1;              // the rank whose end or silence ends it, and that may pull and answer; -1: none
    const void *memory = nullptr; // what the target may pull
    std::size_t bytes = 0;
    void (*ended)(void *context) = nullptr; // called once, whatever happens: when it has ended, or was not begun
    void *context = nullptr;
};

// Runs one as the options say: calls start(id) with the engine lock held, now or when the start condition has come
// true, and returns as any call with those options; only one that blocks waits for its end. The error of one without a
// handle goes to the next fence of its target, or of this rank. A target counter and SEA_ORDERED give SEA_ERR_INVALID.
int run_external(const char *function, const external_plan &plan, const sea_opts *opts,
                 std::function<void(std::uint64_t id)> start);

// Completes it, once; an id that is used up is passed over. Without the lock, and with it; with success.
void end_external(std::uint64_t id, int status, std::string text = {});
void end_external(engine_held_t, std::uint64_t id, int status, std::string text = {});
void end_external(engine_held_t, std::uint64_t id);

// The context of an operation that has not ended and whose plan had this `ended`; else nullptr, and *ours tells whether
// the handle is in use at all and of such an operation.
void *external_context(engine_held_t, sea_op handle, void (*ended)(void *context), bool *ours);

// Completes one whose start condition has not come true; its start is never called. False: it has come true.
bool end_unstarted(engine_held_t, sea_op handle, int status, std::string text);

// ---- Handles that a layer above gives out and completes without an operation (handles.cpp) ----
// An operation costs more than all the rest of a small message. All functions that take handles ask the keeper of such
// a handle what became of it.

inline constexpr sea_op kept_handle = sea_op(1) << 31; // set in all of them, and in no operation's
enum class handle_state : std::uint8_t { unknown, used_up, open, done };

struct handle_keeper {
    // Of any number with that bit. With the engine lock or without.
    handle_state (*state)(sea_op handle);
    // The same, without the engine lock, for a thread that waits for it: if it is open, looks for its end while that is
    // quicker than a round of progress.
    handle_state (*look_for)(sea_op handle);
    // Uses it up if it is done: *status, with its text. Else its state. `look`: looks for its end first, as above.
    handle_state (*take)(sea_op handle, bool look, int *status);
    // For an operation that is to start when it has ended: the status that it has ended with, or SEA_OK and the
    // operation that will end as it does; SEA_OP_NONE: it has ended, or is used up. May throw std::bad_alloc.
    int (*follow)(engine_held_t, sea_op handle, sea_op *operation);
};
void set_handle_keeper(const handle_keeper &keeper); // by a static initialiser

// An operation for follow(): nobody waits for it, and its error is told by the handle. To be ended by end_external().
std::uint64_t begin_follower(engine_held_t);

// Some thread waits inside the library, and has to be told by nudge(). Who changes what threads wait for under the lock
// under which they look at it, and asks before leaving that lock, misses none that has not seen the change.
bool anybody_waits();

// The caller goes back to the program and leaves something open that only its layer knows. less_rest: its layer's
// rest() is shorter since then.
void left_open(bool less_rest);

// There is something to do that the caller does not wait for: the dispatcher looks at once, if nobody does. Any thread.
void wake_dispatcher_soon();
// The caller sent something that it does not wait for: who sleeps wakes in time for its deadlines, no earlier.
void wake_for_deadlines(engine_held_t);
// The same for what a call of any kind has led to besides: an answer, what starts behind something that has ended.
void wake_if_late(engine_held_t);

// Takes in what has come, as a round of progress does; runs no handler. False: nothing had.
bool take_in(engine_held_t);

// The memory that `target` may pull of an external operation of this rank; nullptr: there is none, or it has ended.
const void *external_memory(engine_held_t, std::uint64_t id, int target, std::size_t *bytes);

// Sends all of the memory of an external operation of this rank from where it lies, in frames of that kind, in order
// with those of send_frame(). The operation ends when the target has taken it in.
void send_external(engine_held_t, std::uint64_t id, upper layer, std::uint8_t kind);

// Fetches the first `bytes` of the memory of an external operation of rank `source`, towards this rank, then calls
// done(argument, status) under the lock. The memory `to` must stay until then.
void pull_external(engine_held_t, int source, std::uint64_t id, void *to, std::size_t bytes,
                   void (*done)(void *argument, int status), void *argument);
// Ends an external operation of rank `source` towards this rank; nothing happens if that has ended itself.
void answer_external(engine_held_t, int source, std::uint64_t id, int status);

// ---- Frames of layers above ----

// What comes from other ranks: kind, position and id of the frame as they were sent. Under the lock; the payload is
// 8-byte aligned and dies on return. Nothing of it is to be trusted. Set before sea_init(), by static initialisers.
struct upper_frame {
    int source;
    std::uint8_t kind;
    std::uint64_t position, id;
    std::span<const std::byte> payload;
};
void set_frame_function(upper layer, void (*fn)(const upper_frame &frame));

// Sends one, in order with all others sent by this function to that rank; bytes <= frame_room(rank). It is copied.
// more: the next one follows at once. SEA_OK or SEA_ERR_DEAD (no text). A call that does not wait ends with
// wake_for_deadlines().
int send_frame(engine_held_t, upper layer, int rank, std::uint8_t kind, std::uint64_t position, std::uint64_t id,
               const void *payload, std::size_t bytes, bool more = false);
std::size_t frame_room(engine_held_t, int rank); // may change when something arrives

// A message of a layer above, in the statistics. Any thread; the lock held for ranks of other nodes.
void count_message(int rank, std::uint64_t bytes);

// ---- Progress of layers above ----

struct progress_source {
    // A round of work, under the lock: true if anything happened. Bounded; others wait meanwhile.
    bool (*poll)();
    // Asked under the lock before a thread sleeps, when doorbells are already answered, and behind each start while it
    // does: how long it may, at most; 0: there is work.
    nanoseconds (*rest)();
    // The rank has ended (SEA_ERR_DEAD), or its link was given up (SEA_ERR_LINK). Under the lock.
    void (*gone)(int rank, int status);
    // Adds those of whom something is waited for now, other than the end of an operation towards them. Rarely, under
    // the lock. If the way to one of them is cut, its link will be given up, though nothing else goes there.
    void (*awaited)(std::set<int> &ranks) = nullptr;
    // Adds, in words, what it waits for now: "2 receives, the first from rank 1". Rarely, under the lock.
    void (*waits)(std::vector<std::string> &what) = nullptr;
};
// "rank 3", "ranks 3, 5", or "ranks 3, 5, 9 and 7 more".
std::string ranks_text(const std::set<int> &ranks);
std::string counted(std::size_t n, const char *thing); // "1 receive", "2 receives"
// By static initialisers.
void add_progress_source(const progress_source &source);

// When the round of progress that is under way began.
nanoseconds last_look(engine_held_t);

// Adds 1 to a counter of the program, wherever it lies: a neighbour in whose heap that is wakes up. Whoever waits here
// is told by nudge(). Any thread.
void bump(sea_counter *counter);

// Now plus this thread's sea_set_timeout(), or `never`.
nanoseconds thread_deadline();

// Runs in sea_finalize() after the fence, before the transports close: returns when all living ranks have called it.
void set_leave_barrier(int (*fn)(nanoseconds deadline));

// Runs in sea_finalize() last and at the end of sea_init(): drop or set up state of upper layers.
void add_lifecycle(void (*started)(), void (*ended)());

// Up to how many bytes the data of a matched message to that rank goes with it (base/profile.hpp).
std::size_t eager_message_limit(int rank);

// How long the fragments of bulk data to that rank are (base/profile.hpp); 0: there is no such rank, or it has ended.
std::size_t fragment_length(int rank);

// How many ranks the job started with: members of SEA_TEAM_WORLD.
int world_size();

// SEA_OK, or SEA_ERR_STATE with the text set, if the library is not between init and finalize.
int check_started(const char *function);

} // namespace onesea::core
