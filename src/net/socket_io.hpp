// SPDX-License-Identifier: Apache-2.0
// Datagrams through UDP sockets, with segmentation offload both ways where the kernel has it.
//
// The main socket speaks with everybody. The *express* socket is bound to the same port and connected to the one peer
// with which most packets are exchanged: the kernel then finds route and socket without a search, which makes a round
// trip a fifth shorter. It is connected anew when another peer becomes the busiest; what waits in it stays readable.
#pragma once

#include "base/clock.hpp"
#include "net/port.hpp"

#include <memory>
#include <span>

namespace onesea::net {

class socket_io final : public datagram_port {
  public:
    // name_sources: tell where datagrams come from, which costs a little.
    socket_io(int fd, bool name_sources);
    ~socket_io();
    socket_io(const socket_io &) = delete;
    socket_io &operator=(const socket_io &) = delete;

    bool gso() const override { return gso_; }
    std::size_t receive_bytes() const override { return receive_bytes_; }
    nanoseconds now() const override { return now_ns(); }
    unsigned send(const endpoint &to, std::span<const datagram> datagrams) override;
    int wake_fd() const override { return epoll_fd_ >= 0 ? epoll_fd_ : fd_; }
    void prefer(const endpoint &peer) override;

  private:
    struct free_aligned {
        void operator()(std::byte *p) const { ::operator delete[](p, std::align_val_t(64)); }
    };
    static constexpr std::size_t buffer_bytes = 1 << 17;
    int fd_, express_fd_ = -1, epoll_fd_ = -1;
    bool name_sources_, gso_ = true;
    unsigned turn_ = 0;
    endpoint express_;
    std::size_t receive_bytes_ = 0;
    std::unique_ptr<std::byte[], free_aligned> buffer_;

    int open_express();
    bool receive_batch(arrivals *batch) override;
    bool receive_from(int fd, arrivals *batch);
    unsigned group_at(std::span<const datagram> datagrams) const;
    int send_group(const endpoint &to, std::span<const datagram> group);
    void allow_fragments(bool v4);
};

} // namespace onesea::net
