// SPDX-License-Identifier: Apache-2.0
// Open files of launcher and agents.
#pragma once

namespace onesea::agent {

void raise_file_limit(); // to what the process may have
void no_wait(int fd);    // reads and writes end with EAGAIN instead of waiting

} // namespace onesea::agent
