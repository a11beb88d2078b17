// SPDX-License-Identifier: Apache-2.0
// What figures were measured on, told with them: who reads them later has no other way to know.
#pragma once

#include <string>

namespace bench {

// "Intel(R) Xeon(R) Processor, 2 processors, L2 2 MB, L3 300 MB, Linux 6.18.44": what is not known is left out, and
// of the kernel what its builder has added. system: the folder that has /proc and /sys; processors: that this program
// may use.
std::string machine_text(const std::string &system, long processors);
std::string machine_text();

} // namespace bench
