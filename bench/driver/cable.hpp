// SPDX-License-Identifier: Apache-2.0
// Two network namespaces of our own, joined by a virtual cable (veth) of mtu 1500.
#pragma once

#include "driver/process.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bench {

class cable {
  public:
    // Makes it; prepare_to_run() has been called. First removes what earlier benchmarks left that were killed. Throws
    // std::runtime_error if we are not root or `ip` is not installed or fails, interrupted after a signal; then
    // nothing of it is left.
    cable();
    ~cable(); // not kept from its work by a signal
    cable(const cable &) = delete;
    cable &operator=(const cable &) = delete;

    static constexpr const char *device = "eth0"; // in both
    static constexpr const char *from_address = "10.231.9.1", *to_address = "10.231.9.2";
    const std::string from, to; // names of the namespaces; launchers get them as names of hosts

    // Used by launchers instead of ssh: gets a host's name and a command for its shell.
    std::string remote_shell() const { return shell_; }

    // What programs take for --cable (measure/namespace.h).
    std::string ends() const { return from + "," + to + "," + from_address + "," + to_address; }

    // The same command, in a namespace.
    command inside(const std::string &name_space, const command &what) const;

  private:
    cable(int pid, const std::string &shell);
    std::string shell_;
};

// The process that made the namespace of this name; nothing if the name is none of ours.
std::optional<int> cable_owner(std::string_view name_space);

} // namespace bench
