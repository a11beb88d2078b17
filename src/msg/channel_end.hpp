// SPDX-License-Identifier: Apache-2.0
// One end of a channel: a state machine without I/O.
//
//   sender                                              receiver
//                       <------ open -------            its end is there
//   data, while there is room  ------------>            waits in `arrived`, or straight into a posted buffer
//   offer: a long message      ------------>            noted; when its turn comes the data is fetched
//                       <------ room -------            so much has been taken in all; told in steps of half the room
//   sender_closed: no message follows  ---->
//                       <-- receiver_closed             nothing will be received any more
//
// All notes between two ranks keep their order. The sender says nothing before the receiver's `open` has come, so that
// nothing is kept for channels that may never be. It counts what it has sent and subtracts what the receiver has taken:
// at most `room_messages` and `room_bytes` of data are under way or waiting. An offer counts as a message without
// bytes. The receiver tells what it has taken when that is half the room; then a sender that waits for room always
// hears of it, because if less is untold, more than half of the room is still to be taken.
//
// An end is over when its close has its turn, both have said that they closed, and no fetch is under way.
#pragma once

#include "base/ring_queue.hpp"
#include "onesea/channel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace onesea::msg {

inline constexpr std::uint64_t room_messages = 64;
inline constexpr std::uint64_t room_bytes = 65536;

enum class channel_note : std::uint8_t { open = 1, data, offer, room, sender_closed, receiver_closed };

class channel_end;

// Data of a long message on its way into a receive.
struct channel_fetch {
    channel_end *end;
    std::uint64_t receive; // the operation
    std::uint64_t send;    // the sender's
    sea_received *told;
    sea_received result;
    std::shared_ptr<int> outcome;
};

// What an end needs of the outside. Two calls may come back into the end before they return: fetch(), with fetched(),
// and end(), which starts what has waited for the operation.
class channel_courier {
  public:
    // The most bytes that one note carries.
    virtual std::size_t room(int rank) = 0;
    // In order; copies the payload. To a rank that has ended: nothing.
    virtual void tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
                      std::span<const std::byte> payload) = 0;
    // Brings the first bytes of a send of that rank; then somebody calls fetched().
    virtual void fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f) = 0;
    // Ends a send of that rank.
    virtual void answer(int rank, std::uint64_t send, int status) = 0;
    // Ends an operation of this rank; one that has ended already is passed over.
    virtual void end(std::uint64_t operation, int status, const std::string &text) = 0;

    virtual bool is_cut_off(int rank) = 0; // the way there was given up

  protected:
    ~channel_courier() = default;
};

struct channel_request {
    enum class phase : std::uint8_t { held, ready, dropped };
    std::uint64_t token = 0;
    std::uint64_t operation = 0; // from ready on
    void *memory = nullptr;
    std::size_t bytes = 0;
    sea_received *told = nullptr;
    std::shared_ptr<int> outcome; // of a call that may run out of time: its status, once the request has ended
    phase state = phase::held;
    bool closes = false;
};

class channel_end {
  public:
    channel_end(channel_courier &outside, sea_channel name, int peer, bool sends, std::uint64_t index);
    channel_end(const channel_end &) = delete;
    channel_end &operator=(const channel_end &) = delete;

    sea_channel name() const { return name_; }
    int peer() const { return peer_; }
    bool sends() const { return sends_; }
    std::uint64_t index() const { return index_; }
    bool open() const { return open_; } // no close has been asked for
    bool waits() const { return !requests_.empty(); }

    // Around every use: calls come back, and only the outermost may forget the end. leave(): it has to.
    void enter() { ++inside_; }
    bool leave() { return --inside_ == 0 && over_ && fetching_ == 0; }

    // ---- by this rank ----
    void opened();                                              // tells the sender
    void add(const channel_request &r);                         // held: keeps its place
    void started(std::uint64_t token, std::uint64_t operation); // its start condition has come true
    void cancelled(std::uint64_t token);                        // it has failed
    void withdraw(std::uint64_t token);                         // if the peer knows nothing of it
    void fetched(channel_fetch *f, int status);

    // ---- by the peer ----
    void on_open();
    void on_data(std::span<const std::byte> payload);
    void on_offer(std::uint64_t send, std::uint64_t bytes);
    void on_room(std::uint64_t messages, std::uint64_t bytes);
    void on_closed();
    void on_gone(int status);

  private:
    struct arrival {
        std::uint64_t send = 0; // 0: the data is here
        std::uint64_t bytes = 0;
        std::unique_ptr<std::byte[]> data;
    };

    channel_courier &outside_;
    const sea_channel name_;
    const std::uint64_t index_;
    const int peer_;
    const bool sends_;
    bool open_ = true;
    bool connected_ = false;   // sender: the receiver is there
    bool self_closed_ = false; // the peer has been told
    bool peer_closed_ = false;
    bool over_ = false;
    bool busy_ = false;
    int gone_ = SEA_OK; // why the peer is no more
    std::uint32_t fetching_ = 0;
    std::uint32_t inside_ = 0; // uses that have not returned
    ring_queue<channel_request> requests_;
    std::size_t most_requests_ = 0;                      // since their memory was given back
    ring_queue<arrival> arrived_;                        // receiver
    std::uint64_t messages_ = 0, bytes_ = 0;             // sender: sent; receiver: taken
    std::uint64_t other_messages_ = 0, other_bytes_ = 0; // sender: taken there; receiver: told of that

    channel_request *find(std::uint64_t token);
    channel_request *next(); // whose turn it is, if it may start
    void end(std::uint64_t operation, const std::shared_ptr<int> &outcome, int status, const char *text);
    void finish(int status, const char *text);
    void advance();
    void advance_sender();
    void advance_receiver();
    bool send(const channel_request &r);
    void take(const channel_request &r);
    void store(const channel_request &r, const std::byte *data, std::size_t bytes);
    void close_now();
    void refuse_arrivals();
    void tell_room();
    void tell(channel_note what, std::uint64_t id = 0, std::span<const std::byte> payload = {});
    std::string describe() const;
};

} // namespace onesea::msg
