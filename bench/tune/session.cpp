// SPDX-License-Identifier: Apache-2.0
// Design. Every measurement is a job of its own, with a profile of its own, of some tens of milliseconds. The values of
// a parameter are tried in turns, each turn beginning with another one, so that a busy moment of the machine does not
// hit the same value each time; the choice compares within turns only.
#include "tune/session.hpp"

#include "agent/hosts.hpp"
#include "agent/profile_file.hpp"
#include "driver/figures.hpp"
#include "driver/process.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

using onesea::path_kind;
using onesea::path_tuning;

constexpr double job_seconds = 60;
constexpr double quick_seconds = 14; // of the 20
constexpr int most_figure_turns = 3;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double speed(const tune_case &c, double value) { return c.metric() == "latency_us" ? 1 / value : value; }

// GB/s of one message at a time.
double throughput(const tune_case &c, double value) { return c.name == "am" ? double(c.number) / value * 1e-3 : value; }

int figure_turns(const tune_options &o) { return std::min(o.turns(), most_figure_turns); }

std::string make_folder()
{
    std::string name = (std::filesystem::temp_directory_path() / "onesea-tune-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder can be made in " + name);
    return name;
}

tuning_step step_of(const tuned_path &path, const experiment &e, const char *title, const char *unit)
{
    tuning_step s;
    s.what = e.what;
    s.title = fmt::format("{}: {}", path.name, title);
    s.unit = unit;
    return s;
}

} // namespace

std::vector<tuned_path> paths_of(const tune_options &o)
{
    const std::map<std::string, path_kind> kinds = {
        {"shm", path_kind::shm}, {"net", path_kind::loopback}, {"cable", path_kind::ethernet}};
    std::vector<std::string> names = o.paths;
    if (names.empty() && o.hosts.empty()) names = {"shm", "net"};
    std::vector<tuned_path> all;
    for (const auto &name : names)
        if (std::none_of(all.begin(), all.end(), [&](const tuned_path &p) { return p.name == name; }))
            all.push_back({name, kinds.at(name)});
    if (!o.hosts.empty()) all.push_back({"host", path_kind::ethernet});
    return all;
}

std::size_t jobs_for(const tune_options &o, const tuned_path &path)
{
    std::size_t n = 3 * static_cast<std::size_t>(figure_turns(o));
    for (const auto &e : experiments_for(path.kind, o.quick, o.only))
        n += e.values.size() * static_cast<std::size_t>(o.turns());
    return n;
}

tune_session::tune_session(const tune_options &o)
    : options_(o), onesea_(own_program("onesea")), worker_(own_program("onesea-bench-worker-tune")),
      folder_(make_folder()), cores_(measuring_cores()), time_(o.quick, quick_seconds), began_(now())
{
    try {
        for (const auto &path : paths_of(o)) {
            jobs_ += jobs_for(o, path);
            if (path.name == "cable" && !wire_) wire_ = std::make_unique<cable>();
        }
    } catch (...) {
        std::filesystem::remove_all(folder_);
        throw;
    }
}

tune_session::~tune_session()
{
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
}

command tune_session::job(const tuned_path &path, const std::vector<tune_case> &cases) const
{
    command c{{onesea_, "run", "-n", "2", "--secure", options_.secure, "--timeout", "60", "--quiet"}, {}};
    const auto add = [&](std::initializer_list<std::string> more) { c.argv.insert(c.argv.end(), more); };
    add({"--profile", folder_ + "/profile.json"});
    if (path.name == "cable") {
        add({"--iface", cable::device, "--host", wire_->from + "," + wire_->to});
        c.environment = {{"ONESEA_RSH", wire_->remote_shell()}};
    } else if (path.name == "host") {
        add({"--host", options_.hosts, "--ppn", "1"});
    } else {
        add({"--nodes", path.name == "net" ? "2" : "1"});
    }
    const bool here = path.name != "host"; // whose processors those are
    add({worker_, "--ms", std::to_string(options_.milliseconds()), "--cores", here ? cores_.text() : "-1,-1"});
    for (const auto &one : cases) c.argv.push_back(one.argument());
    return c;
}

tune_session::measured tune_session::run_job(const tuned_path &path, const path_tuning &with,
                                             const std::vector<tune_case> &cases)
{
    onesea::profile p;
    p.of(path.kind) = with;
    onesea::agent::write_profile(folder_ + "/profile.json", p, {});
    const auto result = run(job(path, cases), job_seconds);
    done_++;
    series_table series;
    series.add_lines("", result.out);
    measured all;
    for (const auto &c : cases)
        if (const auto *found = series.find({"", c.name, c.metric(), c.number}))
            all[c.argument()] = found->back().median;
    if (result.good() && all.size() == cases.size()) return all;
    throw std::runtime_error(
        fmt::format("a measuring job on the path {} {}: {}", path.name,
                    result.timed_out ? "did not end in time" : fmt::format("ended with status {}", result.exit_code),
                    result.err.substr(0, 400)));
}

void tune_session::tell(const tuned_path &path, const std::string &what, int turn)
{
    const double spent = now() - began_,
                 left = done_ ? spent / double(done_) * double(jobs_ - std::min(done_, jobs_)) : 0;
    progress(fmt::format("tune: {}: {}, turn {} ({} of {} jobs{})", path.name, what, turn, done_, jobs_,
                         done_ ? fmt::format(", about {:.0f} s left", left) : ""));
}

tuning_step tune_session::try_values(const tuned_path &path, const experiment &e, const path_tuning &with)
{
    tuning_step s = step_of(path, e, std::string(e.what->name).c_str(), "speed, 1 is that of the default");
    for (std::uint32_t v : e.values) s.candidates.push_back({v, {}});
    for (int turn = 1; turn <= options_.turns(); turn++) {
        tell(path, std::string(e.what->name), turn);
        for (std::size_t i = 0; i < s.candidates.size(); i++) {
            tried_value &c = s.candidates[(i + static_cast<std::size_t>(turn)) % s.candidates.size()];
            path_tuning t = with;
            t.*(e.what->value) = c.value;
            const measured got = run_job(path, t, e.cases);
            std::vector<double> speeds;
            for (const auto &one : e.cases) speeds.push_back(speed(one, got.at(one.argument())));
            c.scores.push_back(geometric_mean(speeds));
        }
    }
    const path_tuning usual = onesea::profile{}.of(path.kind);
    s.chosen = choose(s.candidates, usual.*(e.what->value));
    double base = 1;
    for (const auto &c : s.candidates)
        if (c.value == usual.*(e.what->value)) base = median(c.scores);
    s.curves = {{std::string(e.what->name), {}, double(s.chosen.value)}};
    for (const auto &c : s.candidates) s.curves[0].points.emplace_back(c.value, median(c.scores) / base);
    return s;
}

tuning_step tune_session::find_crossing(const tuned_path &path, const experiment &e, const path_tuning &with)
{
    tuning_step s = step_of(path, e,
                            e.what->name == "eager" ? "active messages by size of the data"
                                                    : "matched messages there and back by size",
                            "microseconds; below is better");
    std::vector<times_by_size> ways[2]; // pulled, carried
    for (int turn = 1; turn <= options_.turns(); turn++) {
        tell(path, std::string(e.what->name), turn);
        for (std::size_t i = 0; i < 2; i++) {
            const std::size_t way = (i + static_cast<std::size_t>(turn)) % 2;
            path_tuning t = with;
            t.*(e.what->value) = e.values[way];
            const measured got = run_job(path, t, e.cases);
            ways[way].emplace_back();
            for (const auto &one : e.cases)
                ways[way].back()[static_cast<std::uint32_t>(one.number)] = got.at(one.argument());
        }
    }
    s.candidates = switches(ways[1], ways[0], e.values.front());
    const path_tuning usual = onesea::profile{}.of(path.kind);
    s.chosen = choose(s.candidates, usual.*(e.what->value));
    s.curves = {{"pulled by the target", {}}, {"sent at once", {}, double(s.chosen.value)}};
    for (const auto &one : e.cases)
        for (std::size_t way : {0, 1}) {
            std::vector<double> values;
            for (const auto &turn : ways[way]) values.push_back(turn.at(static_cast<std::uint32_t>(one.number)));
            s.curves[way].points.emplace_back(double(one.number), median(values));
        }
    return s;
}

std::vector<curve> tune_session::measure_figure(const tuned_path &path, const path_tuning &with)
{
    const onesea::parameter &p = *onesea::find_parameter(path.kind, "fragment");
    const auto cases = sizes_of_figure(path.kind, options_.quick);
    const std::uint32_t lengths[3] = {p.least, with.*p.value, p.most};
    std::map<std::string, std::vector<double>> got[3];
    for (int turn = 1; turn <= figure_turns(options_); turn++) {
        tell(path, "throughput by size", turn);
        for (std::size_t i = 0; i < 3; i++) {
            path_tuning t = with;
            t.*p.value = lengths[i];
            for (const auto &[name, value] : run_job(path, t, cases)) got[i][name].push_back(value);
        }
    }
    const char *names[3] = {"short", "tuned", "long"};
    std::vector<curve> curves;
    for (std::size_t i = 0; i < 3; i++) {
        curves.push_back({fmt::format("{} fragments, {} B", names[i], lengths[i]), {}});
        for (const auto &c : cases)
            curves.back().points.emplace_back(double(c.number), throughput(c, median(got[i].at(c.argument()))));
    }
    return curves;
}

path_result tune_session::tune(const tuned_path &path, const path_tuning &before)
{
    path_result r{path, onesea::profile{}.of(path.kind), before, {}, {}};
    for (const auto &e : experiments_for(path.kind, options_.quick, options_.only)) {
        if (time_.spent()) {
            progress(
                fmt::format("tune: the time of --quick is over: {} of {} stays as it is", e.what->name, path.name));
            continue;
        }
        r.steps.push_back(e.crossing ? find_crossing(path, e, r.chosen) : try_values(path, e, r.chosen));
        r.chosen.*(e.what->value) = r.steps.back().chosen.value;
    }
    if (!time_.spent()) r.figure = measure_figure(path, r.chosen);
    return r;
}

} // namespace bench
