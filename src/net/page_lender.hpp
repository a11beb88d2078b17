// SPDX-License-Identifier: Apache-2.0
// Sends a long datagram without copying it: the kernel gets references to the pages that the program's bytes lie in, by
// way of a pipe, and who receives copies straight from them. Where both ends are on one machine that is one copy
// instead of two, and pages for the first need not be found, filled and given back.
//
// Through a connected socket, where the pieces lie in as few pages as one splice() carries:
//
//   vmsplice()           pages of all pieces -> pipe
//   splice()             pipe -> a datagram
//
// Else, since only sendmsg() takes an address:
//
//   vmsplice()           pages of all but the short pieces at the front -> pipe; of the first long one where all
//                        are too many, and of what lies behind it if they are few then
//   sendmsg(MSG_MORE)    what lies before it, copied: begins the datagram
//   splice()             pipe -> the same datagram
//   sendmsg()            what is left behind it, copied: ends the datagram
//
// In the same way goes a bare train (train.hpp), which the kernel cuts. One with headers has too many pieces.
//
// The bytes are read when the datagram is received. So this is for what stays as it is until it is acknowledged
// (datagram::lasting); what changes earlier has a wrong tag, is dropped, and goes again as a copy.
#pragma once

#include "base/huge_pages.hpp"
#include "net/endpoint.hpp"

#include <span>
#include <sys/uio.h>

namespace onesea::net {

class page_lender {
  public:
    static constexpr int not_lent = -1; // nothing whole was sent: it has to be sent in another way

    page_lender() = default;
    ~page_lender() { close_pipe(); }
    page_lender(const page_lender &) = delete;
    page_lender &operator=(const page_lender &) = delete;

    // Sends pieces (at most most_pieces), the first of them short and one of them long, in datagrams of `segment`
    // bytes, or as one (0). to: nullptr if the socket is connected. alone: of what was lent to that peer before nothing
    // is still out. 0, an error of the socket, or not_lent. Nobody else may send through that socket meanwhile.
    int send(int fd, const endpoint *to, std::span<const iovec> pieces, std::size_t segment = 0, bool alone = false);

    bool given_up() const { return given_up_; } // the kernel does not do it here: send() says not_lent at once

  private:
    int in_ = -1, out_ = -1; // the ends of the pipe, which is empty between sends
    bool given_up_ = false;
    unsigned failures_ = 0; // in a row
    huge_pages huge_pages_;

    bool fill_pipe(std::span<const iovec> lent, std::size_t bytes);
    int send_all(int fd, std::span<const iovec> pieces, std::size_t bytes);
    bool open_pipe();
    void close_pipe();
    int cut_off(int fd, int error);
    int failed(int error);
};

} // namespace onesea::net
