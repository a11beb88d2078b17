// SPDX-License-Identifier: Apache-2.0
#include "memory/simulated_job.hpp"

#include "agent/node_job.hpp"
#include "agent/node_link.hpp"
#include "driver/process.hpp"

#include <array>
#include <csignal>
#include <dirent.h>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

using namespace onesea::agent;

constexpr unsigned ends_per_message = 50'000;

double now() { return double(onesea::now_ns()) * 1e-9; }

// Bytes that the kernel has given to the one memory file of an agent: its node's arena.
double arena_bytes(pid_t agent)
{
    const std::string folder = fmt::format("/proc/{}/fd", agent);
    std::unique_ptr<DIR, int (*)(DIR *)> files(opendir(folder.c_str()), closedir);
    while (dirent *entry = files ? readdir(files.get()) : nullptr) {
        std::array<char, 64> target{};
        const std::string name = folder + "/" + entry->d_name;
        struct stat info;
        if (readlink(name.c_str(), target.data(), target.size() - 1) < 0) continue;
        if (std::string_view(target.data()).starts_with("/memfd:onesea ") && stat(name.c_str(), &info) == 0)
            return double(info.st_blocks) * 512;
    }
    throw std::runtime_error(fmt::format("the agent {} has no shared memory", agent));
}

class simulated_job {
  public:
    explicit simulated_job(const simulation &what) : what_(what)
    {
        sigprocmask(SIG_SETMASK, nullptr, &mask_);
        placed_node here;
        here.host = "localhost";
        for (unsigned n = 0; n < 2; ++n) {
            links_[n] = std::make_unique<node_link>(
                loop_, agent_command{what_.onesea, "", ""}, here, mask_, [this, n](message &m) { received(n, m); },
                [this, n](const std::string &why) { line_ended(n, why); });
            links_[n]->send(to_json(part_of(n)));
        }
        loop_.after(what_.seconds, [this] { problem_ = fmt::format("no end after {} s", what_.seconds); });
    }

    // The agents kill what they have started when their lines end.
    ~simulated_job()
    {
        for (auto &l : links_) {
            l->hang_up();
            while (waitpid(l->pid(), nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }

    simulation_result run()
    {
        wake_up();
        while (!(links_[0]->done && links_[1]->done) && problem_.empty()) {
            loop_.run_once();
            throw_if_interrupted();
        }
        if (!problem_.empty()) throw std::runtime_error(problem_ + (said_.empty() ? "" : ": " + said_));
        for (const char *step : {"before", "init", "talked", "ended"})
            if (!result_.steps.contains(step))
                throw std::runtime_error(fmt::format("the measured process did not come to '{}': {}", step, said_));
        return result_;
    }

  private:
    const simulation &what_;
    const double begin_ = now();
    sigset_t mask_{};
    event_loop loop_;
    std::array<std::unique_ptr<node_link>, 2> links_;
    std::array<double, 2> empty_bytes_{};
    std::array<bool, 2> started_{};
    std::string lines_, said_, problem_; // of rank 0; of anybody on stderr; why it ends
    unsigned serving_ = 0, exits_ = 0;
    double ends_told_ = 0;
    bool initialized_ = false, talking_ = false;
    simulation_result result_;

    unsigned nodes() const { return 2 + (what_.ranks - 1 - what_.peers + what_.per_node - 1) / what_.per_node; }
    node_job part_of(unsigned node) const;
    job_table table() const;
    void received(unsigned node, message &m);
    void take_output(const message &m);
    void take_line(const std::string &line);
    void talk_when_all_serve();
    void end_the_others();
    // So that a signal is noticed that has come just before the loop waits.
    void wake_up()
    {
        loop_.after(0.2, [this] { wake_up(); });
    }
    void line_ended(unsigned node, const std::string &why)
    {
        links_[node]->ended = true;
        if (!links_[node]->done && problem_.empty())
            problem_ = fmt::format("the agent of node {} has ended {}", node, why);
    }
    void next(unsigned node, unsigned slot, std::string_view line)
    {
        links_[node]->send({{"type", "input"}, {"slot", slot}}, line);
    }
};

node_job simulated_job::part_of(unsigned node) const
{
    node_job job;
    job.node = node;
    job.nodes = nodes();
    job.total_ranks = what_.ranks;
    job.ranks_on_machine = 1 + what_.peers;
    job.first_on_machine = node;
    job.spare = onesea::agent::job_request{}.spare;
    for (unsigned r = 0; r < (node == 0 ? 1 : what_.peers); ++r) job.ranks.push_back({node + r, 0, true});
    node_program program;
    program.argv = {what_.worker, "serve"};
    if (node == 0) program.argv = {what_.worker, "measure", std::to_string(what_.peers)};
    job.programs = {program};
    job.key = std::string(64, '5');
    job.job_id = std::string(16, '5');
    job.secure = what_.secure == "off"       ? onesea::shm::secure_mode::off
                 : what_.secure == "encrypt" ? onesea::shm::secure_mode::encrypt
                                             : onesea::shm::secure_mode::auth;
    job.heap_bytes = 16 << 20;
    job.bind = bind_mode::none;
    job.address = "127.0.0.1";
    return job;
}

job_table simulated_job::table() const
{
    job_table t;
    auto add = [&](const std::string &address, unsigned ranks) {
        t.nodes.push_back({address, 65536, ranks});
        t.ports.resize(t.ports.size() + ranks, 40000);
    };
    for (unsigned n = 0; n < 2; ++n) {
        add("127.0.0.1", unsigned(links_[n]->ports.size()));
        std::copy(links_[n]->ports.begin(), links_[n]->ports.end(), t.ports.end() - long(links_[n]->ports.size()));
    }
    for (unsigned left = what_.ranks - 1 - what_.peers, n = 2; left; ++n) {
        unsigned ranks = std::min(left, what_.per_node);
        add(fmt::format("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255), ranks);
        left -= ranks;
    }
    return t;
}

void simulated_job::received(unsigned node, message &m)
{
    const std::string type = m.type();
    if (type == "output") take_output(m);
    if (type == "failed") problem_ = m.head.at("text").get<std::string>();
    if (type == "done") links_[node]->done = true;
    if (type == "ready") {
        m.head.at("ports").get_to(links_[node]->ports);
        links_[node]->ready = true;
        empty_bytes_[node] = arena_bytes(links_[node]->pid());
        if (!links_[0]->ready || !links_[1]->ready) return;
        const message t = to_message(table());
        for (auto &l : links_) l->send(t.head, t.body);
    }
    if (type == "started") {
        started_[node] = true;
        // The measured process waits to be told before it touches anything.
        if (node == 0) result_.table_bytes = arena_bytes(links_[0]->pid()) - empty_bytes_[0];
        if (!started_[0] || !started_[1]) return;
        result_.setup_seconds = now() - begin_;
    }
    if (type == "exit" && ++exits_ == 1 + what_.peers)
        for (auto &l : links_) l->send({{"type", "finish"}});
    if (type == "exit" && m.head.at("status").get<int>() != 0)
        problem_ =
            fmt::format("rank {} ended with status {}", m.head.at("rank").get<int>(), m.head.at("status").get<int>());
    talk_when_all_serve();
}

void simulated_job::take_output(const message &m)
{
    if (m.head.at("stream").get<int>() == 2) said_ += m.body;
    if (m.head.at("stream").get<int>() != 1) return;
    if (m.head.at("rank").get<unsigned>() != 0) {
        serving_ += unsigned(std::count(m.body.begin(), m.body.end(), '\n'));
        return;
    }
    lines_ += m.body;
    for (std::size_t end; (end = lines_.find('\n')) != lines_.npos; lines_.erase(0, end + 1))
        take_line(lines_.substr(0, end));
}

void simulated_job::take_line(const std::string &line)
{
    std::istringstream words(line);
    std::string tag, step;
    memory_of_step m;
    if (!(words >> tag >> step >> m.anonymous >> m.shared >> m.page_tables >> m.seconds) || tag != "memory") return;
    if (m.anonymous <= 0 || m.shared < 0 || m.page_tables <= 0)
        problem_ = "the kernel does not say how much memory a process owns (/proc/self/smaps)";
    for (double *kilobytes : {&m.anonymous, &m.shared, &m.page_tables}) *kilobytes *= 1024;
    result_.steps[step] = m;
    if (step == "before") next(0, 0, "init\n");
    if (step == "init") initialized_ = true;
    if (step == "talked") end_the_others();
    if (step == "ended") result_.ends_seconds = now() - ends_told_;
}

void simulated_job::talk_when_all_serve()
{
    if (talking_ || !initialized_ || serving_ < what_.peers) return;
    talking_ = true;
    next(0, 0, "talk\n");
}

// All that do not exist leave, as agents would be told, but the last one dies, which is how the process sees the end of
// it; then those that do.
void simulated_job::end_the_others()
{
    ends_told_ = now();
    nlohmann::json ends = nlohmann::json::array();
    for (unsigned r = 1 + what_.peers; r < what_.ranks; ++r) {
        bool last = r + 1 == what_.ranks;
        ends.push_back({r, int(last ? onesea::shm::rank_state::dead : onesea::shm::rank_state::left), last ? 9 : 0});
        if (ends.size() < ends_per_message && !last) continue;
        for (auto &l : links_) l->send({{"type", "gone"}, {"ranks", ends}});
        ends.clear();
    }
    next(0, 0, "end\n");
    for (unsigned slot = 0; slot < what_.peers; ++slot) next(1, slot, "");
}

} // namespace

simulation_result run_simulation(const simulation &what) { return simulated_job(what).run(); }

} // namespace bench
