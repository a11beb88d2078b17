// SPDX-License-Identifier: Apache-2.0
// throwing header|completion|data|error|death: the last rank has a handler that throws. Rank 0 sends it a message that
// waits for it (`data`: one whose data has to be fetched), refuses one of it, or ends with 7.
#include <onesea.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <vector>

namespace {

std::vector<char> place(1 << 20);

void throw_at_end(int, void *, std::size_t, void *) { throw std::runtime_error("thrown by a completion handler"); }

void *throw_at_once(const sea_am *, sea_am_complete_fn *, void **)
{
    throw std::runtime_error("thrown by a header handler");
}

void *take(const sea_am *, sea_am_complete_fn *on_complete, void **)
{
    *on_complete = throw_at_end;
    return place.data();
}

void throw_at_death(int, int, void *) { throw std::runtime_error("thrown by a handler of deaths"); }

void throw_at_error(int, int, int, void *) { throw std::runtime_error("thrown by a handler of errors"); }

// Nobody has handler 901. A refusal that is back before the call returns is told by the call; then another is started.
void send_what_is_refused()
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    while (sea_am_send(0, 901, nullptr, 0, nullptr, 0, &o) == SEA_ERR_HANDLER) continue;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2 || sea_init(nullptr) != SEA_OK) return 2;
    const auto asked = [&](const char *what) { return std::strcmp(argv[1], what) == 0; };
    const bool last = sea_rank() == sea_size() - 1;
    if (sea_am_register(1, asked("header") ? throw_at_once : take, nullptr) != SEA_OK) return 2;
    if (last && sea_on_death(throw_at_death, nullptr) != SEA_OK) return 2;
    if (last && sea_on_error(throw_at_error, nullptr) != SEA_OK) return 2;
    if (sea_barrier(SEA_TEAM_WORLD) != SEA_OK && !asked("death")) return 2; // rank 0 may be dead before we leave it
    const bool sends = asked("header") || asked("completion") || asked("data");
    if (sea_rank() == 0 && sends)
        sea_am_send(sea_size() - 1, 1, nullptr, 0, place.data(), asked("data") ? place.size() : 8, nullptr);
    if (sea_rank() == 0 && asked("death")) std::_Exit(7);
    try {
        if (last && asked("error")) send_what_is_refused();
        sea_fence_all(); // of rank 0: until the handlers have run
        sea_barrier(SEA_TEAM_WORLD);
        while (asked("error") || asked("death")) sea_poll();
    } catch (const std::exception &) { // which call the handler ran in is chance
        return 3;
    }
    return 0;
}
