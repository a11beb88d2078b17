// SPDX-License-Identifier: Apache-2.0
// Datagrams through one UDP socket, with segmentation offload both ways where the kernel has it.
#pragma once

#include "net/link.hpp"
#include "net/net_transport.hpp"

#include <functional>
#include <memory>
#include <netinet/in.h>
#include <span>

namespace onesea::net {

bool is_v4(const peer_address &a);

// A peer's socket address as the kernel wants it.
struct endpoint {
    union {
        sockaddr_in v4;
        sockaddr_in6 v6;
        sockaddr any;
    };
    socklen_t size = 0;

    endpoint() : v6{} {}
    explicit endpoint(const peer_address &a);
    bool operator==(const endpoint &other) const;
};

class socket_io {
  public:
    explicit socket_io(int fd);

    bool gso() const { return gso_; }
    std::size_t receive_bytes() const { return receive_bytes_; }

    // Sends in order, equal sizes in one system call; how many the kernel took or refused for good. Fewer than all:
    // it has no room now.
    unsigned send(const endpoint &to, std::span<const datagram> datagrams);

    // Gives each datagram of one system call to use(bytes, from), which may change the bytes. How many bytes there
    // were.
    template <class Use>
    std::size_t receive(Use &&use)
    {
        std::size_t segment = 0, bytes = 0;
        endpoint from;
        if (!receive_batch(&bytes, &segment, &from)) return 0;
        for (std::size_t at = 0; at < bytes; at += segment)
            use(std::span(buffer_.get() + at, std::min(segment, bytes - at)), from);
        return std::max<std::size_t>(bytes, 1);
    }

  private:
    struct free_aligned {
        void operator()(std::byte *p) const { ::operator delete[](p, std::align_val_t(64)); }
    };
    static constexpr std::size_t buffer_bytes = 1 << 17;
    int fd_;
    bool gso_ = true;
    std::size_t receive_bytes_ = 0;
    std::unique_ptr<std::byte[], free_aligned> buffer_;

    bool receive_batch(std::size_t *bytes, std::size_t *segment, endpoint *from);
    unsigned group_at(std::span<const datagram> datagrams) const;
    int send_group(const endpoint &to, std::span<const datagram> group);
    void allow_fragments(bool v4);
};

} // namespace onesea::net
