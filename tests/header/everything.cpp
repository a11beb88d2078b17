// SPDX-License-Identifier: Apache-2.0
// The same program as C++11: the header must be both.
#include "everything.c"
