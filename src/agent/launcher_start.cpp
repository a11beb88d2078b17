// SPDX-License-Identifier: Apache-2.0
// Start-up: one agent per node at once; each gets its part of the job as soon as its address can be told; when all have
// opened their sockets, all get the table and start their ranks. Nodes of this machine need not wait for anything; in a
// job with other hosts they wait for the first of those to say by which address it sees this machine.
// Until the table is sent nothing of the user's has run anywhere, so any failure ends the start with every host's own
// message and status 125, 126 or 127.
#include "agent/launcher_state.hpp"

#include "agent/descendants.hpp"
#include "agent/descriptors.hpp"
#include "agent/environment.hpp"
#include "agent/hosts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr unsigned start_limit_s = 30; // for an agent to say that its node is ready
constexpr std::array taken_signals{SIGCHLD, SIGINT,  SIGTERM, SIGQUIT, SIGHUP,
                                   SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

std::string random_hex(std::size_t n)
{
    std::vector<std::uint8_t> bytes(n);
    if (getrandom(bytes.data(), n, 0) != ssize_t(n))
        throw request_error(fmt::format("the system gives no random numbers: {}", strerror(errno)));
    return to_hex(bytes.data(), n);
}

std::vector<unsigned> input_ranks(const job_request &request, std::size_t ranks)
{
    std::vector<unsigned> list;
    std::size_t n = request.input == stdin_mode::all ? ranks : request.input == stdin_mode::first ? 1 : 0;
    for (unsigned r = 0; r < n; ++r) list.push_back(r);
    return list;
}

} // namespace

launcher::launcher(const job_request &request, placement placed, agent_command command, std::vector<profile> profiles)
    : request_(request), placed_(std::move(placed)), programs_(request.programs), profiles_(std::move(profiles)),
      command_(std::move(command)), output_((raise_file_limit(), loop_), request_, placed_),
      key_(random_hex(shm::key_bytes)), job_id_(random_hex(8)), gone_(placed_.ranks.size())
{
    input_.emplace(loop_, input_ranks(request_, placed_.ranks.size()),
                   [this](unsigned rank, std::string_view bytes) { send_input(rank, bytes); });
    output_.on_progress([this] { throttle(); });
    for (const placed_node &n : placed_.nodes) {
        most_to_come_.push_back(std::min(request_.spare, shm::max_slots - unsigned(n.ranks.size())));
        most_on_.push_back(n.ranks.size() + most_to_come_.back());
    }
    open_stats_file();
    take_over_signals();
}

launcher::~launcher()
{
    nodes_.clear();
    if (signal_fd_ < 0) return;
    loop_.forget(signal_fd_);
    close(signal_fd_); // the signals stay blocked: one that comes now must not change the status that is known by now
}

void launcher::take_over_signals()
{
    foreign_ = descendants_of(getpid());
    become_reaper();
    signal(SIGPIPE, SIG_IGN);
    sigset_t taken;
    sigemptyset(&taken);
    for (int s : taken_signals) {
        struct sigaction before;
        bool ignored = sigaction(s, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored || s == SIGCHLD) sigaddset(&taken, s); // nohup stays nohup
    }
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &taken, &mask_before_);
    signal_fd_ = granted(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
    loop_.watch(signal_fd_, EPOLLIN, [this](std::uint32_t) { take_signals(); });
}

bool launcher::all_local() const
{
    for (const placed_node &n : placed_.nodes)
        if (!n.local) return false;
    return true;
}

void launcher::start_nodes()
{
    for (unsigned i = 0; i < placed_.nodes.size(); ++i)
        nodes_.push_back(std::make_unique<node_link>(
            loop_, command_, placed_.nodes[i], mask_before_, [this, i](message &m) { received(i, m); },
            [this, i](const std::string &why) { line_ended(i, why); }));
    limit_start(start_limit_s);
    if (all_local()) send_jobs();
}

// Counts seconds in which this launcher ran, as watch_for_silence() does.
void launcher::limit_start(unsigned seconds_left)
{
    if (seconds_left > 0) {
        loop_.after(1, [this, seconds_left] { limit_start(seconds_left - 1); });
        return;
    }
    const bool waiting_here = !jobs_sent_; // those here for an address that another host was to tell
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->ready || (waiting_here && placed_.nodes[i].local)) continue;
        const std::string who = placed_.nodes[i].local ? fmt::format("the agent of node {}", i) : "it";
        node_failed(i, fmt::format("{} did not answer within {} s", who, start_limit_s), status_launcher);
    }
}

node_program launcher::program_for(const placed_node &place, const program &p) const
{
    node_program sent{p.argv, {}, p.directory, !p.directory.empty()};
    if (!place.local) {
        char here[4096] = "";
        sent.environment = variables_to_send(environ, request_.export_all);
        if (p.directory.empty() && getcwd(here, sizeof here)) sent.directory = here;
    }
    sent.environment.insert(sent.environment.end(), p.environment.begin(), p.environment.end());
    return sent;
}

node_job launcher::job_for(unsigned node) const
{
    const placed_node &place = placed_.nodes[node];
    node_job job;
    job.node = node;
    job.nodes = unsigned(placed_.nodes.size());
    job.total_ranks = unsigned(placed_.ranks.size());
    job.ranks_on_machine = place.ranks_on_machine;
    job.first_on_machine = place.first_on_machine;
    job.spare = request_.spare;
    for (unsigned r : place.ranks)
        job.ranks.push_back({r, placed_.ranks[r].program,
                             request_.input == stdin_mode::all || (request_.input == stdin_mode::first && r == 0)});
    for (const program &p : request_.programs) job.programs.push_back(program_for(place, p));
    job.key = key_;
    job.job_id = job_id_;
    job.secure = request_.secure;
    job.transport = request_.transport;
    job.heap_bytes = request_.heap_bytes;
    job.stats = request_.stats;
    job.bind = request_.bind;
    job.tuning = profiles_[std::min<std::size_t>(node, profiles_.size() - 1)];
    job.interface = request_.interface;
    return job;
}

void launcher::send_jobs()
{
    jobs_sent_ = true;
    std::string seen_from_there;
    for (const auto &n : nodes_)
        if (seen_from_there.empty()) seen_from_there = n->launcher_address;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (!placed_.nodes[i].local) continue;
        node_job job = job_for(i);
        job.address = all_local() ? "127.0.0.1" : seen_from_there;
        nodes_[i]->send(to_json(job));
    }
}

void launcher::take_hello(unsigned node, const message &m)
{
    node_link &link = *nodes_[node];
    link.said_hello = true;
    if (int theirs = m.head.at("control_version").get<int>(); theirs != control_version)
        return node_failed(
            node, fmt::format("its onesea speaks version {} of the control line, this one {}", theirs, control_version),
            status_launcher);
    m.head.at("machine").get_to(link.machine);
    if (placed_.nodes[node].local) return;
    link.own_address = m.head.at("own_address").get<std::string>();
    link.launcher_address = m.head.at("launcher_address").get<std::string>();
    node_job job = job_for(node);
    job.address = link.own_address;
    link.send(to_json(job));
    if (!jobs_sent_) send_jobs();
}

void launcher::take_ready(unsigned node, const message &m)
{
    node_link &link = *nodes_[node];
    link.ready = true;
    m.head.at("address").get_to(link.address);
    m.head.at("mtu").get_to(link.mtu);
    m.head.at("ports").get_to(link.ports);
    send_table_when_ready();
}

void launcher::send_table_when_ready()
{
    while (answered_ < nodes_.size() && (nodes_[answered_]->ready || nodes_[answered_]->failed)) ++answered_;
    if (answered_ < nodes_.size()) return;
    if (std::any_of(nodes_.begin(), nodes_.end(), [](const auto &n) { return n->failed; })) return give_up_start();
    if (table_sent_) return;
    table_sent_ = true;
    watch_for_silence();
    std::vector<std::string> machines;
    for (const auto &n : nodes_) machines.push_back(n->machine);
    count_machines(placed_, machines);
    job_table table;
    for (const auto &n : nodes_) {
        const placed_node &place = placed_.nodes[table.nodes.size()];
        const unsigned ranks = unsigned(place.ranks.size());
        table.nodes.push_back({n->address, n->mtu, ranks, place.ranks_on_machine, place.first_on_machine});
        for (unsigned slot = 0; slot < ranks; ++slot)
            table.ports.push_back(slot < n->ports.size() ? std::uint16_t(n->ports[slot]) : std::uint16_t(0));
    }
    message m = to_message(table);
    output_.begin();
    if (stats_file_) stats_file_->empty();
    for (auto &n : nodes_) n->send(m.head, m.body);
    for (int number : std::exchange(early_signals_, {})) send_signal(number);
    input_->start();
}

// Tells each host's trouble once, and waits for the others' before it ends.
void launcher::node_failed(unsigned node, const std::string &text, int code)
{
    node_link &link = *nodes_[node];
    if (link.failed || giving_up_) return;
    link.failed = true;
    link.collect_errors();
    std::string said = link.error_text();
    const placed_node &place = placed_.nodes[node];
    std::string line = place.local ? text : fmt::format("host {}: {}", place.host, text);
    if (!said.empty()) line += (said.find('\n') == said.npos ? ": " : ":\n") + said;
    if (failures_told_.insert(line).second) output_.say(line);
    if (!forced_status_) forced_status_ = code;
    maybe_over_ = true;
    if (table_sent_) return end_job(true);
    // An agent here that waits for an address which now may never come is let go.
    bool others_answer = false;
    for (unsigned i = 0; i < nodes_.size(); ++i)
        others_answer = others_answer || (!placed_.nodes[i].local && !nodes_[i]->failed && !nodes_[i]->ready);
    if (!jobs_sent_ && !others_answer) return give_up_start();
    send_table_when_ready();
}

void launcher::give_up_start()
{
    giving_up_ = true;
    ending_ = true;
    if (!forced_status_) forced_status_ = status_launcher;
}

} // namespace onesea::agent
