// SPDX-License-Identifier: Apache-2.0
// The agent's conversation with the launcher:
//
//   agent: hello          who I am, and the ends of the ssh connection
//   launcher: job         this node's part          agent: ready (address, ports) or failed
//   launcher: table       where everybody is        agent: started or failed
//   both: output, pause, input, taken, exit, gone, signal, kill
//   launcher: ask         are you there?            agent: here
//   launcher: waits       what do the ranks wait for? agent: waits
//   launcher: finish      all ranks have ended      agent: counts (if asked for), done
//
// More ranks, one after the other:
//
//   agent: spawn          a rank here asks for one
//   launcher: prepare     it is to be here          agent: prepared (port) or unprepared
//   launcher: joins       to all: a rank more       agent: placed
//   launcher: begin       start it                  agent: begun or unbegun
//   launcher: spawned     the answer for the rank that asked
//
// At the end whatever the ranks have started and left is killed, the rest of their output is passed on, and the agent
// says `done`. If the control line breaks before that, everything is killed at once: the launcher is dead, and nothing
// may be left behind. So it is if a signal ends the agent, which then leaves without `done`: its ranks have not ended
// by themselves, and the launcher is to know.
#include "agent/node_agent.hpp"

#include "agent/channel.hpp"
#include "agent/descendants.hpp"
#include "agent/descriptors.hpp"
#include "agent/hosts.hpp"
#include "agent/rank_set.hpp"
#include "agent/urgency.hpp"
#include "base/clock.hpp"
#include "base/spawn_wish.hpp"
#include "observe/page_copy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace onesea::agent {
namespace {

constexpr std::size_t output_ahead = 1u << 20; // bytes queued to the launcher before the ranks have to wait
constexpr std::size_t most_answer_text = 2048; // a datagram must fit the socket's buffer, and the reader's
constexpr std::size_t pairs_per_message = 4096;
constexpr nanoseconds waits_patience = 500'000'000; // with ranks that are asked what they wait for
constexpr double waits_look_s = 0.01;

class node_agent final : public rank_set::listener {
  public:
    node_agent(int in, int out, const sigset_t &mask, int signal_fd)
        : mask_(mask), signal_fd_(signal_fd),
          line_(
              loop_, in, out, [this](message &m) { received(m); }, [this](const std::string &) { over_ = true; })
    {
        line_.when_below(output_ahead, [this] {
            line_full_ = false;
            pace_output();
        });
        loop_.watch(signal_fd_, EPOLLIN, [this](std::uint32_t) { take_signals(); });
    }

    int run();

  private:
    void hello();
    void received(message &m);
    void take_start(const message &m);
    void take_job(const message &m);
    void take_table(const message &m);
    void take_gone(const message &m);
    void take_pause(const message &m);
    void take_signals();
    void watch_wishes(unsigned slot);
    bool take_wish(unsigned slot);
    void end_wishes(unsigned slot);
    void answer(const message &m);
    void send_answers(unsigned slot);
    void prepare_rank(const message &m);
    void place_rank(const message &m);
    void start_prepared(unsigned rank);
    void begin_rank(const message &m);
    void warn(const std::string &text) { line_.send({{"type", "warning"}, {"text", text}}); }
    void failed(const request_error &e);
    void leave();
    void finish();
    void forward_input(const message &m);
    void tell_counts(unsigned slot);
    void ask_for_waits();
    void tell_waits(std::uint32_t question, nanoseconds until);
    void pace_output();

    void wrote(unsigned slot, int stream, std::string_view bytes) override;
    void took_input(unsigned slot, std::size_t bytes) override;
    void ended(unsigned slot, const rank_end &end) override;

    event_loop loop_;
    const sigset_t &mask_;
    int signal_fd_;
    channel line_;
    std::optional<node_job> job_;
    std::optional<node_memory> memory_;
    std::optional<rank_set> ranks_;
    bool started_ = false, over_ = false, leaving_ = false, done_ = false;
    bool line_full_ = false, held_ = false; // output has to wait: for the line; for who reads the launcher's
    std::map<unsigned, std::deque<std::string>> answers_; // by slot: for which there was no room yet
    std::set<unsigned> told_of_;                          // slots of ranks that ask for what no library asks
    int ended_by_ = 0;                                    // a signal
};

// The same for all containers and namespaces of a kernel; "" if it does not tell.
std::string machine_name()
{
    std::string name;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
    return name;
}

void node_agent::hello()
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    auto ends = parse_ssh_connection(getenv("SSH_CONNECTION"));
    line_.send({{"type", "hello"},
                {"control_version", control_version},
                {"machine", machine_name()},
                {"host", host},
                {"pid", getpid()},
                {"launcher_address", ends.client},
                {"own_address", ends.server}});
}

void node_agent::received(message &m)
{
    std::string type = m.type();
    if (type == "job" || type == "table") return take_start(m);
    if (type == "ask") return line_.send({{"type", "here"}});
    if (!ranks_) return; // its part of the job could not be taken
    if (type == "gone") return take_gone(m);
    if (type == "input") return forward_input(m);
    if (type == "pause") return take_pause(m);
    if (type == "signal") return ranks_->signal_all(m.head.at("number").get<int>());
    if (type == "kill") return ranks_->signal_all(SIGKILL);
    if (type == "prepare") return prepare_rank(m);
    if (type == "joins") return place_rank(m);
    if (type == "begin") return begin_rank(m);
    if (type == "spawned") return answer(m);
    if (type == "waits") return ask_for_waits();
    if (type == "finish") return leave();
    throw request_error(fmt::format("the launcher said '{}', which none says", type));
}

void node_agent::take_start(const message &m)
{
    try {
        return m.type() == "job" ? take_job(m) : take_table(m);
    } catch (const request_error &e) {
        failed(e);
    }
}

void node_agent::take_pause(const message &m)
{
    m.head.at("paused").get_to(held_);
    pace_output();
}

void node_agent::take_job(const message &m)
{
    if (job_) throw request_error("the launcher sent a second job");
    job_ = node_job_from(m.head);
    memory_.emplace(*job_);
    ranks_.emplace(loop_, *job_, *memory_, *this);
    ranks_->prepare([this](const std::string &text) { warn(text); });
    bool network = job_->needs_network();
    line_.send({{"type", "ready"},
                {"address", network ? net::to_string(memory_->address().address) : ""},
                {"mtu", memory_->address().mtu},
                {"ports", memory_->ports()}});
}

void node_agent::take_table(const message &m)
{
    if (!ranks_ || started_) throw request_error("the launcher's table came at a wrong time");
    const job_table table = job_table_from(m);
    memory_->fill(table);
    job_->ranks_on_machine = table.nodes[job_->node].ranks_on_machine;
    job_->first_on_machine = table.nodes[job_->node].first_on_machine;
    started_ = true;
    ranks_->start(mask_);
    job_->programs.clear();
    for (unsigned slot = 0; slot < job_->ranks.size(); ++slot) watch_wishes(slot);
    line_.send({{"type", "started"}});
}

void node_agent::failed(const request_error &e)
{
    line_.send({{"type", "failed"}, {"text", e.what()}, {"code", e.code}});
    if (ranks_) ranks_->signal_all(SIGKILL);
    leave();
}

void node_agent::leave()
{
    leaving_ = true;
    if (!ranks_ || ranks_->running() == 0) done_ = true;
}

void node_agent::take_gone(const message &m)
{
    for (const auto &entry : m.head.at("ranks")) // our own among them: their ends are known here
        memory_->set_state(entry.at(0).get<unsigned>(), shm::rank_state(entry.at(1).get<std::uint8_t>()),
                           entry.at(2).get<int>());
}

void node_agent::forward_input(const message &m)
{
    unsigned slot = m.head.at("slot").get<unsigned>();
    if (m.body.empty())
        ranks_->end_input(slot);
    else
        ranks_->give_input(slot, m.body);
}

void node_agent::wrote(unsigned slot, int stream, std::string_view bytes)
{
    line_.send({{"type", "output"}, {"rank", job_->ranks[slot].rank}, {"stream", stream}}, bytes);
    if (line_full_ || line_.queued() <= output_ahead) return;
    line_full_ = true;
    pace_output();
}

// The output alone waits: all else that is said on the line is heard at once.
void node_agent::pace_output()
{
    if (ranks_) ranks_->pause_output(line_full_ || held_);
}

void node_agent::took_input(unsigned slot, std::size_t bytes)
{
    line_.send({{"type", "taken"}, {"slot", slot}, {"bytes", bytes}});
}

void node_agent::ended(unsigned slot, const rank_end &end)
{
    int status = shell_status(end);
    bool clean = memory_->progress_of(slot) == 2 || status == 0;
    end_wishes(slot);
    memory_->has_ended(slot);
    auto state = clean ? shm::rank_state::left : shm::rank_state::dead;
    memory_->set_state(unsigned(end.rank), state, status);
    line_.send({{"type", "exit"},
                {"rank", end.rank},
                {"code", end.code},
                {"signal", end.signal},
                {"core", end.core},
                {"unfinished", end.unfinished},
                {"asked", end.asked},
                {"state", int(state)},
                {"status", status}});
}

void node_agent::watch_wishes(unsigned slot)
{
    loop_.watch(memory_->wishes_of(slot), EPOLLIN, [this, slot](std::uint32_t events) {
        if (events & EPOLLOUT) send_answers(slot);
        if (events & ~std::uint32_t(EPOLLOUT)) take_wish(slot);
    });
}

// False: there is none.
bool node_agent::take_wish(unsigned slot)
{
    static std::array<char, most_wish_bytes> bytes;
    const ssize_t n = recv(memory_->wishes_of(slot), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) { // nobody is left who could ask
        loop_.forget(memory_->wishes_of(slot));
        return false;
    }
    const auto wish = std::size_t(n) <= bytes.size() ? spawn_wish_from({bytes.data(), std::size_t(n)}) : std::nullopt;
    if (!wish) {
        if (told_of_.insert(slot).second)
            warn(fmt::format("rank {} asks its agent for what no library asks", job_->ranks[slot].rank));
        return true;
    }
    line_.send({{"type", "spawn"},
                {"rank", job_->ranks[slot].rank},
                {"id", wish->id},
                {"node", wish->node},
                {"argv", texts_of(wish->arguments)},
                {"environment", texts_of(wish->environment)},
                {"directory", text_of(wish->directory)}});
    return true;
}

// What the rank has asked for comes all the same, and is told before its end. Others that hold its end of the socket
// ask for nothing more.
void node_agent::end_wishes(unsigned slot)
{
    const int fd = memory_->wishes_of(slot);
    shutdown(fd, SHUT_RD);
    while (take_wish(slot)) {
    }
    loop_.forget(fd);
    answers_.erase(slot);
    told_of_.erase(slot);
}

void node_agent::answer(const message &m)
{
    const unsigned slot = m.head.at("slot").get<unsigned>();
    if (slot >= job_->ranks.size() || memory_->wishes_of(slot) < 0) return;
    spawn_answer text{m.head.at("id").get<std::uint32_t>(), m.head.at("status").get<int>(),
                      m.head.at("rank").get<int>(), m.head.at("text").get<std::string>()};
    if (text.text.size() > most_answer_text) text.text.replace(most_answer_text, text.text.npos, " ...");
    answers_[slot].push_back(encode(text));
    send_answers(slot);
}

void node_agent::send_answers(unsigned slot)
{
    const int fd = memory_->wishes_of(slot);
    auto &waiting = answers_[slot];
    for (; !waiting.empty(); waiting.pop_front()) {
        const std::string &bytes = waiting.front();
        if (send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) continue;
        if (errno == EAGAIN) return loop_.change(fd, EPOLLIN | EPOLLOUT);
        // Else it has ended, and needs none.
    }
    answers_.erase(slot);
    loop_.change(fd, EPOLLIN);
}

void node_agent::prepare_rank(const message &m)
{
    try {
        const node_program program = node_program_from(m.head.at("program"));
        const unsigned rank = m.head.at("rank").get<unsigned>();
        ranks_->prepare_program(program, [this](const std::string &text) { warn(text); });
        const unsigned port = memory_->add(rank, m.head.at("spawned_by").get<unsigned>());
        job_->ranks.push_back({rank, 0, false});
        line_.send({{"type", "prepared"}, {"rank", rank}, {"port", port}});
    } catch (const request_error &e) {
        line_.send({{"type", "unprepared"}, {"text", e.what()}});
    }
}

void node_agent::place_rank(const message &m)
{
    const joining_rank more = joining_rank_from(m.head);
    memory_->place(more);
    job_->total_ranks = more.rank + 1;
    line_.send({{"type", "placed"}, {"rank", more.rank}});
}

void node_agent::start_prepared(unsigned rank)
{
    if (job_->ranks.back().rank != rank || !ranks_->has_program())
        throw request_error(fmt::format("rank {} is not prepared", rank));
    const unsigned slot = unsigned(job_->ranks.size()) - 1;
    try {
        ranks_->start_last(mask_);
    } catch (const request_error &) {
        memory_->has_ended(slot);
        throw;
    }
    watch_wishes(slot);
}

void node_agent::begin_rank(const message &m)
{
    const unsigned rank = m.head.at("rank").get<unsigned>();
    try {
        start_prepared(rank);
        line_.send({{"type", "begun"}, {"rank", rank}});
    } catch (const request_error &e) {
        line_.send({{"type", "unbegun"}, {"rank", rank}, {"text", e.what()}});
    }
}

void node_agent::take_signals()
{
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof info) == ssize_t(sizeof info))
        if (info.ssi_signo != SIGCHLD) ended_by_ = int(info.ssi_signo);
    if (ended_by_) over_ = true;
    if (!ranks_ || over_) return;
    ranks_->reap();
    if (leaving_) leave();
}

void node_agent::finish()
{
    if (!kill_descendants(kill_seconds)) warn("some processes that the ranks started could not be killed");
    if (!ranks_) return;
    ranks_->reap();
    ranks_->drain(drain_seconds);
    if (job_->stats && started_)
        for (unsigned slot = 0; slot < job_->ranks.size(); ++slot) tell_counts(slot);
}

void node_agent::tell_counts(unsigned slot)
{
    std::string problem;
    auto page = observe::read_page(memory_->counts_of(slot), job_->total_ranks, &problem);
    if (!page) {
        return warn(fmt::format("the counts of rank {} are unreadable: {}", job_->ranks[slot].rank, problem));
    }
    page->rank = int(job_->ranks[slot].rank); // whatever it says itself
    const std::vector<observe::pair_copy> all = std::exchange(page->pairs, {});
    std::size_t at = 0;
    do {
        const std::size_t n = std::min(pairs_per_message, all.size() - at);
        page->pairs.assign(all.begin() + std::ptrdiff_t(at), all.begin() + std::ptrdiff_t(at + n));
        nlohmann::json head = observe::to_json(*page);
        head["type"] = "counts";
        line_.send(head);
        at += n;
    } while (at < all.size());
}

void node_agent::ask_for_waits()
{
    const std::uint32_t question = memory_->ask_for_waits();
    memory_->tell_ranks();
    tell_waits(question, now_ns() + waits_patience);
}

// When all ranks have answered, or will not.
void node_agent::tell_waits(std::uint32_t question, nanoseconds until)
{
    nlohmann::json all = nlohmann::json::array();
    bool complete = true;
    const std::size_t started = job_->ranks.size() - ranks_->has_program(); // the last is to be started, perhaps
    for (unsigned slot = 0; slot < started; ++slot) {
        if (memory_->wishes_of(slot) < 0) continue; // it has ended
        const auto waits = observe::read_waits(memory_->counts_of(slot)).value_or(observe::wait_copy{});
        const bool answers = waits.answers == question, inside = memory_->progress_of(slot) == 1;
        complete &= answers || !inside;
        const char *why = !waits.started ? "has not called sea_init()" : inside ? "does not answer" : "has left";
        all.push_back({job_->ranks[slot].rank, answers, answers ? waits.ms : 0, answers ? waits.text : why});
    }
    if (complete || now_ns() > until) return line_.send({{"type", "waits"}, {"ranks", all}});
    loop_.after(waits_look_s, [this, question, until] { tell_waits(question, until); });
}

int node_agent::run()
{
    hello();
    while (!over_ && !done_) {
        loop_.run_once();
        if (memory_) memory_->tell_ranks();
    }
    if (ended_by_) warn(fmt::format("signal {} ({}) ends the agent", ended_by_, strsignal(ended_by_)));
    finish();
    if (!ended_by_) line_.send({{"type", "done"}});
    // The launcher may be stopped for a while; if it dies the line ends.
    line_.flush_blocking(ended_by_ ? 1 : 600);
    return 0;
}

sigset_t awaited_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (int s : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
    return set;
}

// Returns in the agent proper; the other process waits for its end, kills what it left and ends likewise. Signals that
// mean to end it are the agent's: if the guard just died, nobody would look after what the ranks have started.
void split_guard()
{
    const sigset_t taken = awaited_signals();
    sigset_t before;
    pid_t watcher = getpid();
    become_reaper();
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &taken, &before);
    pid_t agent = fork();
    if (agent <= 0) {
        if (agent == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (agent == 0 && getppid() != watcher) _exit(1);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        return;
    }
    for (int fd : {0, 1}) close(fd);
    int status = 0, number = 0;
    while (waitpid(agent, &status, WNOHANG) == 0)
        if (sigwait(&taken, &number) == 0 && number != SIGCHLD) kill(agent, number);
    kill_descendants(kill_seconds);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int safe_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return copy < 0 ? fd : copy;
}

} // namespace

int run_agent(int control_in, int control_out, bool guard)
{
    signal(SIGPIPE, SIG_IGN);
    rise_above_ranks();
    if (guard) split_guard();
    become_reaper();
    raise_file_limit();
    int in = safe_copy(control_in), out = control_in == control_out ? in : safe_copy(control_out);
    int null_fd = open("/dev/null", O_RDWR);
    for (int fd : {0, 1})
        if (null_fd >= 0) dup2(null_fd, fd);
    if (null_fd > 2) close(null_fd);

    const sigset_t taken = awaited_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &taken, &before);
    int signal_fd = granted(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
    return node_agent(in, out, before, signal_fd).run();
}

} // namespace onesea::agent
