// SPDX-License-Identifier: Apache-2.0
// Holds the lock of one stripe of a part.
#pragma once

#include "data/table_layout.hpp"

namespace onesea::data {

class table_part::guard {
  public:
    guard(table_part &part, part_stripe &s);
    ~guard();
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

    int status() const { return status_; } // not SEA_OK: it is not held

  private:
    part_stripe &stripe_;
    int status_;
};

} // namespace onesea::data
