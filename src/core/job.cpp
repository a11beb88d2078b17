// SPDX-License-Identifier: Apache-2.0
// Start and end of this process's part in the job.
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "core/engine.hpp"
#include "core/windows.hpp"
#include "net/net_transport.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace onesea::core {
namespace {

constexpr nanoseconds copies_end = 1'000'000'000;   // for copies from or to own memory
constexpr nanoseconds drain_limit = 10'000'000'000; // for peers that have stopped answering without having died

struct lifecycle {
    void (*started)();
    void (*ended)();
};

// A forked process has the rank's keys and its packet numbers. If both sent, numbers would repeat, and with them the
// nonces of the cipher.
void shut_out_forked_processes()
{
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
        role running = role::running;
        if (engine().state.compare_exchange_strong(running, role::forked)) close_windows();
    });
    if (registered != 0) log(level::warn, "a process forked from this one could disturb it: pthread_atfork failed");
}

std::vector<lifecycle> &lifecycles()
{
    static auto &all = *new std::vector<lifecycle>; // never destroyed: programs may finalize at their exit
    return all;
}

int (*leave_barrier)(nanoseconds deadline) = nullptr;
bool inheritance_taken = false; // by a sea_init(), whatever has become of it: there is nothing left for another

int system_failure(const char *what, int error)
{
    return fail(error == ENOMEM ? SEA_ERR_MEMORY : SEA_ERR_SYSTEM, "sea_init: {}: {}", what, std::strerror(error));
}

// The arena of a job of one.
int make_own_arena(const sea_config *config)
{
    auto &e = engine();
    shm::arena_plan plan;
    plan.heap_bytes = config ? config->heap_bytes : 0;
    if (plan.heap_bytes > shm::max_heap_bytes)
        return fail(SEA_ERR_INVALID, "sea_init: heap_bytes {} is more than {}", plan.heap_bytes, shm::max_heap_bytes);
    int fd = -1;
    if (int s = shm::arena::create(plan, &e.arena, &fd)) return system_failure("shared memory", -s);
    ::close(fd);
    int doorbell = above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (doorbell < 0) return system_failure("eventfd", errno);
    e.arena.slot_at(0).doorbell = doorbell;
    e.arena.occupy(0, 0, -1);
    e.arena.ranks().place(0, 0, 0);
    e.arena.header().ranks = 1;
    e.arena.header().world = 1;
    e.inherited = birth{};
    e.inherited.counts_fd = counts_page::create(0, 1);
    if (e.inherited.counts_fd < 0) return system_failure("memory for counts", -e.inherited.counts_fd);
    return SEA_OK;
}

int take_inheritance(const char *text)
{
    auto &e = engine();
    auto b = parse_birth(text);
    if (!b)
        return fail(SEA_ERR_LAUNCH,
                    "sea_init: {} is '{}', which this library does not understand; start the program "
                    "with `onesea run` of the same version",
                    birth_variable, text);
    const int mapped = shm::arena::map(b->arena_fd, &e.arena);
    if (mapped == -EPROTO)
        return fail(SEA_ERR_LAUNCH,
                    "sea_init: descriptor {} holds no shared memory of this version of the library; start the program "
                    "with the `onesea` that was installed with it",
                    b->arena_fd);
    if (mapped)
        return fail(SEA_ERR_LAUNCH,
                    "sea_init: the descriptor {} inherited from the launcher is not its shared memory: "
                    "{}; does a wrapper close descriptors?",
                    b->arena_fd, std::strerror(-mapped));
    auto &h = e.arena.header();
    if (b->slot >= h.slots || e.arena.slot_at(b->slot).rank != b->rank)
        return fail(SEA_ERR_LAUNCH, "sea_init: {} names slot {} and rank {}, which do not belong together",
                    birth_variable, b->slot, b->rank);
    if (e.arena.slot_at(b->slot).initialized.exchange(1) != 0)
        return fail(SEA_ERR_STATE, "sea_init: another process is rank {} already; one program of each rank may call it",
                    b->rank);
    ::close(b->arena_fd);
    for (int fd : {b->udp_fd, b->lifeline_fd, b->counts_fd, b->wishes_fd})
        if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    for (unsigned s = 0; s < h.slots; ++s) {
        int fd = e.arena.slot_at(s).doorbell;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    unsetenv(birth_variable);
    inheritance_taken = true;
    e.inherited = *b;
    return SEA_OK;
}

int enter_job(const sea_config *config)
{
    if (const char *text = std::getenv(birth_variable)) return take_inheritance(text);
    if (!inheritance_taken) return make_own_arena(config);
    return fail(SEA_ERR_STATE,
                "sea_init: an earlier call failed on the way into the job, and left nothing to begin with");
}

bool lookup(int rank, net::peer_address *where)
{
    auto &e = engine();
    if (rank < 0 || rank >= e.size()) return false;
    const shm::rank_table ranks = e.arena.ranks();
    if (!ranks.alive(rank)) return false;
    const shm::node_place n = e.arena.nodes()[ranks.node(rank)];
    std::memcpy(where->address, n.address, sizeof where->address);
    where->port = ranks.port(rank);
    where->mtu = n.mtu;
    where->scope = n.scope;
    return true;
}

int open_net()
{
    auto &e = engine();
    if (e.inherited.udp_fd < 0) return SEA_OK;
    auto &h = e.arena.header();
    net::net_config config;
    config.rank = e.rank;
    config.udp_fd = e.inherited.udp_fd;
    std::memcpy(config.job_key.data(), h.key, config.job_key.size());
    config.secure = net::secure_mode(h.secure);
    config.own_mtu = e.arena.nodes()[h.node].mtu;
    config.tuning = h.tuning;
    config.lookup = lookup;
    config.ranks = [] { return engine().size(); };
    config.counts = e.counts.get();
    const char *faults = std::getenv(net::faults_variable);
    if (int s = net::parse_faults(faults ? faults : "", &config.faults)) return s;
    int status = SEA_OK;
    e.net = net::make_net_transport(std::move(config), e, &status);
    return e.net ? SEA_OK : status;
}

int open_counts()
{
    auto &e = engine();
    int error = 0;
    e.counts = counts_page::map(e.inherited.counts_fd, &error);
    if (e.counts) return SEA_OK;
    return fail(SEA_ERR_LAUNCH, "sea_init: the descriptor {} inherited from the launcher is no page for counts: {}",
                e.inherited.counts_fd, std::strerror(error));
}

int open_transports()
{
    auto &e = engine();
    auto &h = e.arena.header();
    bool only_self = h.transport == shm::transport_choice::net;
    if (e.slot == 0)
        for (path_kind path : all_paths) log(level::info, "{}: {}", name_of(path), to_text(path, h.tuning.of(path)));
    e.shm = std::make_unique<shm::shm_transport>(e.arena, e.slot, only_self, e);
    e.last_far = 0;
    e.local_rows = std::make_unique<std::atomic<pair_row *>[]>(h.slots);
    if (int s = open_net()) return s;
    if (int error = e.sleep.wake.open()) return system_failure("eventfd, timerfd_create", error);
    if (int error = e.sleep.place.open(e.sleep.wake, e.inherited.lifeline_fd))
        return system_failure("epoll_create1, epoll_ctl", error);
    e.sleep.oversubscribed = h.ranks_on_machine > unsigned(sysconf(_SC_NPROCESSORS_ONLN));
    return SEA_OK;
}

int start(const sea_config *config)
{
    auto &e = engine();
    if (int s = enter_job(config)) return s;
    e.rank = e.inherited.rank;
    e.slot = e.inherited.slot;
    set_log_rank(e.rank);
    const bool known_by_it = shm::pid_space() == e.arena.header().pid_space;
    e.arena.slot_at(e.slot).pid.store(known_by_it ? int(getpid()) : 0, std::memory_order_release);
    e.arena.slot_at(e.slot).raw_open = 0;
    e.arena.slot_at(e.slot).initialized = 1;
    if (int s = open_counts()) return s;
    if (int s = open_transports()) return s;
    e.arena.ask_for_huge_pages(e.slot);
    e.arena.slot_at(e.slot).heap_at.store(reinterpret_cast<std::uint64_t>(e.shm->own_heap_memory()));
    e.mutex.prepare();
    locked lock(e.mutex);
    open_windows();
    e.seen_ended = 0;
    e.seen_ranks = world_size();
    check_membership();
    return SEA_OK;
}

// Gives everything back; the state of the library is as before sea_init(), but ended.
void tear_down()
{
    auto &e = engine();
    close_windows();
    e.net.reset();
    e.shm.reset();
    e.raw.reset();
    for (int fd : {e.inherited.udp_fd, e.inherited.wishes_fd})
        if (fd >= 0) ::close(fd);
    e.sleep.wake.close();
    e.sleep.place.close();
    if (e.arena)
        for (unsigned s = 0; s < e.arena.header().slots; ++s)
            if (e.arena.slot_at(s).doorbell >= 0) ::close(e.arena.slot_at(s).doorbell);
    e.peers.clear();
    e.cut_off.clear();
    e.last_peer = nullptr;
    e.arena = shm::arena();
}

int drain_and_leave()
{
    auto &e = engine();
    nanoseconds deadline = thread_deadline();
    locked lock = enter();
    int first = fence_everything(lock, deadline);
    std::string text = first == SEA_OK ? "" : last_error();
    lock.unlock();
    int s = leave_barrier ? leave_barrier(deadline) : SEA_OK;
    if (first == SEA_OK && s != SEA_OK && s != SEA_ERR_DEAD) {
        first = s;
        text = last_error();
    }
    lock.lock();
    auto idle = [&] {
        bool all = e.handlers.idle();
        e.for_each_transport([&](transport &t) { all &= t.idle(); });
        return all;
    };
    wait(lock, idle, std::min(deadline, now_ns() + drain_limit));
    return first == SEA_OK ? SEA_OK : set_error(first, std::move(text));
}

// Nobody touches this process's own memory any more, also where others have not been waited for. A copy that is under
// way is waited for, unless its process has been stopped in it.
void close_own_memory()
{
    auto &e = engine();
    e.shm->own_segments().remove_all();
    e.arena.slot_at(e.slot).raw_open.store(0, std::memory_order_seq_cst);
    std::vector<bool> passed;
    const nanoseconds end = now_ns() + copies_end;
    while (!e.shm->nobody_copies(&passed) && now_ns() < end) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

} // namespace

constinit std::atomic<engine_state *> the_engine{nullptr};

engine_state &make_engine()
{
    static auto *e = new engine_state;
    the_engine.store(e, std::memory_order_release);
    return *e;
}

void set_leave_barrier(int (*fn)(nanoseconds)) { leave_barrier = fn; }

void add_lifecycle(void (*started)(), void (*ended)()) { lifecycles().push_back({started, ended}); }

std::size_t eager_message_limit(int rank)
{
    transport *t = engine().route(rank);
    return t ? t->tuning(rank).eager_message : path_tuning{}.eager_message;
}

std::size_t fragment_length(int rank)
{
    transport *t = engine().route(rank);
    return t ? t->tuning(rank).fragment : 0;
}

int world_size() { return int(engine().arena.header().world.load(std::memory_order_acquire)); }

int check_started(const char *function)
{
    role now = engine().state.load(std::memory_order_acquire);
    if (now == role::running) [[likely]]
        return SEA_OK;
    const char *why = now == role::ended    ? "sea_finalize() has been called"
                      : now == role::forked ? "this process was forked from a rank, which alone may call the library"
                                            : "sea_init() has not been called";
    return fail(SEA_ERR_STATE, "{}: {}", function, why);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_init(const sea_config *config)
{
    auto &e = engine();
    role expected = role::absent;
    if (config && config->size != sizeof(sea_config))
        return fail(SEA_ERR_INVALID, "sea_init: sea_config.size is {}, this library has {}", config->size,
                    sizeof(sea_config));
    if (!e.state.compare_exchange_strong(expected, role::starting))
        return fail(SEA_ERR_STATE, "sea_init: it has been called before");
    try {
        if (int s = start(config)) {
            std::string text = last_error();
            tear_down();
            e.state = role::absent;
            return set_error(s, std::move(text));
        }
        shut_out_forked_processes();
        e.state = role::running;
        start_dispatcher();
    } catch (const std::exception &problem) {
        tear_down();
        e.state = role::absent;
        return fail(SEA_ERR_SYSTEM, "sea_init: {}", problem.what());
    }
    for (auto &l : lifecycles())
        if (l.started) l.started();
    return SEA_OK;
}

int sea_finalize(void)
{
    if (int s = check_started("sea_finalize")) return s;
    if (inside_handler()) // exit() in a handler comes here, too
        return fail(SEA_ERR_STATE, "sea_finalize: it waits for all handlers, so none of them can call it");
    auto &e = engine();
    int status = drain_and_leave();
    std::string text = status == SEA_OK ? "" : last_error();
    stop_dispatcher();
    {
        locked lock(e.mutex);
        e.for_each_transport([](transport &t) { t.close(); });
    }
    for (auto &l : lifecycles())
        if (l.ended) l.ended();
    close_own_memory();
    e.arena.slot_at(e.slot).initialized = 2;
    e.state = role::ended;
    tear_down();
    return status == SEA_OK ? SEA_OK : set_error(status, std::move(text));
}

int sea_initialized(void) { return engine().state.load() == role::running; }

void sea_abort(int code, const char *text)
{
    auto &e = engine();
    const std::string who = e.rank >= 0 ? fmt::format("rank {}", e.rank) : fmt::format("process {}", getpid());
    const bool possible = code >= 1 && code <= 125;
    const std::string instead = possible ? std::string() : fmt::format(" instead of {}", code);
    std::string line = fmt::format("onesea: {} aborts with code {}{}{}{}\n", who, possible ? code : 1, instead,
                                   text ? ": " : "", text ? text : "");
    [[maybe_unused]] auto n = ::write(STDERR_FILENO, line.data(), line.size());
    _exit(possible ? code : 1);
}
