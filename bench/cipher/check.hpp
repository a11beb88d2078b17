// SPDX-License-Identifier: Apache-2.0
// Whether a cipher does its work at all, before anybody asks how fast.
#pragma once

#include "cipher/cipher.hpp"

namespace bench {

// What is wrong with packets of so many bytes; nothing if each comes back as it was and no damaged one is taken.
std::string fault_of(const candidate &c, std::size_t bytes);

} // namespace bench
