// SPDX-License-Identifier: Apache-2.0
// throwing header|completion|data: the last rank has a handler that throws, and rank 0 sends it a message that waits
// for it. `data`: the completion handler of a message whose data had to be fetched.
#include <onesea.h>

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

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2 || sea_init(nullptr) != SEA_OK) return 2;
    const bool at_once = std::strcmp(argv[1], "header") == 0;
    const std::size_t bytes = std::strcmp(argv[1], "data") == 0 ? place.size() : 8;
    if (sea_am_register(1, at_once ? throw_at_once : take, nullptr) != SEA_OK) return 2;
    if (sea_barrier(SEA_TEAM_WORLD) != SEA_OK) return 2;
    if (sea_rank() == 0) sea_am_send(sea_size() - 1, 1, nullptr, 0, place.data(), bytes, nullptr);
    try {
        sea_fence_all(); // of rank 0: until the handlers have run
        sea_barrier(SEA_TEAM_WORLD);
    } catch (const std::exception &) { // which call the handler ran in is chance
        return 3;
    }
    return 0;
}
