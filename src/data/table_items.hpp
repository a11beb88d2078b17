// SPDX-License-Identifier: Apache-2.0
// Entries as they travel: sea_table_item, key, value, each padded to 8 bytes.
#pragma once

#include "data/table_layout.hpp"

namespace onesea::data {

constexpr std::uint64_t item_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes)
{
    return sizeof(sea_table_item) + pad8(key_bytes) + pad8(value_bytes);
}

// Takes the first item off `left`; false if what is there is none.
bool read_item(byte_span &left, sea_table_item *item, byte_span *key, byte_span *value);

} // namespace onesea::data
