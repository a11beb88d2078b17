// SPDX-License-Identifier: Apache-2.0
// Datagrams through UDP sockets, with segmentation offload both ways where the kernel has it.
#pragma once

#include "base/clock.hpp"
#include "base/pages.hpp"
#include "net/express_socket.hpp"
#include "net/page_lender.hpp"
#include "net/port.hpp"

#include <memory>
#include <span>
#include <sys/uio.h>

namespace onesea::net {

class socket_io final : public datagram_port {
  public:
    // name_sources: tell where datagrams come from, which costs a little.
    socket_io(int fd, bool name_sources);

    bool gso() const override { return gso_; }
    std::size_t receive_bytes() const override { return receive_bytes_; }
    nanoseconds now() const override { return now_ns(); }
    unsigned send(const endpoint &to, std::span<const datagram> datagrams) override;
    transport::wake_set wake_fds() const override { return {fd_, express_.fd()}; }
    bool prefer(const endpoint &peer) override;
    void slept() override { slept_ = true; }
    void admit(const entry_rules &rules) override;
    std::uint64_t dropped_before() override;

  private:
    // From the start of a page: what the kernel made in one piece has its headers before it, and would be copied slowly
    // to shortly behind one (base/copy.hpp). Messages of 4 to 12 KB took a third to a half longer.
    struct free_aligned {
        void operator()(std::byte *p) const { ::operator delete[](p, std::align_val_t(page_bytes)); }
    };
    static constexpr std::size_t buffer_bytes = 1 << 17;
    int fd_;
    bool name_sources_, gso_ = true;
    bool around_express_ = false;        // for the rest of a send()
    bool slept_ = false;                 // since the last receive: either socket may have ended it
    bool main_busy_ = false;             // it gave something when it was asked last
    unsigned turn_ = 0, main_empty_ = 0; // looks; those at it in a row that found nothing, not counted for ever
    express_socket express_;
    page_lender lender_;
    std::size_t receive_bytes_ = 0;
    std::uint64_t dropped_before_ = 0;
    std::uint32_t seen_main_ = 0, seen_express_ = 0; // of the kernel's counters
    bool filtered_ = true;
    std::unique_ptr<std::byte[], free_aligned> buffer_;
    std::unique_ptr<iovec[]> send_pieces_; // too many for the stack of a small thread

    bool receive_batch(const aside &wanted, arrivals *batch) override;
    bool receive_express(const aside &wanted, arrivals *batch);
    bool receive_main(const aside &wanted, arrivals *batch);
    bool receive_from(int fd, const aside &wanted, arrivals *batch);
    std::size_t lay_out(const aside &wanted, iovec *pieces) const;
    bool is_express(const endpoint &to) const { return !around_express_ && express_.leads_to(to); }
    int send_group(const endpoint &to, std::span<const datagram> group);
    int send_train(const endpoint &to, const datagram &packet);
    int send_bare_train(const endpoint &to, const datagram &packet);
    int send_lent(const endpoint &to, std::span<iovec> pieces, std::size_t segment, bool alone);
    int send_in_one(const endpoint &to, std::span<iovec> pieces, std::size_t segment);
    void allow_fragments(bool v4);
};

} // namespace onesea::net
