// SPDX-License-Identifier: Apache-2.0
// The command `onesea`: finds the verb.
#include "commands.hpp"

#include "agent/hosts.hpp"
#include "agent/node_agent.hpp"
#include "base/tell.hpp"
#include "onesea.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onesea::cli {
namespace {

constexpr const char *usage = R"(onesea: one global memory over the processes of a job

  onesea run -n N [options] PROGRAM [ARGUMENTS]   start a job           (onesea run --help)
  onesea doctor                                   what this machine offers, and what to change
  onesea top                                      what the ranks on this machine do now
  onesea bench [NAME]                             measure; without a name: what there is
  onesea tune                                     measure what is best here, for jobs to load (onesea tune --help)
  onesea version
)";

struct verb {
    const char *name;
    int (*run)(const arguments &);
};

void expect_none(const char *name, const arguments &args)
{
    if (args.empty()) return;
    throw agent::request_error(
        fmt::format("{} takes no '{}'; 'onesea VERB --help' tells more about a verb", name, args[0]));
}

bool asks_for_help(const arguments &args) { return args.size() == 1 && (args[0] == "--help" || args[0] == "-h"); }

int help(const arguments &args)
{
    if (!asks_for_help(args)) expect_none("help", args);
    fmt::print("{}", usage);
    return 0;
}

int version(const arguments &args)
{
    if (asks_for_help(args)) return help(args);
    expect_none("version", args);
    fmt::print("onesea {}.{}.{}\n", SEA_VERSION_MAJOR, SEA_VERSION_MINOR, SEA_VERSION_PATCH);
    return 0;
}

constexpr verb verbs[] = {{"run", run},   {"doctor", doctor},   {"bench", bench}, {"tune", tune},
                          {"top", top},   {"version", version}, {"agent", agent}, {"--version", version},
                          {"help", help}, {"--help", help},     {"-h", help}};

int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        tell("{}", usage);
        return 125;
    }
    for (const verb &v : verbs)
        if (strcmp(argv[1], v.name) == 0) return v.run(arguments(argv + 2, argv + argc));
    tell("onesea: there is no command '{}'; 'onesea help' lists what there is\n", argv[1]);
    return 125;
}

} // namespace

int agent(const arguments &args)
{
    bool guard = false;
    for (const std::string &a : args) guard = guard || a == "--guard";
    struct stat line;
    if (fstat(STDIN_FILENO, &line) != 0 || !(S_ISSOCK(line.st_mode) || S_ISFIFO(line.st_mode))) {
        tell("onesea: 'agent' is started by 'onesea run' on each node, not by hand\n");
        return 125;
    }
    return onesea::agent::run_agent(STDIN_FILENO, STDOUT_FILENO, guard);
}

// What was printed may not have reached its file.
int written(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    tell("onesea: stdout cannot be written: {}\n", strerror(errno));
    return status ? status : 125;
}

// Who starts us may have closed them, and what is opened next would be taken for them. He wants nothing of it.
void open_standard_descriptors()
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
    if (fd >= 0) close(fd);
}

} // namespace onesea::cli

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); // a call that fails can be told, by a limit as by a full disk
    onesea::cli::open_standard_descriptors();
    try {
        return onesea::cli::written(onesea::cli::dispatch(argc, argv));
    } catch (const onesea::agent::request_error &e) {
        onesea::tell("onesea: {}\n", e.what());
        return e.code;
    } catch (const std::exception &e) {
        onesea::tell("onesea: {}\n", onesea::agent::printable(e.what()));
        return 125;
    }
}
