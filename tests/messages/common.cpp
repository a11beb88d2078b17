// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include "stacks.hpp"
#include <onesea.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace {

[[noreturn]] void usage(const char *program, std::initializer_list<number_option> options)
{
    std::fprintf(stderr, "usage: %s", program);
    for (const number_option &o : options) std::fprintf(stderr, " [%s N]", o.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
}

// With MESSAGES_LIMIT=SECONDS a hang becomes the stacks of all threads.
void watch()
{
    const char *limit = std::getenv("MESSAGES_LIMIT");
    if (!limit) return;
    proof::prepare_stacks();
    std::thread([seconds = unsigned(std::atoi(limit))] {
        while (sleep(seconds) != 0) continue;
        std::fprintf(stderr, "rank %d hangs for %u s; its threads:\n", sea_rank(), seconds);
        proof::write_all_stacks();
        _exit(99);
    }).detach();
}

} // namespace

void read_options(int argc, char **argv, std::initializer_list<number_option> options)
{
    watch();
    for (int i = 1; i < argc; i += 2) {
        const auto o = std::find_if(options.begin(), options.end(),
                                    [&](const number_option &each) { return std::strcmp(each.name, argv[i]) == 0; });
        if (o == options.end() || i + 1 == argc) usage(argv[0], options);
        char *end;
        *o->value = std::strtoull(argv[i + 1], &end, 10);
        if (*end || end == argv[i + 1] || argv[i + 1][0] == '-' || *o->value < o->least) {
            std::fprintf(stderr, "%s: %s wants a number of at least %" PRIu64 ", not '%s'\n", argv[0], o->name,
                         o->least, argv[i + 1]);
            std::exit(2);
        }
    }
}

void give_up(const std::string &why)
{
    const std::string text = "rank " + std::to_string(sea_rank()) + ": " + why + "; " + sea_last_error();
    sea_abort(1, text.c_str());
}

void good(int status, const char *what)
{
    if (status != SEA_OK) give_up(std::string(what) + " gave " + sea_status_name(status));
}
