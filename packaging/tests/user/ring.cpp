// SPDX-License-Identifier: Apache-2.0
// A user's C++ program: all ranks add to one word of rank 0. "ok" from rank 0 if every addition was counted.
#include <iostream>
#include <onesea.h>
#include <stdexcept>
#include <string>

namespace {

void check(int status)
{
    if (status != SEA_OK) throw std::runtime_error(std::string(sea_strerror(status)) + ": " + sea_last_error());
}

void run()
{
    check(sea_init(nullptr));
    sea_addr word = SEA_NULL;
    std::uint64_t value = 0;
    if (sea_rank() == 0) {
        check(sea_heap_alloc(0, sizeof value, &word));
        check(sea_put(word, &value, sizeof value, nullptr));
    }
    check(sea_broadcast(SEA_TEAM_WORLD, 0, &word, sizeof word));
    for (int i = 0; i < 1000; ++i) check(sea_fetch_add8(word, 1, nullptr, nullptr));
    check(sea_fence(0));
    check(sea_barrier(SEA_TEAM_WORLD));
    check(sea_get(&value, word, sizeof value, nullptr));
    if (value != 1000u * std::uint64_t(sea_size())) sea_abort(3, "some additions were lost");
    if (sea_rank() == 0) std::cout << "ok " << sea_size() << " ranks\n";
    check(sea_finalize());
}

} // namespace

int main()
{
    try {
        run();
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
