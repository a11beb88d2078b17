// SPDX-License-Identifier: Apache-2.0
// What launcher and agents say to each other over a control line (a socket, or the pipe that ssh is).
//
//   0        4            8            12
//   +--------+------------+------------+----------------+--------------+
//   | "SEA1" | head bytes | body bytes | head: JSON     | body: raw    |
//   +--------+------------+------------+----------------+--------------+
//   Numbers are 32 bits, little endian. The head is an object with a string "type".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace onesea::agent {

inline constexpr int control_version = 11; // of the messages' meaning; both ends must agree

struct message {
    nlohmann::json head;
    std::string body;
    std::string type() const { return head.at("type").get<std::string>(); }
};

std::string encode(const nlohmann::json &head, std::string_view body = {});

// The "text" of a message, as one line.
std::string text_for_people(const message &m);

// Arguments, variables and directories are bytes, and a JSON text is characters: each byte travels as the character of
// its number. The ways back throw nlohmann::json::exception if it is no such text.
std::string text_of(std::string_view bytes);
std::vector<std::string> texts_of(const std::vector<std::string> &all);
std::string bytes_of(const nlohmann::json &text);
std::vector<std::string> all_bytes_of(const nlohmann::json &texts);

// Cuts a byte stream into messages. After `damaged` nothing more comes; error() says why.
class decoder {
  public:
    enum class outcome { incomplete, complete, damaged };

    void feed(std::string_view bytes);
    outcome next(message *result);
    const std::string &error() const { return error_; }

  private:
    outcome damaged(std::string text);

    std::string buffer_;
    std::size_t start_ = 0; // of what is not yet decoded
    std::string error_;
};

} // namespace onesea::agent
