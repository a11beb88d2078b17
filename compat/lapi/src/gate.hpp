// SPDX-License-Identifier: Apache-2.0
// Who may run the handlers of a context, and the lock that LAPI_Util() gives to the program.
//
// Handlers run one at a time. In interrupt mode they run on whichever thread brings a message in, unless a thread of
// the program holds the context's lock; in polling mode only while some thread is inside a call that makes progress. A
// thread that holds the lock and waits inside such a call lends its right: any thread may then run a handler for it,
// and the call returns only after that handler has. Who may not run a handler now leaves the message in the inbox, and
// who makes it possible later wakes the thread that waits for that (wait_to_enter).
#pragma once

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace lapi {

class gate {
  public:
    // ---- handlers
    bool try_enter();
    void leave();
    // Waits until there is `work` and a handler may run, and enters; false: `stop`. Both are looked at under the gate's
    // mutex after every wake().
    template <class Work, class Stop>
    bool wait_to_enter(Work &&work, Stop &&stop)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop() || (work() && may_run()); });
        if (stop()) return false;
        begin_run();
        return true;
    }
    void wake();
    bool runs_here(); // this thread runs a handler

    // ---- calls that make progress
    void begin_progress();
    void end_progress();

    // ---- the program's lock; recursive
    void lock();
    bool try_lock();
    bool unlock(); // false: this thread does not own it
    pthread_t owner();
    bool locked_here(); // by this thread
    // Gives the lock up entirely until signalled (or `until`, may be null); false: not the owner. *timed_out tells.
    bool wait_on(std::condition_variable_any &condition, const timespec *until, bool *timed_out);

    void set_polling(bool on);
    bool polling();

  private:
    bool may_run() const;
    void begin_run();
    bool mine() const { return depth_ > 0 && owner_ == std::this_thread::get_id(); }
    bool i_run() const { return running_ && runner_ == std::this_thread::get_id(); }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::thread::id owner_, runner_;
    pthread_t owner_thread_{};
    int depth_ = 0;       // of the program's lock
    int lent_ = 0;        // calls of the owner that make progress
    int in_progress_ = 0; // calls of all threads that do
    int inner_depth_ = 0; // how often the handler that runs has taken the lock
    bool running_ = false;
    bool polling_ = false;
};

// This thread shall run no handlers (it waits in LAPI_Nopoll_wait).
extern thread_local bool runs_no_handlers;

// A call that makes progress, for its length.
class in_progress {
  public:
    explicit in_progress(gate &g) : gate_(g) { gate_.begin_progress(); }
    ~in_progress() { gate_.end_progress(); }
    in_progress(const in_progress &) = delete;
    in_progress &operator=(const in_progress &) = delete;

  private:
    gate &gate_;
};

} // namespace lapi
