// SPDX-License-Identifier: Apache-2.0
// dsm.h for Fortran: everything by reference, the status last, texts padded with blanks to the length that the compiler
// passes along behind the other arguments.
#include "../include/dsm.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

void fill(char *text, std::size_t room, const char *words)
{
    const std::size_t length = std::min(room, std::strlen(words));
    std::memcpy(text, words, length);
    std::memset(text + length, ' ', room - length);
}

// A function that gives a number or a status.
void number_or_status(int result, std::int32_t *number, std::int32_t *ierror)
{
    *ierror = std::min(result, 0);
    if (result >= 0) *number = result;
}

} // namespace

extern "C" {

void dsm_init_(const std::int64_t *bytes, std::int32_t *ierror)
{
    *ierror = dsm_init(static_cast<std::uint64_t>(*bytes));
}

void dsm_term_(std::int32_t *ierror) { *ierror = dsm_term(); }

void dsm_node_(std::int32_t *node, std::int32_t *ierror) { number_or_status(dsm_node(), node, ierror); }

void dsm_nodes_(std::int32_t *nodes, std::int32_t *ierror) { number_or_status(dsm_nodes(), nodes, ierror); }

void dsm_part_(const std::int32_t *node, std::int64_t *bytes, std::int32_t *ierror)
{
    std::uint64_t value = 0;
    if ((*ierror = dsm_part(*node, &value)) == DSM_OK) *bytes = static_cast<std::int64_t>(value);
}

void dsm_space_(std::int64_t *bytes, std::int32_t *ierror)
{
    std::uint64_t value = 0;
    if ((*ierror = dsm_space(&value)) == DSM_OK) *bytes = static_cast<std::int64_t>(value);
}

void dsm_protect_(const std::int64_t *address, const std::int64_t *length, const std::int32_t *mode,
                  std::int32_t *ierror)
{
    *ierror = dsm_protect(static_cast<std::uint64_t>(*address), static_cast<std::uint64_t>(*length), *mode);
}

void dsm_read_(const std::int32_t *node, const std::int64_t *address, void *data, const std::int64_t *length,
               std::int32_t *ierror)
{
    *ierror = dsm_read(*node, static_cast<std::uint64_t>(*address), data, static_cast<std::uint64_t>(*length));
}

void dsm_write_(const std::int32_t *node, const std::int64_t *address, const void *data, const std::int64_t *length,
                std::int32_t *ierror)
{
    *ierror = dsm_write(*node, static_cast<std::uint64_t>(*address), data, static_cast<std::uint64_t>(*length));
}

void dsm_write_b_(const std::int32_t *node, const std::int64_t *address, const void *data, const std::int64_t *length,
                  std::int32_t *ierror)
{
    *ierror = dsm_write_b(*node, static_cast<std::uint64_t>(*address), data, static_cast<std::uint64_t>(*length));
}

void dsm_fence_(std::int32_t *ierror) { *ierror = dsm_fence(); }

void dsm_fetch_add_(const std::int32_t *node, const std::int64_t *address, const std::int64_t *add, std::int64_t *old,
                    std::int32_t *ierror)
{
    *ierror = dsm_fetch_add(*node, static_cast<std::uint64_t>(*address), *add, old);
}

void dsm_lock_(const std::int32_t *lock, std::int32_t *ierror) { *ierror = dsm_lock(*lock); }

void dsm_unlock_(const std::int32_t *lock, std::int32_t *ierror) { *ierror = dsm_unlock(*lock); }

void dsm_barrier_(std::int32_t *ierror) { *ierror = dsm_barrier(); }

void dsm_last_error_(char *text, std::size_t room) { fill(text, room, dsm_last_error()); }

void dsm_strerror_(const std::int32_t *status, char *text, std::size_t room)
{
    fill(text, room, dsm_strerror(*status));
}

} // extern "C"
