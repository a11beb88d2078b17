// SPDX-License-Identifier: Apache-2.0
// Where the threads of this process are, for a test that hangs.
#pragma once

namespace proof {

void prepare_stacks();   // once, before; SIGSYS is taken for it, which threads of the library do not block
void write_all_stacks(); // of all threads but the caller's, to stderr

} // namespace proof
