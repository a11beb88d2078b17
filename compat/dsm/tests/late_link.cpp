// SPDX-License-Identifier: Apache-2.0
// Three nodes. Node 1 comes behind node 0 in the queue of a lock and is late to say so; node 2 is stopped meanwhile.
// Node 0, which gives the lock back, waits for node 1 alone.
#include <dsm.h>
#include <lapi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

namespace {

using std::chrono::milliseconds;

constexpr milliseconds link_is_late(2000), node_is_stopped(8000), limit(5000);
bool late = false;

milliseconds now()
{
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

int give_back(int lock, pid_t stopped)
{
    std::this_thread::sleep_for(milliseconds(500)); // node 1 is in the queue
    kill(stopped, SIGSTOP);
    std::thread waker([stopped] {
        std::this_thread::sleep_for(node_is_stopped);
        kill(stopped, SIGCONT);
    });
    const milliseconds start = now();
    const int status = dsm_unlock(lock);
    const milliseconds took = now() - start;
    std::printf("late link: status %d, %s\n", status, took < limit ? "in time" : "held up");
    std::fflush(stdout);
    waker.join();
    return status == DSM_OK && took < limit ? 0 : 1;
}

} // namespace

// libdsm's; the link of the queue goes by it.
extern "C" int LAPI_Onesea_put(lapi_handle_t handle, uint target, ulong bytes, void *there, void *here,
                               lapi_cntr_t *counter)
{
    static auto *next = reinterpret_cast<decltype(&LAPI_Onesea_put)>(dlsym(RTLD_NEXT, "LAPI_Onesea_put"));
    if (late) std::this_thread::sleep_for(link_is_late);
    return next(handle, target, bytes, there, here, counter);
}

int main()
{
    constexpr int lock = 3; // its home is node 0
    if (dsm_init(64) != DSM_OK) return 2;
    const int me = dsm_node();
    const std::int64_t pid = getpid();
    std::int64_t stopped = 0;
    int wrong = me == 2 && dsm_write_b(0, 0, &pid, sizeof pid) != DSM_OK;
    wrong += me == 0 && dsm_lock(lock) != DSM_OK;
    wrong += dsm_barrier() != DSM_OK;
    late = me == 1;
    if (me == 0) wrong += dsm_read(0, 0, &stopped, sizeof stopped) != DSM_OK;
    if (me == 0) wrong += give_back(lock, static_cast<pid_t>(stopped));
    if (me == 1) wrong += dsm_lock(lock) != DSM_OK || dsm_unlock(lock) != DSM_OK;
    wrong += dsm_term() != DSM_OK;
    return wrong == 0 ? 0 : 1;
}
