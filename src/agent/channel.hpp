// SPDX-License-Identifier: Apache-2.0
// One end of a control line: messages over a pair of descriptors, never blocking.
#pragma once

#include "agent/event_loop.hpp"
#include "agent/message.hpp"

namespace onesea::agent {

class channel {
  public:
    using on_message = std::function<void(message &)>;
    using on_end = std::function<void(const std::string &why)>; // "" when the other side just closed

    // Owns both descriptors, which may be one and the same. Neither callback destroys the channel.
    channel(event_loop &loop, int in, int out, on_message received, on_end ended);
    ~channel();
    channel(const channel &) = delete;
    channel &operator=(const channel &) = delete;

    void send(const nlohmann::json &head, std::string_view body = {});
    std::size_t queued() const { return out_buffer_.size() - out_start_; }
    // Called when queued() falls to half of `level` after it had been above.
    void when_below(std::size_t level, std::function<void()> fn);

    bool ended() const { return ended_; }
    void flush_blocking(double seconds); // writes what is queued, for at most that long

  private:
    void arrived();
    void write_some();
    void update();
    void finish(const std::string &why);

    event_loop &loop_;
    int in_, out_;
    on_message received_;
    on_end ended_fn_;
    decoder decoder_;
    std::string out_buffer_;
    std::size_t out_start_ = 0;
    std::size_t level_ = 0;
    bool above_ = false, ended_ = false;
    std::function<void()> below_;
};

} // namespace onesea::agent
