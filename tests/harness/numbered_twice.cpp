// SPDX-License-Identifier: Apache-2.0
// A battery of which two steps have the same number.
#include "harness.hpp"

STEP(10, before) {}
STEP(20, first) {}
STEP(20, second) {}
