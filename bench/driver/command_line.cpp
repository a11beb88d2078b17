// SPDX-License-Identifier: Apache-2.0
#include "driver/command_line.hpp"
#include "driver/process.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <iostream>

namespace bench {
namespace {

void add_paths(CLI::App &app, options &o, const std::vector<std::string> &paths_there_are)
{
    app.add_option("--path", o.paths, "only these paths: " + fmt::format("{}", fmt::join(paths_there_are, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(paths_there_are));
    app.add_option("--secure", o.secure, "how the packets between nodes are secured")
        ->check(CLI::IsMember(std::vector<std::string>{"auth", "encrypt", "off"}))
        ->capture_default_str();
}

void add_options(CLI::App &app, options &o, const benchmark &what)
{
    const auto quick = app.add_flag("--quick", o.quick, "few short runs; ends within 20 seconds");
    app.add_option("--seconds", o.seconds, "when --quick leaves out the rest, instead of its own limit")
        ->check(CLI::Range(1, 100000))
        ->needs(quick);
    app.add_flag("--json", o.json, "one JSON object a line on stdout, nothing else");
    app.add_option("--runs", o.runs, "how often everything is measured, in turns")->check(CLI::Range(1, 1000));
    app.add_option("--out", o.out, "folder for the pictures (SVG) and the JSON; made if it is not there");
    app.add_option("--case", o.cases, "only these cases")->delimiter(',')->check(CLI::IsMember(what.cases));
    if (!what.paths.empty()) add_paths(app, o, what.paths);
    app.add_flag("--no-peers", o.no_peers, "measure no other software");
    for (const number_option &number : what.numbers)
        app.add_option(number.name, *number.value, number.help)
            ->check(CLI::Range(number.least, number.most))
            ->capture_default_str();
}

} // namespace

std::optional<int> parse(CLI::App &app, int argc, char **argv)
{
    app.failure_message([](const CLI::App *of, const CLI::Error &e) {
        return fmt::format("{0}: {1}\n'{0} --help' lists the options\n", of->get_name(), e.what());
    });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        if (app.exit(e) != 0) return wrong_options;
        if (!std::cout.flush()) throw std::runtime_error("stdout cannot be written");
        return 0;
    }
    return std::nullopt;
}

int run_benchmark(int argc, char **argv, const benchmark &what, const std::function<int(const options &)> &body)
{
    options o;
    CLI::App app(what.help, "onesea bench " + what.name);
    try {
        add_options(app, o, what);
        if (const auto code = parse(app, argc, argv)) return *code;
        prepare_folder(o.out);
        return body(o);
    } catch (const interrupted &e) {
        return 128 + e.signal;
    } catch (const place_error &e) {
        progress(fmt::format("onesea bench {}: {}", what.name, e.what()));
        return wrong_options;
    } catch (const std::exception &e) {
        progress(fmt::format("onesea bench {}: {}", what.name, e.what()));
        return 1;
    }
}

} // namespace bench
