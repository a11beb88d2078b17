// SPDX-License-Identifier: Apache-2.0
// The launcher while a job runs. launcher_start.cpp brings the nodes up, launcher_run.cpp watches the ranks,
// launcher_silence.cpp the agents, launcher_spawn.cpp adds some ranks.
#pragma once

#include "agent/input_pump.hpp"
#include "agent/node_job.hpp"
#include "agent/node_link.hpp"
#include "agent/output_file.hpp"
#include "agent/output_hub.hpp"
#include "agent/stop_ladder.hpp"
#include "agent/verdict.hpp"
#include "observe/report.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace onesea::agent {

// What a rank has asked for with sea_spawn(), and how far it is.
struct wished_rank {
    unsigned asker = 0; // rank
    std::uint32_t id = 0;
    int node = -1; // -1: any
    program what;
};
struct joining {
    enum class phase { preparing, placing, starting };
    wished_rank wish;
    phase at = phase::preparing;
    unsigned node = 0;
    std::set<unsigned> unplaced; // nodes whose tables do not have it yet
};

// What a rank waits for.
struct rank_waits {
    unsigned rank = 0;
    bool answers = false;
    std::uint64_t ms = 0; // 0: no thread of it waits in the library
    std::string text;
};

class launcher {
  public:
    launcher(const job_request &request, placement placed, agent_command command, std::vector<profile> profiles);
    ~launcher();
    int run();

  private:
    // launcher_start.cpp
    void take_over_signals();
    void start_nodes();
    void limit_start(unsigned seconds_left);
    void send_jobs();
    node_job job_for(unsigned node) const;
    node_program program_for(const placed_node &place, const program &p) const;
    void take_hello(unsigned node, const message &m);
    void take_ready(unsigned node, const message &m);
    void node_failed(unsigned node, const std::string &text, int code);
    void send_table_when_ready();
    void give_up_start();

    // launcher_spawn.cpp
    void take_spawn(unsigned node, const message &m);
    void spawn_next();
    int choose_node(const wished_rank &wish, unsigned *node, std::string *why) const;
    std::string no_room(int node) const;
    void take_prepared(unsigned node, const message &m);
    void take_placed(unsigned node, const message &m);
    void begin_when_placed();
    void take_begun(unsigned node, const message &m);
    void never_started();
    void end_placing();
    void answer(const wished_rank &wish, int status, int rank, const std::string &text);
    void end_spawn(int status, const std::string &text);
    void node_lost_to_spawn(unsigned node);
    bool stopping() const { return ending_ || giving_up_ || stop_.first_signal(); }
    unsigned living_on(unsigned node) const;

    // launcher_stats.cpp
    void open_stats_file();
    void take_counts(unsigned node, const message &m);
    void tell_counts();

    // launcher_waits.cpp
    void limit_passed();
    void tell_waits_then(std::function<void()> next);
    void take_waits(unsigned node, const message &m);
    void tell_waits();

    // launcher_silence.cpp
    void watch_for_silence();
    void count_silence(unsigned node);
    void await_ends();
    void cut_off(unsigned node);
    void give_up_agent(unsigned node, const std::string &why);

    // launcher_run.cpp
    void received(unsigned node, message &m);
    void line_ended(unsigned node, const std::string &why);
    unsigned rank_told_of(unsigned node, const nlohmann::json &number) const;
    void take_exit(unsigned node, const message &m);
    void ranks_lost(unsigned node);
    void tell_ends();
    void take_warning(unsigned node, const message &m);
    void take_failed(unsigned node, const message &m);
    void take_output(unsigned node, const message &m);
    void throttle();
    void send_input(unsigned rank, std::string_view bytes);
    void end_job(bool at_once);
    void send_signal(int number);
    void take_signals();
    void handle_signal(int number);
    void ask_to_stop(int number);
    void reap();
    std::string killed_by(unsigned node);
    void kill_what_agents_left();
    void kill_orphans(std::uint64_t until);
    void rank_gone(unsigned rank, shm::rank_state state, int status);
    void finish_when_over();
    void finish_lines(unsigned node);
    void lose_agent(unsigned node, const std::string &how);
    bool finished() const;
    void wait_for_agents();
    std::size_t undelivered() const;
    void deliver_output();
    void tell_losses();
    int conclude();
    std::string end_text() const;
    const std::string &host_of(unsigned rank) const { return placed_.nodes[placed_.ranks[rank].node].host; }
    bool all_local() const;

    const job_request &request_;
    placement placed_;                    // grows with the job
    std::vector<program> programs_;       // those of the request, then those of spawned ranks until these end
    const std::vector<profile> profiles_; // of the nodes in order, the last for the rest
    const agent_command command_;
    event_loop loop_;
    output_hub output_;
    std::optional<input_pump> input_;
    std::vector<std::unique_ptr<node_link>> nodes_;
    std::vector<pid_t> foreign_; // descendants from before, not of the job
    sigset_t mask_before_{};
    int signal_fd_ = -1;
    std::string key_, job_id_;

    std::size_t answered_ = 0; // nodes from the first on that are ready or have failed
    bool jobs_sent_ = false, table_sent_ = false, giving_up_ = false;
    bool ending_ = false;            // the launcher ends the ranks
    bool maybe_over_ = false;        // look whether all ranks have ended
    bool limit_passed_ = false;      // that of --timeout
    std::set<unsigned> waits_asked_; // nodes that have been asked what their ranks wait for, and have not answered
    std::vector<rank_waits> waits_;
    std::function<void()> behind_waits_; // nullptr: they are not asked now
    bool finish_sent_ = false;
    bool ends_awaited_ = false;                          // the agents have been told to kill or to leave
    bool paused_ = false;                                // the ranks have to wait until the output has gone
    bool delivering_ = false, reader_abandoned_ = false; // nothing but output is left; nobody waits for its reader now
    bool agent_lost_ = false;
    std::vector<int> early_signals_; // for ranks that have not been started yet
    int forced_status_ = 0;          // of a time-out, an interruption at start, or our own failure
    std::set<std::string> failures_told_;
    verdict verdict_;
    std::vector<std::size_t> most_on_;              // ranks, by node, dead ones among them
    std::vector<unsigned> most_to_come_;            // of them: that many may come while the job runs
    std::vector<bool> gone_;                        // by rank: its end is known
    nlohmann::json ends_ = nlohmann::json::array(); // of ranks, not yet told to the nodes
    stop_ladder stop_;
    std::deque<wished_rank> wishes_;
    std::optional<joining> joining_; // one at a time: numbers go up by one everywhere
    std::unique_ptr<output_file> stats_file_;
    std::map<int, observe::rank_report> counts_; // by rank
};

} // namespace onesea::agent
