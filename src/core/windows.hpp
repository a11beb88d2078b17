// SPDX-License-Identifier: Apache-2.0
// The table behind the inlined path of onesea/inline.h, and the counts of operations towards ranks of the node.
#pragma once

#include "onesea.h"

namespace onesea::core {

void open_windows();         // all ranks of the node
void close_window(int rank); // it has ended: the library tells
void close_windows();        // what was counted stays readable until the next open_windows()

// How often the inlined path was taken towards that rank.
void count_inlined(int rank, sea_pair_stats *stats);

} // namespace onesea::core
