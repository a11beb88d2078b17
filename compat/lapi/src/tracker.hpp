// SPDX-License-Identifier: Apache-2.0
// Operations whose end somebody must be told by a call and not by a counter: send completion handlers, handlers of
// gets, counters with destinations. onesea.h tells ends by handles and counters only, so a thread, made when the first
// such operation comes, waits for one counter that all of them add to and looks at their handles. No function of the
// program that may wait runs on that thread: it could wait for what the thread has to end.
#pragma once

#include <onesea.h>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lapi {

class tracker {
  public:
    struct operation {
        sea_op op = SEA_OP_NONE;
        std::function<void()> locally;   // once the origin's buffer may be reused; may be empty
        std::function<void(int)> at_end; // with the operation's status; may be empty
    };

    // What the options of such an operation point at.
    sea_counter *events() { return &events_; }
    void follow(operation o);
    void stop();

  private:
    bool look_at(operation &o); // true: it has ended
    void serve();

    std::mutex mutex_;
    std::vector<operation> operations_;
    sea_counter events_ = {0};
    bool stopped_ = false;
    std::thread thread_;
};

} // namespace lapi
