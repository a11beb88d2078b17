// SPDX-License-Identifier: Apache-2.0
// sea_spawn(): asks the agent, which asks the launcher (agent/launcher_spawn.cpp), and waits for the answer. One call
// at a time uses the descriptor; answers to calls that have timed out are dropped.
#include "base/spawn_wish.hpp"
#include "core/engine.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace onesea::core {
namespace {

struct desk {
    std::mutex mutex;
    std::uint32_t last_id = 0;
};

desk &the_desk()
{
    static desk d;
    return d;
}

std::vector<std::string> texts(const char *const *list)
{
    std::vector<std::string> all;
    for (; list && *list; ++list) all.emplace_back(*list);
    return all;
}

int too_late() { return fail(SEA_ERR_TIMEOUT, "sea_spawn: the time given has passed; the rank may still come"); }

int check_wish(const sea_spawn_opts *opts, spawn_wish *wish)
{
    if (engine().inherited.wishes_fd < 0)
        return fail(SEA_ERR_STATE, "sea_spawn: this process was not started by `onesea run`, which starts ranks");
    if (!opts) return SEA_OK;
    if (opts->size != sizeof *opts)
        return fail(SEA_ERR_INVALID, "sea_spawn: sea_spawn_opts.size is {}, this library has {}", opts->size,
                    sizeof *opts);
    if (opts->node < -1 || opts->node >= sea_nodes())
        return fail(SEA_ERR_INVALID, "sea_spawn: there is no node {}; the job has {}", opts->node, sea_nodes());
    wish->node = opts->node;
    wish->arguments = texts(opts->arguments);
    if (opts->arguments && (wish->arguments.empty() || wish->arguments[0].empty()))
        return fail(SEA_ERR_INVALID, "sea_spawn: the arguments do not begin with a program");
    wish->environment = texts(opts->environment);
    for (const std::string &setting : wish->environment)
        if (setting.find('=') == setting.npos || setting[0] == '=')
            return fail(SEA_ERR_INVALID, "sea_spawn: '{}' in the environment is not NAME=value", setting);
    if (opts->directory) wish->directory = opts->directory;
    return SEA_OK;
}

// Milliseconds for poll(), rounded up; -1: without limit.
int milliseconds_until(nanoseconds deadline)
{
    if (deadline == never) return -1;
    const nanoseconds now = now_ns();
    return deadline <= now ? 0 : int(std::min<nanoseconds>((deadline - now + 999'999) / 1'000'000, 1'000'000'000));
}

// An agent that has stopped lets the socket fill up with what earlier calls have asked.
int ask(const std::string &bytes, nanoseconds deadline)
{
    const int fd = engine().inherited.wishes_fd;
    while (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN)
            return fail(SEA_ERR_SYSTEM, "sea_spawn: the agent of this node cannot be asked: {}", std::strerror(errno));
        pollfd p{fd, POLLOUT, 0};
        if (::poll(&p, 1, milliseconds_until(deadline)) == 0) return too_late();
    }
    return SEA_OK;
}

int await_answer(std::uint32_t id, nanoseconds deadline, spawn_answer *result)
{
    const int fd = engine().inherited.wishes_fd;
    std::array<char, 4096> bytes;
    while (true) {
        pollfd p{fd, POLLIN, 0};
        const int ready = ::poll(&p, 1, milliseconds_until(deadline));
        if (ready == 0) return too_late();
        const ssize_t n = ready < 0 ? -1 : ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return fail(SEA_ERR_SYSTEM, "sea_spawn: the agent of this node does not answer");
        auto answer = spawn_answer_from({bytes.data(), std::size_t(n)});
        if (!answer || answer->id != id) continue;
        *result = std::move(*answer);
        return SEA_OK;
    }
}

// Several threads seldom spawn at once, and with a time-out more seldom still: the second looks every millisecond.
std::unique_lock<std::mutex> take_turn(nanoseconds deadline)
{
    if (deadline == never) return std::unique_lock(the_desk().mutex);
    std::unique_lock turn(the_desk().mutex, std::try_to_lock);
    while (!turn.owns_lock() && now_ns() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        turn = std::unique_lock(the_desk().mutex, std::try_to_lock);
    }
    return turn;
}

int spawn(const sea_spawn_opts *opts, int *rank)
{
    if (!rank) return fail(SEA_ERR_INVALID, "sea_spawn: rank is null");
    spawn_wish wish;
    if (int s = check_wish(opts, &wish)) return s;
    const nanoseconds deadline = thread_deadline();
    auto turn = take_turn(deadline);
    if (!turn.owns_lock()) return too_late();
    wish.id = ++the_desk().last_id;
    const std::string bytes = encode(wish);
    if (bytes.size() > most_wish_bytes)
        return fail(SEA_ERR_INVALID, "sea_spawn: arguments and environment have {} bytes, the limit is {}",
                    bytes.size(), most_wish_bytes);
    if (int s = ask(bytes, deadline)) return s;
    spawn_answer answer;
    if (int s = await_answer(wish.id, deadline, &answer)) return s;
    if (answer.status != SEA_OK) return fail(answer.status, "sea_spawn: {}", answer.text);
    locked lock = enter();
    check_membership();
    *rank = answer.rank;
    return SEA_OK;
}

} // namespace
} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_spawn(const sea_spawn_opts *opts, int *rank)
{
    if (int s = check_started("sea_spawn")) return s;
    try {
        return spawn(opts, rank);
    } catch (const std::exception &problem) {
        return fail(SEA_ERR_MEMORY, "sea_spawn: {}", problem.what());
    }
}

int sea_spawner(void)
{
    if (int s = check_started("sea_spawner")) return s;
    return engine().arena.slot_at(engine().slot).spawned_by;
}
