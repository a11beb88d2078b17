// SPDX-License-Identifier: Apache-2.0
// LAPI_Init() and LAPI_Term(). Init is collective: all tasks must have the context before the first message for it
// comes, and they tell each other where their shared memory lies. Term is local. The job itself is left when the
// process ends: LAPI has no call for that, and after LAPI_Term() others may still reach this task's memory.
#include "context.hpp"

#include "message.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace lapi {

std::atomic<context *> contexts[context_slots];

namespace {

std::mutex starting;
lapi_handle_t last_handle = 0;
pid_t job_process = 0; // that has joined the job for LAPI

// What a task tells the others.
struct shared_memory {
    sea_addr first; // an allocation, which lives as long as the job
    std::uint64_t base, bytes;
};

// False: somebody else ends it.
bool end(context &c)
{
    if (c.ending.exchange(true)) return false;
    c.completions.stop();
    c.errors.stop();
    c.open = false;
    c.waiting.stop(c.handlers);
    c.tracked.stop();
    sea_team_free(c.team);
    return true;
}

// A process that ends well leaves the job well, whether or not it has called LAPI_Term(). One that fails does not: the
// launcher is to see it.
void leave_job(int status, void *)
{
    if (status != 0 || getpid() != job_process || !sea_initialized()) return;
    for_each_context([](context &c) {
        end(c);
        return false;
    });
    sea_finalize();
}

int join_job()
{
    if (job_process == getpid()) return LAPI_SUCCESS;
    const bool ours = !sea_initialized();
    if (ours) {
        int status = sea_init(nullptr);
        if (status != SEA_OK) return status == SEA_ERR_STATE ? LAPI_ERR_CSS_LOAD_FAILED : from_sea(status);
    }
    if (sea_team_rank(SEA_TEAM_WORLD) == SEA_ERR_RANK) return LAPI_ERR_CSS_LOAD_FAILED; // sea_spawn() started it
    if (int status = sea_raw_open()) return from_sea(status);
    if (int status = register_handlers()) return from_sea(status);
    job_process = getpid();
    if (ours) on_exit(leave_job, nullptr);
    return LAPI_SUCCESS;
}

int describe_memory(int me, shared_memory *mine)
{
    static shared_memory known = {};
    if (known.first == SEA_NULL) {
        std::size_t capacity = 0;
        if (int status = sea_heap_usage(me, &capacity, nullptr)) return status;
        sea_addr first = SEA_NULL;
        if (int status = sea_heap_alloc(me, 64, &first)) return status;
        auto at = reinterpret_cast<std::uintptr_t>(sea_local(first));
        known = {first, at - sea_addr_offset(first), capacity};
    }
    *mine = known;
    return SEA_OK;
}

int open_contexts()
{
    int count = 0;
    for_each_context([&](context &) {
        ++count;
        return false;
    });
    return count;
}

// The next number whose place is free at every task, in last_handle. Tasks may have ended different contexts by now.
int agree_on_handle()
{
    std::int64_t next = std::int64_t(last_handle) + 1;
    for (;;) {
        for (context *c; (c = contexts[next % context_slots].load()) && c->open;) ++next;
        const std::int64_t mine[2] = {next, -next};
        std::int64_t most[2];
        if (int status = sea_allreduce(SEA_TEAM_WORLD, mine, most, 2, SEA_INT64, SEA_MAX)) return status;
        next = most[0];
        if (most[0] != -most[1]) continue;
        last_handle = lapi_handle_t(next);
        return SEA_OK;
    }
}

int meet(context &c)
{
    shared_memory mine;
    if (int status = describe_memory(c.me, &mine)) return status;
    if (int status = sea_team_split(SEA_TEAM_WORLD, 0, c.me, &c.team)) return status;
    std::vector<shared_memory> all(std::size_t(c.n));
    if (int status = sea_allgather(c.team, &mine, all.data(), sizeof mine)) return status;
    for (int t = 0; t < c.n; ++t) {
        task &to = c.tasks[t];
        to.heap = all[std::size_t(t)].base;
        to.heap_bytes = all[std::size_t(t)].bytes;
        to.near = c.use_shm && sea_local(all[std::size_t(t)].first) != nullptr;
        if (sea_alive(t) != 1) to.near = false; // its death may have been told just before
    }
    return sea_barrier(c.team);
}

bool names_lapi(const char *list)
{
    std::string padded = "," + std::string(list) + ",";
    return padded.find(",lapi,") != std::string::npos || padded.find(",mpi_lapi,") != std::string::npos;
}

int check(const lapi_info_t &info)
{
    const uint known = LAPI_INTERRUPT_OFF | 0xfu;
    if ((info.protocol & ~known) || info.lib_vers < L1_LIB || info.lib_vers > LAST_LIB || info.epoch_num ||
        info.num_compl_hndlr_thr < 0 || info.num_compl_hndlr_thr > 1024 || info.info6 || info.lapi_thread_attr ||
        info.add_info)
        return LAPI_ERR_INFO_NONZERO;
    const char *api = std::getenv("MP_MSG_API");
    return api && *api && !names_lapi(api) ? LAPI_ERR_MSG_API : LAPI_SUCCESS;
}

int begin(lapi_info_t *info, lapi_handle_t *handle)
{
    std::lock_guard lock(starting);
    if (open_contexts() == max_contexts) return LAPI_ERR_ALL_HNDL_IN_USE;
    if (int code = join_job()) return code;
    if (int status = agree_on_handle()) return from_sea(status);
    auto &slot = contexts[last_handle % context_slots];
    auto *c = new context; // stays when it has ended: see context.hpp
    c->handle = last_handle;
    c->me = sea_team_rank(SEA_TEAM_WORLD);
    c->n = sea_team_size(SEA_TEAM_WORLD);
    c->tasks.reset(new task[std::size_t(c->n)]);
    c->lib_vers = info->lib_vers;
    c->err_hndlr = info->err_hndlr;
    const char *shm = std::getenv("LAPI_USE_SHM");
    c->use_shm = !shm || std::strcmp(shm, "no") != 0;
    c->completions.set_most(info->num_compl_hndlr_thr ? info->num_compl_hndlr_thr : 1);
    c->handlers.set_polling((info->protocol & LAPI_INTERRUPT_OFF) != 0);
    c->open = true;
    slot = c;
    if (int status = meet(*c)) {
        c->open = false;
        return from_sea(status);
    }
    info->protocol = sea_nodes() > 1 ? UDP_DEV : SHM_DEV;
    *handle = c->handle;
    return LAPI_SUCCESS;
}

} // namespace
} // namespace lapi

using namespace lapi;

extern "C" int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
    if (!hndl) return LAPI_ERR_RET_PTR_NULL;
    if (!lapi_info) return LAPI_ERR_INFO_NULL;
    if (int code = check(*lapi_info)) return code;
    return guarded([&] { return begin(lapi_info, hndl); });
}

extern "C" int PLAPI_Term(lapi_handle_t hndl)
{
    context *c = find(hndl);
    if (!c || c->handlers.runs_here()) return LAPI_ERR_HNDL_INVALID;
    return guarded([&] { return end(*c) ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID; });
}

extern "C" int LAPI_Onesea_shared_alloc(lapi_handle_t hndl, ulong bytes, void **memory)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!memory) return LAPI_ERR_RET_PTR_NULL;
    if (bytes == 0) return LAPI_ERR_DATA_LEN;
    sea_addr address;
    if (int status = sea_heap_alloc(c->me, bytes, &address)) return from_sea(status);
    *memory = sea_local(address);
    return LAPI_SUCCESS;
}

extern "C" int LAPI_Onesea_shared_free(lapi_handle_t hndl, void *memory)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!memory) return LAPI_SUCCESS;
    sea_addr address;
    int status = sea_global(memory, &address);
    return from_sea(status == SEA_OK ? sea_heap_free(address) : status);
}

LAPI_TWIN(Init);
LAPI_TWIN(Term);
