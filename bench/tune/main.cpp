// SPDX-License-Identifier: Apache-2.0
// `onesea tune`: the driver. session.cpp measures, choice.cpp decides, report.cpp shows.
#include "agent/hosts.hpp"
#include "agent/profile_file.hpp"
#include "driver/command_line.hpp"
#include "driver/options.hpp"
#include "driver/process.hpp"
#include "tune/report.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr const char *help_text =
    "Measures which lengths and windows are best on this machine and writes a profile that jobs load.\n\n"
    "For each path window, fragment, batch, eager and eager_message are measured one after the other, each value\n"
    "several times, in turns, in short jobs of two ranks. A value other than the default is chosen only if it won in\n"
    "three of four turns, by more than the noise and 3 %. Nothing else should run meanwhile.\n"
    "  shm    two ranks of one node       -> the section shm of the profile\n"
    "  net    two virtual nodes           -> loopback\n"
    "  cable  two network namespaces joined by a virtual cable of mtu 1500; root only -> ethernet\n"
    "  --host two machines                -> ethernet\n"
    "Sections of paths that were not measured stay as they are in the profile that was there.\n";

// "" if the text names two machines; else what is wrong, rather here than by the first job.
std::string two_machines(const std::string &text)
{
    const auto comma = text.find(',');
    const std::string first = text.substr(0, comma), second = comma == text.npos ? "" : text.substr(comma + 1);
    const bool two = !first.empty() && !second.empty() && second.find(',') == text.npos && first != second;
    return two ? "" : fmt::format("'{}' is not two machines a,b", text);
}

void add_tune_options(CLI::App &app, tune_options &o)
{
    app.add_flag("--quick", o.quick, "few values, few short runs; ends within 20 seconds");
    app.add_flag("--json", o.json, "one JSON object a line on stdout, nothing else");
    app.add_flag("--dry-run", o.dry_run, "say what would be measured and written, and do nothing");
    app.add_option("--path", o.paths, "which paths: shm, net, cable; default: shm,net")
        ->delimiter(',')
        ->check(CLI::IsMember(std::vector<std::string>{"shm", "net", "cable"}));
    app.add_option("--host", o.hosts, "two machines a,b, reached as 'onesea run --host' does")->check(two_machines);
    app.add_option("--only", o.only, "only these numbers: window, fragment, batch, eager, eager_message")
        ->delimiter(',')
        ->check(CLI::IsMember(std::vector<std::string>{"window", "fragment", "batch", "eager", "eager_message"}));
    app.add_option("--runs", o.runs, "how often every value is measured; default: 7 (--quick: 3)")
        ->check(CLI::Range(1, 1000));
    app.add_option("--secure", o.secure, "how the packets between nodes are secured")
        ->check(CLI::IsMember(std::vector<std::string>{"auth", "encrypt", "off"}))
        ->capture_default_str();
    app.add_option("--out", o.out, "folder for pictures (SVG) and the JSON; made if it is not there");
    app.add_option("--profile", o.profile, "the file to write; default: the one that 'onesea run' finds by itself");
}

std::string target_of(const tune_options &o)
{
    const std::string file = o.profile.empty() ? onesea::agent::usual_profile() : o.profile;
    if (file.empty())
        throw std::runtime_error("neither XDG_CONFIG_HOME nor HOME says where the profile goes: --profile FILE");
    return file;
}

onesea::profile profile_before(const std::string &file)
{
    std::error_code none;
    if (!fs::exists(file, none)) return {};
    try {
        return onesea::agent::read_profile(file);
    } catch (const onesea::agent::request_error &e) {
        progress(fmt::format("tune: {}; it is kept as {}.old", e.what(), file));
        return {};
    }
}

// An error stays with stdout until done() asks: what was measured is to be written to the profile first.
void show(const std::string &text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

int done()
{
    if (std::ferror(stdout)) throw std::runtime_error("stdout cannot be written");
    return 0;
}

std::string plan_text(const tune_options &o, const tuned_path &path)
{
    std::string text =
        fmt::format("{} (section {}): {} jobs\n", path.name, onesea::name_of(path.kind), jobs_for(o, path));
    for (const auto &e : experiments_for(path.kind, o.quick, o.only))
        text += fmt::format("  {}: {}{}\n", e.what->name, e.crossing ? "by size of the data, " : "",
                            fmt::join(e.values, ", "));
    return text;
}

std::string plan_json(const tune_options &o, const tuned_path &path)
{
    json parameters = json::object();
    for (const auto &e : experiments_for(path.kind, o.quick, o.only)) parameters[e.what->name] = e.values;
    const json line = {{"tune", "plan"},
                       {"path", path.name},
                       {"section", std::string(onesea::name_of(path.kind))},
                       {"jobs", jobs_for(o, path)},
                       {"parameters", parameters}};
    return line.dump() + '\n';
}

int dry_run(const tune_options &o, const std::string &file)
{
    for (const auto &path : paths_of(o)) show(o.json ? plan_json(o, path) : plan_text(o, path));
    show(o.json ? json{{"tune", "profile"}, {"file", file}}.dump() + '\n' : fmt::format("would write {}\n", file));
    return done();
}

void write_pictures(const tune_options &o, const std::vector<path_result> &results, const std::string &lines)
{
    if (o.out.empty()) return;
    write_file(o.out, "tune.json", lines);
    for (const auto &r : results)
        for (const auto &[name, svg] : pictures_of(r)) write_file(o.out, name, svg);
}

int tune(const tune_options &o)
{
    const std::string file = target_of(o);
    if (o.dry_run) return dry_run(o, file);
    prepare_folder(o.out); // rather now than after minutes of measuring
    onesea::agent::prepare_profile(file);
    prepare_to_run();
    const onesea::profile before = profile_before(file);
    onesea::profile after = before;
    std::vector<path_result> results;
    std::string lines;
    {
        tune_session session(o);
        for (const auto &path : paths_of(o)) {
            results.push_back(session.tune(path, before.of(path.kind)));
            const path_result &r = results.back();
            for (const auto &s : r.steps) after.of(path.kind).*(s.what->value) = s.chosen.value;
            lines += json_of(r);
            if (!o.json) show(text_of(r));
        }
    }
    const std::string changed = changes(before, after, results);
    onesea::agent::write_profile(file, after, about(results));
    lines += json{{"tune", "profile"}, {"file", file}, {"values", onesea::agent::to_json(after)}}.dump() + '\n';
    show(o.json ? lines
                : fmt::format("{} is written; {}\n{}", file,
                              changed.empty() ? "its numbers are as before" : "what changed:", changed));
    write_pictures(o, results, lines);
    return done();
}

// Rather now than a profile in which nothing was measured.
void check_choice(const tune_options &o)
{
    std::string names;
    for (const auto &path : paths_of(o)) {
        if (!experiments_for(path.kind, o.quick, o.only).empty()) return;
        names += (names.empty() ? "" : ", ") + path.name;
    }
    throw onesea::agent::request_error(
        fmt::format("--only: there is no {} on the path {}", fmt::join(o.only, ", "), names));
}

} // namespace

} // namespace bench

int main(int argc, char **argv)
{
    bench::tune_options o;
    CLI::App app(bench::help_text, "onesea tune");
    bench::add_tune_options(app, o);
    try {
        if (const auto code = bench::parse(app, argc, argv)) return *code;
        bench::check_choice(o);
        return bench::tune(o);
    } catch (const bench::interrupted &e) {
        return 128 + e.signal;
    } catch (const onesea::agent::request_error &e) {
        bench::progress(fmt::format("onesea tune: {}", e.what()));
        return e.code;
    } catch (const bench::place_error &e) {
        bench::progress(fmt::format("onesea tune: {}", e.what()));
        return bench::wrong_options;
    } catch (const std::exception &e) {
        bench::progress(fmt::format("onesea tune: {}", e.what()));
        return 1;
    }
}
