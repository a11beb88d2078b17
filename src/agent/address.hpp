// SPDX-License-Identifier: Apache-2.0
// By which numeric address other nodes reach this one.
#pragma once

#include "net/udp_socket.hpp"

#include <optional>

namespace onesea::agent {

struct node_address {
    net::ip_address address;
    std::uint32_t mtu = 0;
    std::string interface;
    std::string why; // for people
};

struct address_wish {
    std::string interface; // --iface
    std::string address;   // numeric; "" if nobody knows
    bool loopback = false; // all nodes are on this machine
};

// Pure, for a given list of interfaces. nullopt: *error says why not.
std::optional<node_address> choose_address(const address_wish &wish, const std::vector<net::interface_info> &interfaces,
                                           std::string *error);

// SSH_CONNECTION is "client port server port": the ends of the connection that brought us here.
struct ssh_ends {
    std::string client, server;
};
ssh_ends parse_ssh_connection(const char *text);

// Does the name mean this machine: localhost, its host name, or an address of one of its interfaces?
bool is_this_machine(const std::string &name);

} // namespace onesea::agent
