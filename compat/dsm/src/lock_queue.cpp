// SPDX-License-Identifier: Apache-2.0
#include "lock_queue.hpp"

#include "below.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace dsm {
namespace {

constexpr double look_every = 0.5; // seconds: a loss is to be told within about one, and to look costs a round trip

uint task(int node) { return static_cast<uint>(node); }

bool marked_lost(const lock_words &words) { return __atomic_load_n(&words.lost, __ATOMIC_ACQUIRE) != 0; }

} // namespace

void lock_queue::open(lapi_handle_t handle, int node, std::vector<lock_table *> tables)
{
    handle_ = handle;
    node_ = node;
    tables_ = std::move(tables);
}

lock_words &lock_queue::words_of(int node, int lock) const
{
    return (*tables_[static_cast<std::size_t>(node)])[static_cast<std::size_t>(lock)];
}

int lock_queue::update_tail(RMW_ops_t op, int lock, long long *operand, long long &before) const
{
    return LAPI_Onesea_rmw64(handle_, op, task(home(lock)), &words_of(home(lock), lock).tail, operand, &before);
}

// LAPI_SUCCESS: it can be reached, and has not lost the lock.
int lock_queue::look_at(int node, int lock) const
{
    long long lost = 0;
    const int code = LAPI_Onesea_get(handle_, task(node), sizeof lost, &words_of(node, lock).lost, &lost);
    return code == LAPI_SUCCESS && lost ? LAPI_ERR_TGT_PURGED : code;
}

bool lock_queue::somebody_is_lost(int lock) const
{
    for (int node = 0; node < int(tables_.size()); node++)
        if (look_at(node, lock) != LAPI_SUCCESS) return true;
    return false;
}

int lock_queue::wait_behind(int before, int lock) const
{
    lapi_cntr_t &granted = mine(lock).granted;
    int ahead = LAPI_SUCCESS, code;
    for (;;) { // once more after it was lost: it may have granted before
        code = LAPI_Onesea_waitcntr(handle_, &granted, 1, ahead == LAPI_SUCCESS ? look_every : 0);
        if (code != LAPI_ERR_TIMEOUT) break;
        if (ahead != LAPI_SUCCESS) return ahead;
        ahead = look_at(before, lock);
    }
    return code == LAPI_SUCCESS && marked_lost(mine(lock)) ? LAPI_ERR_TGT_PURGED : code;
}

// True if a look that has been begun says so, else begins one: in a thread of its own, for a stopped node answers late.
bool lock_queue::looks_lost(int lock, std::future<bool> &look) const
{
    if (look.valid()) return look.wait_for(std::chrono::seconds(0)) == std::future_status::ready && look.get();
    try {
        look = std::async(std::launch::async, [this, lock] { return somebody_is_lost(lock); });
        return false;
    } catch (const std::system_error &) { // no thread
        return somebody_is_lost(lock);
    }
}

int lock_queue::wait_for_link(int lock)
{
    std::future<bool> look;
    int code = LAPI_SUCCESS;
    for (bool lost = false;;) {
        code =
            LAPI_Onesea_waitcntr(handle_, &mine(lock).linked, 1, look_every / 2); // to begin a look, and to hear of it
        if (code != LAPI_ERR_TIMEOUT) break;
        if (lost) code = LAPI_ERR_TGT_PURGED;
        if (lost) break;
        lost = looks_lost(lock, look);
    }
    keep(std::move(look));
    return code;
}

// One that is still under way is waited for when the queue goes.
void lock_queue::keep(std::future<bool> look)
{
    const auto over = [](std::future<bool> &f) {
        return !f.valid() || f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    if (over(look)) return;
    std::lock_guard guard(looks_mutex_);
    std::erase_if(looks_, over);
    looks_.push_back(std::move(look));
}

void lock_queue::close()
{
    std::lock_guard guard(looks_mutex_);
    looks_.clear();
}

int lock_queue::enter(int lock) const
{
    long long me = node_ + 1, before = 0;
    if (int code = update_tail(SWAP, lock, &me, before)) return code;
    if (before == 0) return LAPI_SUCCESS;
    const int ahead = static_cast<int>(before) - 1;
    lock_words &theirs = words_of(ahead, lock);
    if (int code = LAPI_Onesea_put(handle_, task(ahead), sizeof me, &theirs.next, &me, &theirs.linked)) return code;
    return wait_behind(ahead, lock);
}

int lock_queue::leave(int lock)
{
    int linked = 0;
    if (int code = LAPI_Getcntr(handle_, &mine(lock).linked, &linked)) return code;
    if (linked == 0) {
        std::array<long long, 2> expect_then_free = {node_ + 1, 0};
        long long done = 0;
        if (int code = update_tail(COMPARE_AND_SWAP, lock, expect_then_free.data(), done)) return code;
        if (done != 0) return LAPI_SUCCESS;
    }
    if (int code = wait_for_link(lock)) return code;
    const int next = static_cast<int>(__atomic_load_n(&mine(lock).next, __ATOMIC_ACQUIRE)) - 1;
    return LAPI_Put(handle_, task(next), 0, nullptr, nullptr, &words_of(next, lock).granted, nullptr, nullptr);
}

// Also after an update of the tail whose end is not known: this node may be in the queue.
int lock_queue::lose(int lock, int code) const
{
    static long long yes = 1; // a Put of it may be on its way for long
    __atomic_store_n(&mine(lock).lost, 1, __ATOMIC_SEQ_CST);
    int linked = 0;
    if (LAPI_Getcntr(handle_, &mine(lock).linked, &linked) == LAPI_SUCCESS && linked > 0) {
        const int next = static_cast<int>(__atomic_load_n(&mine(lock).next, __ATOMIC_ACQUIRE)) - 1;
        lock_words &theirs = words_of(next, lock);
        LAPI_Put(handle_, task(next), sizeof yes, &theirs.lost, &yes, &theirs.granted, nullptr, nullptr);
    }
    return fail(DSM_ERR_BELOW, "lock {}: its home, or a node that held it or waited for it, is lost: LAPI: {}", lock,
                words_of_lapi(code).data());
}

int lock_queue::acquire(int lock)
{
    const int code = marked_lost(mine(lock)) ? int{LAPI_ERR_TGT_PURGED} : enter(lock);
    return code == LAPI_SUCCESS ? int{DSM_OK} : lose(lock, code);
}

int lock_queue::release(int lock)
{
    const int code = leave(lock);
    return code == LAPI_SUCCESS ? int{DSM_OK} : lose(lock, code);
}

} // namespace dsm
