// SPDX-License-Identifier: Apache-2.0
// With two ranks of two nodes, --on-death continue and ONESEA_NET_FAULTS=give_up=S: rank 1 is stopped and silent under
// all kinds of calls, and the link to it is given up. Each call ends with an error that names it; rank 0 talks on, to
// itself. Then rank 1 is killed, for it cannot leave with rank 0.
#include "battery.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/types.h>
#include <unistd.h>

namespace battery {
namespace {

bool is_stopped(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::ostringstream text;
    text << file.rdbuf();
    const auto end = text.str().rfind(") ");
    return end == std::string::npos || text.str()[end + 2] == 'T';
}

void expect_unreachable(int status, const char *words)
{
    EXPECT_STATUS(MP_ERR_LINK, status);
    EXPECT_WORDS(words);
}

void requests_end_with_an_error()
{
    std::vector<char> big(4 << 20);
    int word = 0, found = 0;
    MP_request receive, open, send, small;
    EXPECT_DONE(MP_receive(1, 1, &word, sizeof word, &receive));
    EXPECT_DONE(MP_receive(MP_ANY_SOURCE, 2, &word, sizeof word, &open));
    EXPECT_DONE(MP_send(1, 3, big.data(), big.size(), &send));
    EXPECT_DONE(MP_send(1, 4, &word, sizeof word, &small)); // it may be lost without an error
    expect_unreachable(MP_send(1, 5, big.data(), big.size(), nullptr), "MP_send: 4194304 bytes to rank 1, tag 5");
    expect_unreachable(MP_wait(&receive, nullptr), "MP_wait: 4 bytes from rank 1, tag 1");
    expect_unreachable(MP_wait(&open, nullptr), "MP_wait: 4 bytes from any rank, tag 2");
    expect_unreachable(MP_wait(&send, nullptr), "MP_wait: 4194304 bytes to rank 1, tag 3");
    EXPECT_DONE(MP_wait(&small, nullptr));
    expect_unreachable(MP_probe(1, 6, nullptr), "rank 1, tag 6");
    expect_unreachable(MP_look(1, 6, &found, nullptr), "rank 1, tag 6");
    expect_unreachable(MP_receive(1, 6, &word, sizeof word, nullptr), "rank 1, tag 6");
    expect_unreachable(MP_send(1, 6, &word, sizeof word, nullptr), "rank 1, tag 6");
}

} // namespace

int unreachable()
{
    EXPECT_DONE(MP_init());
    pid_t other = 0;
    if (MP_rank() == 1) {
        other = getpid();
        EXPECT_DONE(MP_send(0, 0, &other, sizeof other, nullptr));
        raise(SIGSTOP);
        return 1;
    }
    EXPECT_DONE(MP_receive(1, 0, &other, sizeof other, nullptr));
    while (!is_stopped(other)) usleep(1000);
    requests_end_with_an_error();
    EXPECT_STATUS(MP_ERR_LINK, MP_barrier());
    int word = 0;
    const int seven = 7;
    EXPECT_DONE(MP_send(0, 8, &seven, sizeof seven, nullptr));
    EXPECT_DONE(MP_receive(MP_ANY_SOURCE, 8, &word, sizeof word, nullptr));
    EXPECT(word == seven);
    kill(other, SIGKILL);
    std::printf("unreachable: %d failures\n", failures());
    std::fflush(stdout);
    return MP_finalize() == MP_OK && failures() == 0 ? 0 : 1;
}

} // namespace battery
