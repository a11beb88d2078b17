// SPDX-License-Identifier: Apache-2.0
// `onesea top`: what the ranks of this machine do, while they do it.
#include "commands.hpp"
#include "seconds.hpp"

#include "agent/hosts.hpp"
#include "observe/live.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

namespace onesea::cli {
namespace {

constexpr const char *clear_screen = "\033[H\033[2J";

struct top_options {
    double interval = 1;
    unsigned count = 0;
};

// False: only the help was wanted.
bool parse(arguments words, top_options *options)
{
    CLI::App app("What the ranks on this machine do, per second; ends with Ctrl-C.", "onesea top");
    app.add_option("--interval", options->interval, "Seconds between two looks; default: 1")
        ->check(seconds_between(0.05, 3600));
    app.add_option("--count", options->count, "Tables until the end; default: no end")->check(CLI::Range(1u, 1u << 30));
    std::reverse(words.begin(), words.end());
    try {
        app.parse(words);
    } catch (const CLI::CallForHelp &) {
        fmt::print("{}", app.help());
        return false;
    } catch (const CLI::ParseError &e) {
        throw onesea::agent::request_error(e.what());
    }
    return true;
}

} // namespace

int top(const arguments &args)
{
    using clock = std::chrono::steady_clock;
    top_options options;
    if (!parse(args, &options)) return 0;
    const bool terminal = isatty(STDOUT_FILENO);
    auto before = observe::running_pages();
    auto then = clock::now();
    for (unsigned i = 0; options.count == 0 || i < options.count; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
        auto after = observe::running_pages();
        auto now = clock::now();
        const double seconds = std::chrono::duration<double>(now - then).count();
        fmt::print("{}{}{}", terminal ? clear_screen : "", observe::table(observe::speeds(before, after, seconds)),
                   terminal ? "" : "\n");
        if (fflush(stdout) != 0) break; // nobody reads it any more
        before = std::move(after);
        then = now;
    }
    return 0;
}

} // namespace onesea::cli
