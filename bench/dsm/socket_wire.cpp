// SPDX-License-Identifier: Apache-2.0
#include "dsm/socket_wire.hpp"

#include "../../compat/dsm/src/error.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <onesea.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::size_t page = 4096;

void must(int status, const char *what)
{
    if (status != SEA_OK)
        throw std::runtime_error(fmt::format("{}: {}: {}", what, sea_strerror(status), sea_last_error()));
}

} // namespace

file_descriptor::~file_descriptor()
{
    if (fd_ >= 0) ::close(fd_);
}

void throw_system(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

file_descriptor bound_socket(int type, std::uint16_t &port)
{
    file_descriptor fd(socket(AF_INET, type | SOCK_CLOEXEC, 0));
    sockaddr_in at = loopback(0);
    socklen_t length = sizeof at;
    if (fd.get() < 0 || bind(fd.get(), reinterpret_cast<sockaddr *>(&at), length) != 0 ||
        getsockname(fd.get(), reinterpret_cast<sockaddr *>(&at), &length) != 0)
        throw_system("a socket of 127.0.0.1");
    port = ntohs(at.sin_port);
    return fd;
}

socket_wire::socket_wire()
{
    must(sea_init(nullptr), "start");
    node_ = sea_rank();
    nodes_ = sea_size();
}

int socket_wire::allocate(std::uint64_t bytes)
{
    const std::uint64_t room = (bytes / page + 1) * page;
    memory_.reset(static_cast<char *>(std::aligned_alloc(page, room)));
    if (!memory_) return dsm::fail(DSM_ERR_MEMORY, "node {} cannot give {} bytes", node_, bytes);
    std::memset(memory_.get(), 0, room);
    bytes_ = bytes;
    return DSM_OK;
}

int socket_wire::exchange(std::uint64_t mine, std::vector<std::uint64_t> &all)
{
    all.resize(static_cast<std::size_t>(nodes_));
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all.data(), sizeof mine), "exchange");
    return DSM_OK;
}

std::int64_t socket_wire::add_here(std::uint64_t address, std::int64_t value) const
{
    return __atomic_fetch_add(reinterpret_cast<std::int64_t *>(memory_.get() + address), value, __ATOMIC_SEQ_CST);
}

void socket_wire::meet() const { must(sea_barrier(SEA_TEAM_WORLD), "meeting at the end"); }

void socket_wire::leave() const { must(sea_finalize(), "leaving"); }

} // namespace bench
