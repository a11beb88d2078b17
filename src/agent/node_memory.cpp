// SPDX-License-Identifier: Apache-2.0
// Arena, doorbells and the lifeline's reading end are inherited by every rank of the node under the same numbers, so
// they are not close-on-exec here: the agent runs nothing but ranks. A rank's own socket and its page are close-on-exec
// and kept by its child only. One lifeline serves all: nothing is ever written to it, each rank only waits for its end.
#include "agent/node_memory.hpp"

#include "agent/hosts.hpp"
#include "base/birth.hpp"
#include "base/counts_page.hpp"
#include "base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace onesea::agent {
namespace {

[[noreturn]] void refuse(const std::string &what, int error)
{
    throw request_error(fmt::format("{}: {}{}", what, strerror(error),
                                    error == EMFILE  ? " (raise the limit of open files: ulimit -n)"
                                    : error == EFBIG ? " (raise the limit of file sizes: ulimit -f)"
                                                     : ""));
}

} // namespace

node_memory::node_memory(const node_job &job) : job_(job)
{
    shm::arena_plan plan;
    plan.node = job.node;
    plan.nodes = job.nodes;
    plan.rank_capacity =
        std::min<std::uint64_t>(job.total_ranks + std::uint64_t(job.spare) * job.nodes, most_rank_numbers);
    plan.slots = unsigned(job.ranks.size());
    plan.spare = std::min(job.spare, shm::max_slots - plan.slots);
    plan.ranks_on_machine = job.ranks_on_machine;
    plan.heap_bytes = job.heap_bytes;
    plan.secure = job.secure;
    plan.transport = job.transport;
    plan.tuning = job.tuning;
    if (!from_hex(job.key, plan.key, sizeof plan.key) || !from_hex(job.job_id, plan.job_id, sizeof plan.job_id))
        throw request_error("the launcher sent no key");
    if (int error = shm::arena::create(plan, &arena_, &arena_fd_)) {
        const std::uint64_t heap = plan.heap_bytes ? plan.heap_bytes : shm::default_heap_bytes(plan.ranks_on_machine);
        refuse(fmt::format("no shared memory for {} ranks with heaps of {} bytes (--heap gives them another size)",
                           plan.slots, heap),
               -error);
    }
    try {
        fcntl(arena_fd_, F_SETFD, 0);
        if (pipe2(lifeline_, O_CLOEXEC) != 0) refuse("pipe", errno);
        fcntl(lifeline_[0], F_SETFD, 0);
        open_doorbells();
        if (job.needs_network()) choose_network();
        for (const node_rank &r : job.ranks) {
            places_.push_back(open_place(r.rank));
            arena_.occupy(unsigned(places_.size()) - 1, int(r.rank), -1); // its memory is there already
        }
    } catch (...) {
        close_all();
        throw;
    }
}

node_memory::~node_memory() { close_all(); }

void node_memory::close_all()
{
    for (const place_of_rank &p : places_) close_place(p);
    for (int fd : doorbells_) close(fd);
    for (int fd : {arena_fd_, lifeline_[0], lifeline_[1]})
        if (fd >= 0) close(fd);
}

void node_memory::open_doorbells()
{
    for (unsigned s = 0; s < arena_.header().slots; ++s) {
        int fd = eventfd(0, EFD_NONBLOCK);
        if (fd < 0) refuse("eventfd", errno);
        doorbells_.push_back(fd);
        arena_.slot_at(s).doorbell = fd;
    }
}

void node_memory::choose_network()
{
    std::string error;
    net::ip_address wanted;
    bool loopback = net::parse_ip(job_.address, &wanted) && wanted.is_loopback();
    auto chosen = choose_address({job_.interface, job_.address, loopback}, net::list_interfaces(), &error);
    if (!chosen) throw request_error(error);
    address_ = *chosen;
}

node_memory::place_of_rank node_memory::open_place(unsigned rank)
{
    place_of_rank p;
    p.rank = rank;
    try {
        std::uint64_t job;
        static_assert(sizeof job == sizeof arena_.header().job_id);
        memcpy(&job, arena_.header().job_id, sizeof job);
        p.counts = counts_page::create(int(rank), arena_.header().slots, job);
        if (p.counts < 0) refuse("memory for the counts of a rank", -p.counts);
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("socketpair", errno);
        p.wishes = ends[0];
        p.ranks_wishes = ends[1];
        fcntl(p.wishes, F_SETFL, O_NONBLOCK);
        if (!job_.needs_network()) return p;
        net::udp_socket socket;
        if (net::open_udp_socket(address_.address, &socket) != SEA_OK) throw request_error(last_error());
        p.socket = socket.fd;
        p.port = socket.port;
        return p;
    } catch (...) {
        close_place(p);
        throw;
    }
}

void node_memory::close_place(const place_of_rank &p)
{
    for (int fd : {p.socket, p.counts, p.wishes, p.ranks_wishes})
        if (fd >= 0) close(fd);
}

std::vector<unsigned> node_memory::ports() const
{
    std::vector<unsigned> list;
    if (job_.needs_network())
        for (const place_of_rank &p : places_) list.push_back(p.port);
    return list;
}

unsigned node_memory::add(unsigned rank, unsigned spawned_by)
{
    if (places_.size() >= arena_.header().slots)
        throw request_error(
            fmt::format("node {} has no room for another rank: it has had {}", job_.node, places_.size()));
    place_of_rank p = open_place(rank);
    if (int error = arena_.occupy(unsigned(places_.size()), int(rank), int(spawned_by))) {
        close_place(p);
        refuse("memory for the heap of a rank", -error);
    }
    places_.push_back(p);
    return p.port;
}

void node_memory::place(const joining_rank &more)
{
    const bool own = more.node == job_.node;
    if (more.rank != arena_.header().ranks || more.rank >= arena_.header().rank_capacity || more.node >= job_.nodes ||
        (own && (places_.empty() || places_.back().rank != more.rank)))
        throw request_error(
            fmt::format("the launcher told of a rank {} on node {} that makes no sense", more.rank, more.node));
    arena_.ranks().place(int(more.rank), more.node, std::uint16_t(more.port));
    arena_.header().ranks = more.rank + 1;
    changed_ = true;
}

void node_memory::fill(const job_table &table)
{
    if (table.nodes.size() != job_.nodes || table.ports.size() != job_.total_ranks)
        throw request_error("the launcher's table does not fit its job");
    arena_.nodes().set_scope(address_.address.scope);
    std::size_t rank = 0;
    for (unsigned n = 0; n < job_.nodes; ++n) {
        const job_table::node &node = table.nodes[n];
        // A zone names an interface of that node; link-local addresses are reached through our own.
        std::string numeric = node.address.substr(0, node.address.find('%'));
        net::ip_address address;
        if (!numeric.empty() && !net::parse_ip(numeric, &address))
            throw request_error(fmt::format("'{}' is no numeric address", node.address));
        arena_.nodes().set(n, address.bytes, node.mtu);
        if (n == job_.node && (node.ranks != job_.ranks.size() || rank != job_.ranks[0].rank))
            throw request_error("the launcher's table has other ranks on this node than its job");
        for (unsigned i = 0; i < node.ranks; ++i, ++rank) arena_.ranks().place(int(rank), n, table.ports[rank]);
    }
    arena_.header().ranks_on_machine = table.nodes[job_.node].ranks_on_machine;
    arena_.header().ranks = job_.total_ranks;
    arena_.header().world = job_.total_ranks;
}

std::string node_memory::birth_of(unsigned slot) const
{
    birth b;
    const place_of_rank &p = places_[slot];
    b.rank = int(p.rank);
    b.slot = slot;
    b.arena_fd = arena_fd_;
    b.udp_fd = p.socket;
    b.counts_fd = p.counts;
    b.wishes_fd = p.ranks_wishes;
    b.lifeline_fd = lifeline_[0];
    return format(b);
}

std::vector<int> node_memory::own_descriptors(unsigned slot) const
{
    const place_of_rank &p = places_[slot];
    std::vector<int> list{p.counts, p.ranks_wishes};
    if (p.socket >= 0) list.push_back(p.socket);
    return list;
}

// The page stays, for what it counts may be told at the end; the socket, so that what was sent to it early waits there.
void node_memory::has_started(unsigned slot) { close(std::exchange(places_[slot].ranks_wishes, -1)); }

// A job may replace its ranks for weeks. What is still on its way to the port then meets nobody, or a rank that drops
// what names another one.
void node_memory::has_ended(unsigned slot)
{
    place_of_rank &p = places_[slot];
    place_of_rank given_up;
    given_up.socket = std::exchange(p.socket, -1);
    given_up.wishes = std::exchange(p.wishes, -1);
    given_up.ranks_wishes = std::exchange(p.ranks_wishes, -1);
    if (!job_.stats) given_up.counts = std::exchange(p.counts, -1);
    close_place(given_up);
}

unsigned node_memory::progress_of(unsigned slot) const
{
    return arena_.slot_at(slot).initialized.load(std::memory_order_acquire);
}

void node_memory::set_state(unsigned rank, shm::rank_state state, int status)
{
    if (rank >= arena_.header().ranks) return;
    if (arena_.ranks().end(int(rank), state, std::uint8_t(status))) changed_ = true;
}

std::uint32_t node_memory::ask_for_waits()
{
    changed_ = true;
    return arena_.header().waits_asked.fetch_add(1, std::memory_order_acq_rel) + 1;
}

void node_memory::tell_ranks()
{
    if (!changed_) return;
    changed_ = false;
    arena_.header().membership.fetch_add(1, std::memory_order_acq_rel);
    for (int fd : doorbells_) eventfd_write(fd, 1);
}

} // namespace onesea::agent
