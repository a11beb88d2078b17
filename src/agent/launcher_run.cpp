// SPDX-License-Identifier: Apache-2.0
// The running job: output and input, ends of ranks, the user's signals, and how it all ends.
//
// The first rank that fails decides the exit status. With --on-death kill all others then get SIGTERM, and SIGKILL
// after kill_grace_s. With --on-death continue the death of an agent is the death of its ranks, and the others go on.
// When the user has asked the job to stop (Ctrl-C), ranks end one after the other in their own time, so a failing rank
// does not hurry the others then.
#include "agent/hosts.hpp"
#include "agent/launcher.hpp"
#include "agent/launcher_state.hpp"

#include "agent/address.hpp"
#include "agent/descendants.hpp"
#include "agent/environment.hpp"
#include "agent/printable.hpp"
#include "agent/profile_file.hpp"
#include "agent/urgency.hpp"
#include "base/log.hpp"
#include "base/tell.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace onesea::agent {
namespace {

constexpr double kill_grace_s = 0.3;
constexpr double agents_end_s = 5;
constexpr double orphans_end_s = 1; // while the job goes on; what lives longer is killed at its end
constexpr double orphans_look_s = 0.01;
constexpr double reader_look_s = 0.1; // how often we look whether the reader of our output takes something
constexpr unsigned reader_idle_asked = 50, reader_idle_insisted = 5; // such looks once the end was asked for
constexpr std::size_t output_ahead = 4u << 20; // bytes that wait for our own reader before the ranks have to wait

rank_end end_from(const message &m)
{
    rank_end end;
    m.head.at("rank").get_to(end.rank);
    m.head.at("code").get_to(end.code);
    m.head.at("signal").get_to(end.signal);
    m.head.at("core").get_to(end.core);
    m.head.at("unfinished").get_to(end.unfinished);
    m.head.at("asked").get_to(end.asked);
    return end;
}

} // namespace

void launcher::received(unsigned node, message &m)
{
    std::string type = m.type();
    nodes_[node]->quiet.broken();
    if (type == "output") return take_output(node, m);
    if (type == "taken") {
        const auto &ranks = placed_.nodes[node].ranks;
        const auto slot = m.head.at("slot").get<std::size_t>();
        if (slot >= ranks.size())
            throw request_error(fmt::format("it spoke of a slot {} that node {} does not have", slot, node));
        return input_->taken(ranks[slot], m.head.at("bytes").get<std::size_t>());
    }
    if (type == "exit") return take_exit(node, m);
    if (type == "counts") return take_counts(node, m);
    if (type == "waits") return take_waits(node, m);
    if (type == "hello") return take_hello(node, m);
    if (type == "ready") return take_ready(node, m);
    if (type == "failed") return take_failed(node, m);
    if (type == "warning") return take_warning(node, m);
    if (type == "done") return void(nodes_[node]->done = true);
    if (type == "spawn") return take_spawn(node, m);
    if (type == "prepared" || type == "unprepared") return take_prepared(node, m);
    if (type == "placed") return take_placed(node, m);
    if (type == "begun" || type == "unbegun") return take_begun(node, m);
    if (type != "here" && type != "started") // that it lives is all they tell
        throw request_error(fmt::format("it said '{}', which no agent says", printable(type, 80)));
}

void launcher::take_warning(unsigned node, const message &m)
{
    const std::string text = text_for_people(m);
    if (!request_.quiet) output_.say(fmt::format("{}: {}", placed_.nodes[node].host, text));
}

void launcher::take_failed(unsigned node, const message &m)
{
    const int code = m.head.at("code").get<int>();
    node_failed(node, text_for_people(m), code > 0 && code < 256 ? code : status_launcher);
}

// An agent speaks of its own ranks alone.
unsigned launcher::rank_told_of(unsigned node, const nlohmann::json &number) const
{
    const auto rank = number.get<std::size_t>();
    if (rank >= placed_.ranks.size() || placed_.ranks[rank].node != node)
        throw request_error(fmt::format("it spoke of rank {}, which is not on node {}", rank, node));
    return unsigned(rank);
}

void launcher::take_output(unsigned node, const message &m)
{
    const unsigned rank = rank_told_of(node, m.head.at("rank"));
    int stream = m.head.at("stream").get<int>();
    if (stream < 1 || stream > 2) return;
    output_.take(rank, stream, m.body);
    throttle();
    if (!output_.reader_gone() || ending_) return;
    forced_status_ = 128 + SIGPIPE; // as if the job itself wrote to the closed pipe
    end_job(false);
}

void launcher::throttle()
{
    bool wanted = output_.queued() > (paused_ ? output_ahead / 2 : output_ahead);
    if (wanted == paused_) return;
    paused_ = wanted;
    const nlohmann::json head = {{"type", "pause"}, {"paused", paused_}};
    for (auto &n : nodes_)
        if (!n->ended) n->send(head);
}

void launcher::send_input(unsigned rank, std::string_view bytes)
{
    const placed_rank &place = placed_.ranks[rank];
    nodes_[place.node]->send({{"type", "input"}, {"slot", place.slot}}, bytes);
}

void launcher::take_exit(unsigned node, const message &m)
{
    const unsigned rank = rank_told_of(node, m.head.at("rank"));
    rank_end end = end_from(m);
    verdict_.add(end, ending_ && end.asked);
    rank_gone(rank, shm::rank_state(m.head.at("state").get<std::uint8_t>()), m.head.at("status").get<int>());
    if (shell_status(end) != 0 && !request_.continue_on_death && !stop_.first_signal() && !ending_) end_job(false);
}

void launcher::rank_gone(unsigned rank, shm::rank_state state, int status)
{
    input_->ended(rank);
    gone_[rank] = true;
    const unsigned own = placed_.ranks[rank].program;
    if (own >= request_.programs.size()) programs_[own] = {}; // nobody else's, and it asks for no more ranks
    ends_.push_back({rank, int(state), status});
    maybe_over_ = true;
}

// Ranks die with their agent, by SIGKILL; nobody else is left to tell.
void launcher::ranks_lost(unsigned node)
{
    for (unsigned r : placed_.nodes[node].ranks) {
        if (gone_[r]) continue;
        rank_end end;
        end.rank = int(r);
        end.signal = SIGKILL;
        verdict_.add(end, false);
        rank_gone(r, shm::rank_state::dead, shell_status(end));
    }
}

// What has arrived together goes on together: a job of many nodes ends with few messages.
void launcher::tell_ends()
{
    if (ends_.empty()) return;
    nlohmann::json head = {{"type", "gone"}, {"ranks", std::exchange(ends_, nlohmann::json::array())}};
    for (auto &n : nodes_)
        if (!n->ended) n->send(head);
}

void launcher::send_signal(int number)
{
    nlohmann::json head = {{"type", number == SIGKILL ? "kill" : "signal"}, {"number", number}};
    for (auto &n : nodes_)
        if (!n->ended) n->send(head);
    if (number == SIGKILL) await_ends();
}

void launcher::end_job(bool at_once)
{
    ending_ = true;
    maybe_over_ = true; // a rank that was to come does not come now, and perhaps no other lives
    if (!table_sent_) return give_up_start();
    if (!at_once) {
        send_signal(SIGTERM);
        send_signal(SIGCONT); // a stopped rank cannot end otherwise
    }
    loop_.after(at_once ? 0 : kill_grace_s, [this] { send_signal(SIGKILL); });
}

void launcher::line_ended(unsigned node, const std::string &why)
{
    node_link &link = *nodes_[node];
    link.ended = true;
    maybe_over_ = true;
    if (link.done || giving_up_) return;
    agent_lost_ = true;
    if (!link.ready) {
        // ssh's own words come through another pipe and may be a moment late, as its end does.
        loop_.after(0.05, [this, node, why] {
            const std::string reason = why.empty() ? killed_by(node) : why;
            if (!placed_.nodes[node].local)
                node_failed(node, reason.empty() ? "cannot be reached" : reason, status_launcher);
            else
                node_failed(node, fmt::format("the agent did not start{}{}", reason.empty() ? "" : ": ", reason),
                            status_launcher);
        });
        return;
    }
    link.collect_errors();
    std::string reason = why.empty() ? link.error_text() : why;
    if (reason.empty()) reason = killed_by(node);
    lose_agent(node, fmt::format("has ended unexpectedly{}{}", reason.empty() ? "" : ": ", reason));
}

// How the process of an agent that has said nothing ended, "" if no signal ended it. Its line ends a moment earlier.
std::string launcher::killed_by(unsigned node)
{
    const node_link &link = *nodes_[node];
    for (int looks = 0; looks < 20 && !link.reaped; ++looks) {
        if (looks > 0) usleep(1000);
        reap();
    }
    if (!link.reaped || !WIFSIGNALED(link.wait_status)) return {};
    const int number = WTERMSIG(link.wait_status);
    return fmt::format("killed by signal {} ({})", number, strsignal(number));
}

// No more comes from its ranks: the last line of each may have no end.
void launcher::finish_lines(unsigned node)
{
    for (unsigned r : placed_.nodes[node].ranks)
        for (int stream : {1, 2}) output_.take(r, stream, {});
}

// Its line has ended, and with it what it did for its ranks.
void launcher::lose_agent(unsigned node, const std::string &how)
{
    finish_lines(node);
    const bool goes_on = request_.continue_on_death && table_sent_ && !ending_;
    output_.say(fmt::format("the agent of node {} ({}) {}; {}", node, placed_.nodes[node].host, how,
                            goes_on ? "its ranks are dead" : "the job ends"));
    nodes_[node]->failed = true;
    if (goes_on) ranks_lost(node);
    node_lost_to_spawn(node);
    if (goes_on) return;
    if (!forced_status_) forced_status_ = stop_.first_signal() ? 128 + stop_.first_signal() : status_launcher;
    if (!ending_) end_job(true);
}

void launcher::reap()
{
    for (auto &n : nodes_) {
        if (n->reaped || n->pid() <= 0) continue;
        if (waitpid(n->pid(), &n->wait_status, WNOHANG) == n->pid()) n->reaped = true;
    }
}

// The ranks of an agent that died here come to us, dying, and then what they had started: whatever is no agent of ours
// is theirs. What the guard over ssh does elsewhere.
void launcher::kill_what_agents_left()
{
    reap();
    bool any = false;
    for (const auto &n : nodes_)
        if (n->reaped && !n->done) any |= !std::exchange(n->cleared, true);
    if (any) kill_orphans(now_ns() + std::uint64_t(orphans_end_s * 1e9));
}

// Looks again while some live: how long they take to die, nobody waits for.
void launcher::kill_orphans(std::uint64_t until)
{
    std::vector<pid_t> spared = foreign_;
    for (const auto &n : nodes_)
        if (!n->reaped) spared.push_back(n->pid());
    if (kill_descendants(0, spared) || now_ns() > until) return;
    loop_.after(orphans_look_s, [this, until] { kill_orphans(until); });
}

void launcher::take_signals()
{
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof info) == ssize_t(sizeof info)) handle_signal(int(info.ssi_signo));
}

void launcher::handle_signal(int number)
{
    switch (number) {
    case SIGCHLD:
        return kill_what_agents_left();
    case SIGTSTP:
        send_signal(SIGTSTP);
        raise(SIGSTOP);
        return;
    case SIGQUIT:
        return tell_waits_then([this] { ask_to_stop(SIGQUIT); });
    case SIGINT:
    case SIGTERM:
        break;
    case SIGHUP:
        if (delivering_ || !table_sent_) break;
        return send_signal(number);
    default:
        if (!table_sent_) return early_signals_.push_back(number);
        return send_signal(number);
    }
    ask_to_stop(number);
}

void launcher::ask_to_stop(int number)
{
    if (delivering_) {
        reader_abandoned_ = true;
        stop_.asked(number);
        return;
    }
    auto steps = stop_.asked(number);
    if (!table_sent_) {
        if (!forced_status_) forced_status_ = 128 + number;
        return give_up_start();
    }
    maybe_over_ = true; // as in end_job()
    if (stop_.times() > 2)
        for (unsigned n = 0; n < nodes_.size(); ++n) give_up_agent(n, "has not killed its ranks yet");
    for (const stop_step &s : steps) {
        auto act = [this, sent = s.signal] {
            if (sent == SIGKILL) ending_ = true;
            send_signal(sent);
            if (sent != SIGKILL) send_signal(SIGCONT);
        };
        if (s.after_s == 0)
            act();
        else
            loop_.after(s.after_s, act);
    }
}

// When no rank lives any more and none is to come, the agents clear up and leave. Those that have failed do so anyway.
void launcher::finish_when_over()
{
    if (!std::exchange(maybe_over_, false) || finish_sent_ || !table_sent_ || giving_up_) return;
    if (!stopping() && (joining_ || !wishes_.empty())) return;
    end_placing(); // else a rank that has no process would seem to live
    for (unsigned n = 0; n < nodes_.size(); ++n)
        if (!nodes_[n]->ended && !nodes_[n]->failed && living_on(n) > 0) return;
    finish_sent_ = true;
    for (auto &n : nodes_)
        if (!n->ended) n->send({{"type", "finish"}});
    await_ends();
}

bool launcher::finished() const
{
    if (giving_up_) return true;
    // A line that has ended without `done` counts once its failure has been told.
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto &n) { return n->done || (n->ended && n->failed); });
}

// Every process that we started has ended on return, by force if need be.
void launcher::wait_for_agents()
{
    for (auto &n : nodes_) {
        n->hang_up();
        if (giving_up_) n->stop_connecting();
    }
    std::uint64_t until = now_ns() + std::uint64_t(agents_end_s * 1e9);
    auto all = [this] { return std::all_of(nodes_.begin(), nodes_.end(), [](const auto &n) { return n->reaped; }); };
    sigset_t awaited;
    sigemptyset(&awaited);
    for (int s : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&awaited, s);
    bool forced = false, insisted = stop_.times() > 1;
    for (reap(); !all(); reap()) {
        if (!forced && (insisted || now_ns() > until)) {
            forced = true;
            for (auto &n : nodes_) n->kill_now();
        }
        timespec nap{0, 20'000'000};
        const int number = sigtimedwait(&awaited, nullptr, &nap);
        if (number <= 0 || number == SIGCHLD) continue;
        insisted = true;
        stop_.asked(number);
    }
    if (agent_lost_ || forced) kill_descendants(agents_end_s, foreign_);
}

std::string launcher::end_text() const
{
    unsigned ended = verdict_.ended_by_launcher();
    auto count = [&](const char *other) {
        return fmt::format("{}{} {} ended by the launcher", ended, other, ended == 1 ? "rank was" : "ranks were");
    };
    if (!verdict_.first()) return ended ? count("") : "";
    unsigned rank = unsigned(verdict_.first()->rank);
    std::string text = agent::describe(*verdict_.first(), host_of(rank));
    if (ended) text += "; " + count(" other");
    if (std::string said = output_.hidden_errors(rank); !said.empty()) text += "; its last words:\n" + said;
    return text;
}

std::size_t launcher::undelivered() const { return output_.queued() + (stats_file_ ? stats_file_->queued() : 0); }

// A reader gets everything, however slow he is, if the job has ended by itself. Once somebody has asked for the end he
// is waited for only while he takes something. Whoever asks now has seen that nothing but the reader is missing.
void launcher::deliver_output()
{
    delivering_ = true;
    std::size_t left = undelivered();
    bool limited = false;
    for (unsigned idle = 0; left && !reader_abandoned_; ++idle) {
        if (limit_passed_ && !std::exchange(limited, true)) idle = 0;
        if (stop_.times() > 1 && idle >= reader_idle_insisted) break;
        if ((stop_.first_signal() || limited) && idle >= reader_idle_asked) break;
        bool rung = false;
        const auto bell = loop_.after(reader_look_s, [&rung] { rung = true; });
        while (!rung && undelivered() && !reader_abandoned_) loop_.run_once();
        loop_.cancel(bell);
        if (undelivered() < left) idle = 0;
        left = undelivered();
    }
    if (!left) return;
    output_.say(fmt::format("{} bytes of output are lost: nobody has read them", left));
    if (!forced_status_ && !verdict_.failed())
        forced_status_ = stop_.first_signal() ? 128 + stop_.first_signal() : status_timeout;
}

// Of what the job was to deliver, each loss once. The status of a rank that failed says more.
void launcher::tell_losses()
{
    std::vector<std::string> losses{output_.file_error()};
    if (const int error = stats_file_ ? stats_file_->error() : 0)
        losses.push_back(fmt::format("--stats: '{}' could not be written: {}", request_.stats_file, strerror(error)));
    for (const std::string &lost : losses) {
        if (lost.empty() || !failures_told_.insert(lost).second) continue;
        output_.say(lost);
        if (!forced_status_ && !verdict_.failed()) forced_status_ = status_launcher;
    }
}

int launcher::conclude()
{
    if (request_.stats && table_sent_) tell_counts();
    if (std::string text = end_text(); !text.empty() && !output_.reader_gone()) output_.say(text);
    tell_losses();
    deliver_output();
    tell_losses(); // some show only when a reader goes away
    if (forced_status_) return forced_status_;
    if (!verdict_.failed() && verdict_.ended_by_launcher() && stop_.first_signal()) return 128 + stop_.first_signal();
    return verdict_.exit_status();
}

int launcher::run()
{
    rise_above_ranks();
    if (request_.timeout_s > 0) loop_.after(request_.timeout_s, [this] { limit_passed(); });
    try {
        start_nodes();
    } catch (...) {
        give_up_start();
        wait_for_agents(); // those that have been started
        throw;
    }
    while (!finished()) {
        loop_.run_once();
        spawn_next();
        tell_ends();
        finish_when_over();
    }
    wait_for_agents();
    return conclude();
}

namespace {

std::vector<profile> profiles_for(const job_request &request)
{
    std::vector<profile> values;
    for (const std::string &wanted : request.profiles.empty() ? std::vector<std::string>{""} : request.profiles) {
        chosen_profile chosen = choose_profile(wanted);
        log(level::info, "profile {}", chosen.file.empty() ? "none: the defaults" : chosen.file);
        values.push_back(chosen.values);
    }
    return values;
}

} // namespace

int run_job(const job_request &request)
{
    placement placed = place(request, is_this_machine);
    if (request.transport == shm::transport_choice::shm && placed.nodes.size() > 1)
        throw request_error(fmt::format(
            "--transport shm cannot reach the ranks of {} nodes; leave it out or use one node", placed.nodes.size()));
    std::vector<profile> profiles = profiles_for(request);
    if (request.dry_run) {
        fmt::print("{}", describe(placed, request));
        return 0;
    }
    if (request.show_map) tell("{}", describe(placed, request));
    if (!request.quiet)
        for (const auto &[name, near] : unknown_variables(environ))
            tell("onesea: warning: nothing reads the variable {}{}\n", name,
                 near.empty() ? "" : "; did you mean " + near + "?");
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        throw request_error(fmt::format("this program's own file cannot be found: {}", strerror(errno)));
    agent_command command{self, "", request.prefix};
    if (const char *shell = getenv("ONESEA_RSH")) command.remote_shell = shell;
    if (command.prefix.empty()) {
        std::string folder = command.own_program.substr(0, command.own_program.rfind('/'));
        command.prefix = folder.substr(0, folder.rfind('/'));
    }
    return launcher(request, std::move(placed), std::move(command), std::move(profiles)).run();
}

} // namespace onesea::agent
