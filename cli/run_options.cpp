// SPDX-License-Identifier: Apache-2.0
// `onesea run [options] PROG ARGS [: [options] PROG ARGS]...`
//
// The line is cut at each ":". In each part the options come first; the first word that is neither an option nor the
// value of one is the program, and everything after it is the program's own, whatever it looks like. That word is found
// by asking the table which options take a value, then the options alone go to CLI11. Options of the job stand in the
// first part; those of a program (-n, -w, -x, --env-file) in any.
#include "run_options.hpp"
#include "seconds.hpp"

#include "agent/environment.hpp"
#include "agent/hosts.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace onesea::cli {
namespace {

using agent::job_request;
using agent::request_error;

struct raw_options {
    unsigned ranks = 0;
    std::string directory;
    std::vector<std::string> exports, env_files;

    std::string hosts, hostfile, tag, stats, input = "0", transport = "auto", secure = "auth", heap, on_death = "kill",
                                             bind = "auto";
};

using choice_map = std::map<std::string, int>;
const choice_map transports{{"auto", 0}, {"shm", 1}, {"net", 2}, {"udp", 2}};
const choice_map securities{{"off", 0}, {"auth", 1}, {"encrypt", 2}};
const choice_map inputs{{"0", 0}, {"all", 1}, {"none", 2}};
const choice_map binds{{"auto", 0}, {"none", 1}, {"core", 2}, {"numa", 3}};
const choice_map deaths{{"kill", 0}, {"continue", 1}};

int choose(const char *option, const std::string &value, const choice_map &choices)
{
    auto found = choices.find(value);
    if (found != choices.end()) return found->second;
    std::string names;
    for (const auto &[name, number] : choices) names += (names.empty() ? "" : ", ") + name;
    throw request_error(fmt::format("{} '{}' is unknown; use one of {}", option, value, names));
}

void add_program_options(CLI::App &app, raw_options &raw)
{
    app.add_option("-n,--np", raw.ranks, "Ranks of the program (-np too); default: one per slot or node")
        ->check(CLI::Range(1u, agent::most_ranks));
    app.add_option("-w,--wdir", raw.directory, "Directory the ranks start in; default: this one");
    app.add_option("-x", raw.exports, "VAR[=VALUE]: set a variable of the ranks; may be repeated")
        ->expected(1)
        ->take_all();
    app.add_option("--env-file", raw.env_files, "File with lines VAR=VALUE; may be repeated")->expected(1)->take_all();
}

void add_place_options(CLI::App &app, job_request &job, raw_options &raw)
{
    app.add_option("--nodes", job.nodes, "Nodes; more than hosts: virtual nodes that share no memory")
        ->check(CLI::Range(1u, 65536u));
    app.add_option("--ppn", job.per_node, "Ranks per node")->check(CLI::Range(1u, shm::max_slots));
    auto *hosts = app.add_option("--host", raw.hosts, "Hosts a:2,b with optional numbers of slots");
    app.add_option("--hostfile,--machinefile", raw.hostfile, "File with lines 'host', 'host:N' or 'host slots=N'")
        ->excludes(hosts);
    app.add_option("--prefix", job.prefix, "Where Onesea is installed on the other hosts; default: as here");
    app.add_option("--bind", raw.bind, "Processors of a rank: none, core, numa; default: core if there are enough");
    app.add_flag("--env-all", job.export_all, "Other hosts' ranks get all variables; default: ONESEA_... and -x only");
    app.add_flag("--dry-run", job.dry_run, "Print which rank would run where, and start nothing");
    app.add_flag("--show-map", job.show_map, "Print which rank runs where, then start");
}

void add_job_options(CLI::App &app, job_request &job, raw_options &raw)
{
    app.add_flag("--tag{rank}", raw.tag,
                 "--tag[=rank,host,time|none]: what stands before each line; default: rank, if several ranks write to "
                 "a terminal")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_flag("--stats{-}", raw.stats,
                 "--stats[=FILE]: at the end tell what the ranks did, per pair of ranks: operations, bytes, packets, "
                 "round trips; a table on stderr, or all of it as JSON to FILE")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--output", job.output_directory, "Directory for rank.N.out and rank.N.err, bytes as written");
    app.add_flag("--quiet", job.quiet, "With --output: nothing on the terminal; always: no remarks but errors");
    app.add_option("--stdin", raw.input, "Who reads this command's stdin: 0 (default), all, none");
    app.add_option("--timeout", job.timeout_s,
                   "Seconds after which the job is ended, with status 124; tells what the ranks waited for")
        ->check(seconds_between(0.001, 1e9));
    app.add_option("--transport", raw.transport, "auto, shm, or net (udp)");
    app.add_option("--iface", job.interface, "Network interface for packets between nodes");
    app.add_option("--secure", raw.secure, "Packets between nodes: auth (default), encrypt, off");
    app.add_option("--heap", raw.heap, "Capacity of each rank's global heap, such as 64M or 2G");
    app.add_option("--profile", job.profiles,
                   "What 'onesea tune' has measured: a file, or none for the defaults; default: "
                   "~/.config/onesea/profile.json if it is there. Given again: of the next node")
        ->expected(1)
        ->take_all();
    app.add_option("--spawn", job.spare,
                   "Ranks that sea_spawn() may add to each node, which has 1024 in all at most; default: 16")
        ->check(CLI::Range(0u, shm::max_slots));
    app.add_option("--on-death", raw.on_death, "When a rank fails: kill all (default) or continue");
    app.add_option("--agent-timeout", job.agent_timeout_s,
                   "Seconds after which a node that does not answer is taken for dead; default: 120; 0: never")
        ->check(CLI::Range(0u, 86400u));
}

bool is_option(const std::string &word) { return word.size() > 1 && word[0] == '-'; }

// How many words the option takes beside itself.
std::size_t words_of_value(const CLI::App &app, const CLI::App &of_job, const std::string &word)
{
    std::string name = word.substr(0, word.find('='));
    bool attached = name.size() < word.size() && word.starts_with("--");
    if (!word.starts_with("--") && word.size() > 2) {
        name = word.substr(0, 2);
        attached = true; // -n4, -xVAR
    }
    const CLI::Option *option = app.get_option_no_throw(name);
    if (!option && of_job.get_option_no_throw(name))
        throw request_error(fmt::format("{} is for the whole job: it stands before the first program", name));
    if (!option) throw request_error(fmt::format("there is no option '{}'; 'onesea run --help' lists them", word));
    return attached || option->get_items_expected_max() == 0 || option->get_expected_min() == 0 ? 0 : 1;
}

// Splits a part into options, with the habits of other launchers written in our way, and the program's words.
arguments take_options(const CLI::App &app, const CLI::App &of_job, arguments &part)
{
    arguments options;
    std::size_t i = 0;
    while (i < part.size() && is_option(part[i])) {
        std::string word = part[i];
        if (word == "--") {
            ++i;
            break;
        }
        if (word == "-N" || (word.starts_with("-N") && word.size() > 2))
            throw request_error(
                "-N means something else in every launcher; use --nodes M for nodes or --ppn K for ranks per node");
        if (word == "-np") word = "--np";
        if (word == "-wdir") word = "--wdir";
        std::size_t values = words_of_value(app, of_job, word);
        if (i + values >= part.size() && values)
            throw request_error(fmt::format("the option '{}' lacks its value", word));
        if (word.ends_with('=') ? word.starts_with("--") : values && part[i + 1].empty())
            throw request_error(fmt::format("the option '{}' has an empty value", word.substr(0, word.find('='))));
        options.push_back(word);
        for (std::size_t v = 0; v < values; ++v) options.push_back(part[++i]);
        ++i;
    }
    part.erase(part.begin(), part.begin() + long(i));
    return options;
}

agent::tag_choice parse_tag(const std::string &text, bool wanted_by_default)
{
    agent::tag_choice tag;
    if (text.empty()) {
        tag.rank = wanted_by_default;
        return tag;
    }
    for (const std::string &word : CLI::detail::split(text, ',')) {
        if (word == "rank")
            tag.rank = true;
        else if (word == "host")
            tag.host = true;
        else if (word == "time")
            tag.time = true;
        else if (word != "none")
            throw request_error(fmt::format("--tag: '{}' is unknown; use rank, host, time or none", word));
    }
    return tag;
}

void finish_job(job_request &job, const raw_options &raw)
{
    if (!raw.hosts.empty()) job.hosts = agent::parse_host_list(raw.hosts);
    if (!raw.hostfile.empty()) job.hosts = agent::read_hostfile(raw.hostfile);
    job.input = agent::stdin_mode(choose("--stdin", raw.input, inputs));
    job.transport = shm::transport_choice(choose("--transport", raw.transport, transports));
    job.secure = shm::secure_mode(choose("--secure", raw.secure, securities));
    job.bind = agent::bind_mode(choose("--bind", raw.bind, binds));
    job.continue_on_death = choose("--on-death", raw.on_death, deaths) == 1;
    job.stats = !raw.stats.empty();
    if (raw.stats != "-") job.stats_file = raw.stats;
    if (!raw.heap.empty()) job.heap_bytes = parse_size(raw.heap);
}

agent::program make_program(const raw_options &raw, arguments words)
{
    if (words.empty()) throw request_error("no program is given; 'onesea run --help' shows how");
    agent::program p;
    p.argv = std::move(words);
    p.count = raw.ranks;
    p.directory = raw.directory;
    if (!p.directory.empty() && p.directory[0] != '/')
        if (char *here = get_current_dir_name()) {
            p.directory = std::string(here) + "/" + p.directory;
            free(here);
        }
    for (const std::string &file : raw.env_files)
        for (auto &entry : agent::read_env_file(file)) p.environment.push_back(std::move(entry));
    for (const std::string &wish : raw.exports) agent::add_export(p.environment, wish);
    return p;
}

std::vector<arguments> split_parts(const arguments &args)
{
    std::vector<arguments> parts(1);
    for (const std::string &word : args)
        if (word == ":")
            parts.emplace_back();
        else
            parts.back().push_back(word);
    return parts;
}

void parse(CLI::App &app, arguments words)
{
    std::reverse(words.begin(), words.end());
    app.parse(words);
}

} // namespace

std::uint64_t parse_size(const std::string &text)
{
    std::size_t used = 0;
    double number = -1;
    try {
        number = std::stod(text, &used);
    } catch (const std::exception &) {
    }
    static const std::map<std::string, int> units{{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}};
    std::string unit = text.substr(std::min(used, text.size()));
    std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return char(std::toupper(c)); });
    for (const char *rest : {"IB", "B"})
        if (unit.size() > strlen(rest) - 1 && unit.ends_with(rest)) unit.resize(unit.size() - strlen(rest));
    auto found = units.find(unit);
    if (!(number > 0) || found == units.end())
        throw request_error(fmt::format("'{}' is not a size such as 64M or 2G", text));
    double bytes = std::ldexp(number, found->second);
    if (bytes < 4096 || bytes > double(shm::max_heap_bytes))
        throw request_error(
            fmt::format("a size of '{}' is outside the possible 4K to {}G", text, shm::max_heap_bytes >> 30));
    return std::uint64_t(bytes);
}

std::optional<job_request> parse_run(const arguments &args, bool terminal)
{
    job_request job;
    raw_options first;
    CLI::App app("Starts a job: N processes that share one memory.\n"
                 "onesea run [options] PROGRAM [ARGUMENTS] [: [-n N] PROGRAM [ARGUMENTS]]...",
                 "onesea run");
    add_program_options(app, first);
    add_place_options(app, job, first);
    add_job_options(app, job, first);
    std::vector<arguments> parts = split_parts(args);
    try {
        parse(app, take_options(app, app, parts[0]));
        job.programs.push_back(make_program(first, parts[0]));
        for (std::size_t i = 1; i < parts.size(); ++i) {
            raw_options raw;
            CLI::App of_program("options of one program");
            add_program_options(of_program, raw);
            parse(of_program, take_options(of_program, app, parts[i]));
            job.programs.push_back(make_program(raw, parts[i]));
        }
    } catch (const CLI::CallForHelp &) {
        fmt::print("{}", app.help());
        return std::nullopt;
    } catch (const CLI::ParseError &e) {
        throw request_error(e.what());
    }
    finish_job(job, first);
    unsigned ranks = job.programs.size() > 1 ? 2 : job.programs[0].count;
    job.tag =
        parse_tag(first.tag, terminal && (ranks > 1 || job.nodes > 1 || job.per_node > 1 || job.hosts.size() > 1));
    return job;
}

} // namespace onesea::cli
