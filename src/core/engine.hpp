// SPDX-License-Identifier: Apache-2.0
// The state of this process in its job, and the lock around it. One object, `engine()`; the files of this folder are
// its parts: README.md.
#pragma once

#include "base/birth.hpp"
#include "base/clock.hpp"
#include "base/counts_page.hpp"
#include "base/error.hpp"
#include "base/function_ref.hpp"
#include "base/light_mutex.hpp"
#include "base/ring_queue.hpp"
#include "base/transport.hpp"
#include "core/cut_off.hpp"
#include "core/handlers.hpp"
#include "core/internal.hpp"
#include "core/operation.hpp"
#include "core/options.hpp"
#include "core/raw_space.hpp"
#include "core/sleeping.hpp"
#include "core/stand_in.hpp"
#include "shm/arena.hpp"
#include "shm/shm_transport.hpp"

#include <array>
#include <concepts>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

namespace onesea::core {

// Small puts that need no operation each (quick.cpp): of one epoch of a fence.
struct quick_puts : delivery {
    struct peer *of = nullptr;
    int rank = -1;
    std::uint8_t epoch = 0;
};

// How many operations whose end nobody asks for went to a rank between the last two fences. Where these were few, as
// many ask by themselves the next time, which spares the fence a packet and part of a round trip.
class fence_habit {
  public:
    bool next_may_be_at_leisure()
    {
        if (since_ > few) return true;
        return since_++ >= usual_;
    }
    void fenced()
    {
        usual_ = since_ > few ? 0 : since_;
        since_ = 0;
    }

  private:
    static constexpr std::uint8_t few = 4;
    std::uint8_t since_ = 0, usual_ = 0;
};

// What this rank keeps of a rank that it has dealt with.
struct peer {
    std::uint32_t unfinished[2] = {0, 0}; // operations by epoch; a fence starts a new epoch and waits for the old one
    std::uint32_t unmet = 0;              // of these, those whose start condition is open,
    std::uint32_t held_back = 0;          // and those that only wait for their turn; see order.cpp
    std::uint32_t turns = 0;              // of the epoch
    std::uint8_t epoch = 0;
    std::uint32_t ordered = 0;          // unfinished operations with SEA_ORDERED
    std::uint32_t ordered_reads = 0;    // of them, gets that are being answered
    ring_queue<std::uint32_t> in_order; // of them, from the first that is not wholly on its way; see order.cpp
    int first_error = SEA_OK;           // of operations without a handle since the last fence
    std::string first_error_text;
    std::map<std::uint64_t, std::uint64_t> extents; // of segments there: first offset -> end; see extents.cpp
    pair_row *row = nullptr;                        // where it is counted; nullptr: nothing was yet
    quick_puts quick[2];
    fence_habit habit;
    std::uint32_t lazy_answers = 0; // unfinished operations whose answer takes its time there unless one asks
    bool raw_open = false;          // what it said last of its raw space
    transport *carrier = nullptr;   // that takes quick puts to it; nullptr: none, not known yet, or the rank has ended
};
static_assert(sizeof(peer) <= 256, "there may be thousands of them");

// A message of which some frames have come, in any order.
class message_in_frames {
  public:
    void take(std::size_t position, std::span<const std::byte> frame, bool last);
    bool whole() const { return length_ > 0 && come_ >= length_; }
    std::span<const std::byte> bytes() const { return {bytes_.get(), length_}; }

  private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t room_ = 0, come_ = 0, end_ = 0, length_ = 0; // length: 0 until its last frame has come
};

enum class role : std::uint8_t { absent, starting, running, ended, forked };

class engine_state final : public sink {
  public:
    light_mutex mutex; // the engine lock
    std::atomic<role> state{role::absent};

    int rank = -1;
    unsigned slot = 0;
    birth inherited;
    shm::arena arena;
    std::atomic<std::uint64_t> in_core_files{0}; // bytes of the own heap
    std::unique_ptr<shm::shm_transport> shm;
    std::unique_ptr<transport> net; // nullptr in a job without network
    operation_table operations;
    std::uint64_t being_answered = 0; // the get of whose answer more may come next; 0: none
    handler_queue handlers;
    std::deque<std::uint32_t> startable; // deferred operations whose condition has come true
    bool starting_others = false;        // they are being started further up the stack
    std::uint32_t quick_unfinished = 0;  // puts without an operation
    std::uint32_t at_leisure = 0;        // unfinished operations whose end nothing asked for
    std::uint32_t waiting_for_all = 0;   // operations that wait for all earlier ones

    peer &peer_of(int rank);
    transport *route(int rank); // nullptr: no such rank, or unreachable. Any thread
    int check_rank(int rank);   // SEA_OK, SEA_ERR_RANK, SEA_ERR_DEAD with the text set
    int size() const { return int(arena.header().ranks.load(std::memory_order_acquire)); }
    template <class Use>
    void for_each_transport(Use &&use)
    {
        use(*shm);
        if (net) use(*net);
    }
    std::vector<int> known_peers() const;
    std::atomic<std::uint64_t> last_far{0}; // a rank of another node, and the membership for which that was found

    // sink: see responder.cpp
    void receive(int source, const frame &head, std::span<const std::byte> payload) override;

    bool expects(expectation *next) override;
    void answer_follows(operation *op); // of a pull
    void about_to_acknowledge() override;
    bool answers_follow() const override;
    bool may_go_on() const override { return sleep.watched && (*sleep.watched)(); }
    void unreachable(int source) override;

    // Own memory of the window for a peer's access; the text of the error is not set. *segment: registered memory that
    // it lies in.
    int resolve(std::uint64_t offset, std::uint64_t bytes, bool write, void **memory, shm::segment **segment);

    std::unique_ptr<own_raw_space> raw; // nullptr: was never opened

    std::set<std::pair<int, std::uint64_t>> refused; // operations of others whose signals are not to be executed
    std::map<std::pair<int, std::uint64_t>, message_in_frames> in_frames; // by origin and its number
    std::uint64_t messages_in_frames = 0;                                 // sent
    std::uint32_t seen_membership = 0, seen_ended = 0; // how far this process has followed who came and ended
    std::uint32_t seen_waits_asked = 0;                // and questions what it waits for
    int seen_ranks = 0;
    cut_off_ranks cut_off;
    sea_death_fn on_death = nullptr;
    void *on_death_context = nullptr;
    sea_error_fn on_error = nullptr;
    void *on_error_context = nullptr;

    // progress.cpp, dispatcher.cpp, stand_in.cpp
    struct sleeping_state {
        std::condition_variable_any changed;
        std::atomic<int> waiters{0};      // threads in wait()
        int parked = 0;                   // of them, in `changed`
        std::atomic<bool> blocked{false}; // one thread sleeps for all
        bool blocked_by_dispatcher = false;
        std::uint64_t arms = 0; // how often a thread has begun to sleep for all
        std::mutex away_mutex;  // of the two below; taken after the engine lock or alone
        std::condition_variable dispatcher_wake;
        std::atomic<bool> dispatcher_parked{false};
        std::atomic<nanoseconds> away_until{0};      // the dispatcher; 0: it is not away
        std::atomic<bool> called_back{false};        // and its next absence is to be short
        nanoseconds blocked_until = 0;               // it, unless something comes
        std::atomic<std::uint64_t> polls{0};         // calls of the program that made progress
        std::atomic<std::uint64_t> handler_polls{0}; // the same of handlers that the dispatcher ran
        std::atomic<std::uint64_t> starts{0};        // that started something and went back to the program
        std::uint64_t nudges = 0;
        nanoseconds last_look = 0;                     // when progress was made last
        const function_ref<bool()> *watched = nullptr; // what the thread that makes progress waits for
        std::atomic<nanoseconds> next_let_out{0};
        std::atomic<int> entering{0};        // threads that want the engine lock
        std::atomic<bool> look_asked{false}; // of the program, by the dispatcher, which keeps away meanwhile
        wakers wake;
        bool oversubscribed = false;
        std::atomic<bool> stop{false};
        std::thread dispatcher;
        stand_in stands_in; // for it, while handlers of the program keep it
        sleeping_place place;
    } sleep;

    std::unique_ptr<counts_page> counts;                   // stays mapped to the end of the process
    std::unique_ptr<std::atomic<pair_row *>[]> local_rows; // by slot: counted without the lock
    std::unordered_map<int, std::unique_ptr<peer>> peers;
    int last_peer_rank = -1;
    peer *last_peer = nullptr;
};

// Never destroyed: threads of the program may outlive main(). Made at the first use, by a static initialiser perhaps.
extern std::atomic<engine_state *> the_engine;
engine_state &make_engine();
inline engine_state &engine()
{
    engine_state *e = the_engine.load(std::memory_order_acquire);
    return e ? *e : make_engine();
}

// ---- external.cpp ----
void receive_upper(int source, const frame &head, std::span<const std::byte> payload);
bool poll_sources();
nanoseconds sources_rest();
void tell_sources(int rank, int status);
void ask_sources_for_awaited(std::set<int> &ranks);
void ask_sources_for_waits(std::vector<std::string> &what);

// ---- handles.cpp: start conditions, under the lock ----
// A handle, or one that is used up; condition_of() needs no memory for it then. May throw std::bad_alloc.
bool condition_is_known(sea_op after);
// What an operation is to wait for, SEA_OP_NONE: nothing, and the status of what has failed already.
int condition_of(sea_op after, sea_op *operation);

// ---- completion.cpp: all under the lock ----

// An operation with the caller's options towards a rank; held until let_go(). `announced`: the target is told of it by
// a counter or signal, so that who calls has no need of its end as a rule. Throws std::bad_alloc, when nothing has
// begun; what follows ends the process instead, since half of an operation may be under way then.
operation *begin(int target, const sea_opts *opts, bool announced = false);
operation *begin_external(int target, const sea_opts *opts); // counted by no fence
// Runs start(op) now or when its start condition has come true. SEA_ERR_HANDLE: nothing was begun.
int check_after(const sea_opts *opts);
enum class start_time : std::uint8_t { now, later, never };
start_time when_to_start(operation *op); // later: it has been queued behind what it waits for. never: it has ended
void defer(operation *op);               // it has been queued so
void begin_start(operation *op);
void end_start(operation *op);
template <class Start>
void run_or_defer(operation *op, Start &&start) noexcept
{
    switch (when_to_start(op)) {
    case start_time::now:
        begin_start(op);
        start(op);
        return end_start(op);
    case start_time::later:
        defer(op);
        op->start = std::forward<Start>(start);
        return;
    case start_time::never:
        return;
    }
}
void stop_waiting(operation *op); // a deferred one: nothing will start it any more
void start_who_waits_for_all();
void local_completion(operation *op);
void maybe_release(operation *op);             // gives it back to the table if nothing refers to it any more
void message_ended(operation *op, int status); // one message that points at it has settled
void part_done(operation *op, int status);     // one part ended; completes the operation with the last one
void complete(operation *op, int status);
void let_go(operation *op); // the caller's or handle's reference ends
void run_startable();
int check_opts(const sea_opts *opts, int target_rank);
// Ends a call that started `op` as its options say: hands out the handle, returns, or waits.
int conclude(locked &lock, operation *op, const sea_opts *opts, bool until_remote) noexcept;
// What a wait for it returned, with its name in the text. Who made an external one knows better what it is.
int waited_for(const operation *op, int status);

// ---- order.cpp: of operations with SEA_ORDERED; for others all of it does nothing ----

void wait_in_line(operation *op);  // its start condition is open; later ones wait behind it
bool line_stands(const peer &p);   // what waits in line there waits for an open start condition
bool held_by_order(operation *op); // it could start, but waits in line: it will be among the startable
void order_started(operation *op); // its parts, or more of them, are on their way
void order_ended(operation *op);

// ---- silence.cpp: between two looks, and so between two rounds of progress of who waits for other nodes ----
inline constexpr nanoseconds longest_silence = 5'000'000'000;

// ---- progress.cpp ----

// One round over the transports; under the lock. True if anything happened. What throws there ends the process, as it
// does on the dispatcher: nobody could go on with what has come by half.
bool progress_once() noexcept;
// The same, and handlers, for calls that look once.
void poll_round(locked &lock);
// For calls that found what they wait for and go back to a program, which may compute for long now: whether what is
// held back to share a packet should go. Not at every call, or nothing would share one.
bool held_is_due();
void send_held(const locked &);
void run_handlers(locked &lock);
void run_handlers_beside(locked &lock); // only those that do not wait for others
bool inside_handler();                  // of this thread: what it waits for must not need another handler here
// A call started something that it does not wait for: who sleeps for all wakes in time for its deadlines.
void started();
// It leaves much to be moved that does not go without this process.
void leave_long_transfer();
// Lets others at the lock, and at the core if it is crowded, between two rounds of a spin or parts of a long copy.
// `busy`: there is more to do.
void breathe(locked &lock, bool busy);
// Waits until ready() (called under the lock) or deadline. SEA_OK or SEA_ERR_TIMEOUT (text set).
int wait(locked &lock, function_ref<bool()> ready, nanoseconds deadline, nanoseconds nap = never);
// The same with a ready() that is quick and changes nothing: it is also looked at while what arrives is taken in.
int wait_watched(locked &lock, function_ref<bool()> ready, nanoseconds deadline);
// What a wait returned, where the text of SEA_ERR_TIMEOUT is to say what was waited for.
template <class Name>
requires std::invocable<Name>
int told_by_name(int status, Name name)
{
    if (status != SEA_ERR_TIMEOUT) return status;
    try {
        return fail(status, "{}: the time given has passed", name());
    } catch (const std::bad_alloc &) {
        return fail(status, "the time given has passed");
    }
}
void notify_progress();
// Sleeps until something may have changed: in ppoll for all, or behind the thread that does so. True: ready() was true,
// looked at once more when neighbours had been told to ring, since what they wrote before rings nobody.
bool block(locked &lock, nanoseconds until, function_ref<bool()> ready);

// ---- dispatcher.cpp ----
void start_dispatcher();
void stop_dispatcher();
void wake_dispatcher();
// No handler of the program's signals runs there. Throws std::system_error.
std::thread own_thread(std::function<void()> run);
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool is_dispatcher; // this thread

// ---- transfer.cpp: start one piece of an operation, natively or as messages; parts are counted here ----
void start_put(operation *op, place target, const void *source, std::size_t bytes, bool ordered);
void start_get(operation *op, void *target, place source, std::size_t bytes, bool ordered);
// op->signals, behind its data and only if all of that was good.
void start_signals(operation *op);
// The position of one that is not to be executed: it only ends what the target remembers of pieces that it has refused.
inline constexpr std::uint64_t no_signal = 0;
// Adds 1 to a counter somewhere, with nobody waiting for it.
void internal_signal(const operation *behind);
// A message of `op`: fills in id and delivery, counts them. By its execution it ends, or by an answer to it.
enum class ends_by { execution, answer };
void send_message(operation *op, int rank, outgoing &m, ends_by end);
// Lets the operation end with an error and says why.
[[gnu::cold]] void note_error(operation *op, int status, std::string text);
[[gnu::cold]] std::string position_text(place where); // "offset 0x40", "address 0x7f.. of its raw space"
[[gnu::cold]] std::string access_text(int status, place where, std::uint64_t bytes);
// Errors that the origin knows: rank, window, capacity. Text set.
int check_range(const char *function, place where, std::uint64_t bytes);
// No earlier ordered operation is under way there that a native access would overtake.
bool keeps_order_natively(const operation *op, bool ordered);
// The accesses that need no message: SEA_OK, an error, or not_native. The lock is not needed unless the rank is this
// one.
int native_put(place target, const void *source, std::size_t bytes);
int native_get(place source, void *target, std::size_t bytes);

// ---- quick.cpp ----

inline constexpr std::uint64_t quick_id = 0; // in the place of an operation's id
void quick_settled(delivery *d, int status);
[[gnu::cold]] void quick_refused(place target, int status);

// ---- own_memory.cpp: own memory at a position of the window or of the raw space; SEA_OK or an error without text ----
int own_write(std::uint64_t position, const void *from, std::size_t bytes, bool past_caches = false);
int own_read(void *to, std::uint64_t position, std::size_t bytes);
int own_update(std::uint64_t position, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
               std::uint64_t *old);
// Raw space only: the memory, if all of it lies in the own heap and the space is open; else nullptr.
std::byte *own_heap_place(std::uint64_t position, std::uint64_t bytes);
// Raw space only: could all of it be written, as far as can be told without touching it?
int own_writable(std::uint64_t position, std::uint64_t bytes);

// ---- responder.cpp ----
// `lazy`: nobody waits for it unless that rank asks (base/transport.hpp).
void send_done(int rank, std::uint64_t id, int status, std::uint64_t offset = 0, bool lazy = false);
// An error of a request, and no signal: those of that operation that follow are not executed.
[[gnu::cold]] void refuse(int source, const frame &head, int status);
// Sends own memory as the answer to operation `id` of `rank`; registered memory and `of` stay in use until it is there.
void send_data(int rank, std::uint64_t id, std::uint64_t cookie, const void *memory, std::uint64_t bytes,
               shm::segment *segment, operation *of);

// ---- message.cpp: parts of the responder ----
// Runs one task; gives the lock back while the program's code runs.
void run_handler(locked &lock, handler_task &task);
void receive_message(int source, const frame &head, std::span<const std::byte> payload);

// ---- call.cpp ----
void execute_call(int source, std::uint64_t id, call_fn fn, std::span<const std::byte> header,
                  std::span<const std::byte> data);
void on_answer(int source, const frame &head, std::span<const std::byte> payload);

// ---- fence.cpp ----
// An operation without a handle has failed: the next fence is to tell it.
[[gnu::cold]] void leave_to_fence(int rank, int status, int kind, std::string text);
int fence_everything(locked &lock, nanoseconds deadline);
// Somebody waits for the ends of operations on that rank; on any. What goes at leisure is hurried up.
void hurry(int rank);
void hurry_all();

// ---- external.cpp ----
void ask_for_end(operation *op); // of one that is at leisure

// ---- waits.cpp ----
void tell_waits();

// ---- membership.cpp ----
void check_membership();
void fail_operations_on(int rank, int status);

inline int rank_of(sea_addr a) { return sea_addr_rank(a); }

// The target counter of an operation on `rank`.
inline place counter_place(const sea_opts *opts, int rank)
{
    if (std::uint64_t address = raw_counter(opts)) return {rank, raw_space | address};
    return opts && opts->target_counter != SEA_NULL ? place_of(opts->target_counter) : place{};
}

} // namespace onesea::core
