// SPDX-License-Identifier: Apache-2.0
// An agent here is this very program with a socket as stdin and stdout; elsewhere ssh carries the same two. Both run in
// process groups of their own, so that a Ctrl-C reaches the launcher alone. ssh dies with the launcher; an agent does
// not, it notices the end of its control line and then clears up.
#include "agent/node_link.hpp"

#include "agent/hosts.hpp"
#include "agent/printable.hpp"
#include "agent/start.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr std::size_t error_bytes = 4096; // of ssh's text that are kept
constexpr int connect_seconds = 10;

std::string shell_quoted(const std::string &word)
{
    std::string quoted = "'";
    for (char c : word)
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    return quoted + "'";
}

bool is_ssh(const std::string &program) { return program.substr(program.rfind('/') + 1) == "ssh"; }

void fill_local(start_request &request, const agent_command &command)
{
    request.path = command.own_program;
    request.argv = {"onesea", "agent"};
    request.die_with_caller = false;
}

void fill_remote(start_request &request, const agent_command &command, const std::string &host)
{
    request.argv = remote_words(command, host);
    const char *path = getenv("PATH");
    if (find_program(request.argv[0], path ? path : usual_search_path, "", &request.path))
        throw request_error(fmt::format("'{}' is needed to reach host {} and is not here", request.argv[0], host));
}

// errno says why.
request_error no_line(const placed_node &node)
{
    return request_error(fmt::format("there is no line to an agent on {}: {}{}", node.host, strerror(errno),
                                     errno == EMFILE ? " (raise the limit of open files: ulimit -n)" : ""));
}

} // namespace

std::vector<std::string> remote_words(const agent_command &command, const std::string &host)
{
    std::vector<std::string> words;
    std::istringstream shell(command.remote_shell.empty() ? "ssh" : command.remote_shell);
    for (std::string w; shell >> w;) words.push_back(w);
    if (words.empty()) words.push_back("ssh");
    // The user's own options come first, and ssh keeps the first it sees.
    if (is_ssh(words[0]))
        for (const auto &option : {std::string("BatchMode=yes"), fmt::format("ConnectTimeout={}", connect_seconds),
                                   std::string("ServerAliveInterval=15")}) {
            words.push_back("-o");
            words.push_back(option);
        }
    if (is_ssh(words[0])) words.insert(words.end(), {"-T", "-x"});
    words.push_back(host);
    words.push_back(shell_quoted(command.prefix + "/bin/onesea") + " agent --guard");
    return words;
}

node_link::node_link(event_loop &loop, const agent_command &command, const placed_node &node, const sigset_t &mask,
                     channel::on_message received, channel::on_end ended_fn)
    : loop_(loop), local_(node.local)
{
    start_request request;
    if (node.local)
        fill_local(request, command);
    else
        fill_remote(request, command, node.host);
    int ends[2], errors[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw no_line(node);
    line_ = std::make_unique<channel>(loop, ends[0], ends[0], std::move(received), std::move(ended_fn));
    if (!node.local && pipe2(errors, O_CLOEXEC) != 0) {
        const request_error lacking = no_line(node);
        close(ends[1]);
        throw lacking;
    }
    for (char **e = environ; *e; ++e) request.environment.emplace_back(*e);
    request.in = request.out = ends[1];
    request.err = errors[1];
    request.mask = &mask;
    const char *step = "";
    int error = start_process(request, &pid_, &step);
    close(ends[1]);
    if (errors[1] >= 0) close(errors[1]);
    errors_ = errors[0];
    if (error) throw request_error(fmt::format("'{}' cannot be started: {}: {}", request.path, step, strerror(error)));
    if (errors_ < 0) return;
    fcntl(errors_, F_SETFL, O_NONBLOCK);
    loop_.watch(errors_, EPOLLIN, [this](std::uint32_t) { read_errors(); });
}

node_link::~node_link()
{
    line_.reset();
    if (errors_ < 0) return;
    loop_.forget(errors_);
    close(errors_);
}

std::string node_link::error_text() const
{
    std::string text = error_text_;
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return printable_lines(text);
}

void node_link::stop_connecting() const
{
    if (!local_ && pid_ > 0 && !reaped) kill(-pid_, SIGTERM);
}

void node_link::kill_now() const
{
    if (pid_ <= 0 || reaped) return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL); // it may have left its group
}

void node_link::read_errors()
{
    std::array<char, 1024> bytes;
    ssize_t n = read(errors_, bytes.data(), bytes.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        loop_.forget(errors_);
        close(std::exchange(errors_, -1));
        return;
    }
    error_text_.append(bytes.data(), std::size_t(n));
    if (error_text_.size() > error_bytes) error_text_.erase(0, error_text_.size() - error_bytes);
}

void node_link::collect_errors()
{
    for (std::size_t before = ~std::size_t(0); errors_ >= 0 && before != error_text_.size();) {
        before = error_text_.size();
        read_errors();
    }
}

} // namespace onesea::agent
