// SPDX-License-Identifier: Apache-2.0
// What the TCP and the UDP wire share: their place in the job (from Onesea's launcher), the memory of the own part, and
// accesses to it, which take no socket. Failures of the system are thrown; dsm.cpp turns them into DSM_ERR_BELOW.
#pragma once

#include "../../compat/dsm/src/wire.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string>

namespace bench {

enum class dsm_request : std::uint32_t { read, write, write_b, fetch_add, acquire, release, fence, arrive };

class file_descriptor {
  public:
    explicit file_descriptor(int fd = -1) : fd_(fd) {}
    ~file_descriptor();
    file_descriptor(file_descriptor &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    file_descriptor &operator=(file_descriptor &&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

[[noreturn]] void throw_system(const char *what);

// A socket bound to a free port of 127.0.0.1, and that port.
file_descriptor bound_socket(int type, std::uint16_t &port);
sockaddr_in loopback(std::uint16_t port);

class socket_wire : public dsm::wire {
  public:
    socket_wire();

    int node() const override { return node_; }
    int nodes() const override { return nodes_; }
    int allocate(std::uint64_t bytes) override;
    char *memory() const override { return memory_.get(); }
    int exchange(std::uint64_t mine, std::vector<std::uint64_t> &all) override;

  protected:
    int home_of(int lock) const { return lock % nodes_; }
    std::uint64_t bytes() const { return bytes_; }
    std::int64_t add_here(std::uint64_t address, std::int64_t value) const;
    void meet() const;  // all nodes, outside the DSM
    void leave() const; // the job

  private:
    int node_ = 0, nodes_ = 0;
    std::uint64_t bytes_ = 0;
    std::unique_ptr<char, decltype(&std::free)> memory_{nullptr, &std::free};
};

} // namespace bench
