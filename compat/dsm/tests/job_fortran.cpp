// SPDX-License-Identifier: Apache-2.0
// The subroutines for Fortran, called as a Fortran compiler would call them.
#include "job.hpp"

#include <string>

extern "C" {
void dsm_init_(const std::int64_t *bytes, std::int32_t *ierror);
void dsm_node_(std::int32_t *node, std::int32_t *ierror);
void dsm_nodes_(std::int32_t *nodes, std::int32_t *ierror);
void dsm_part_(const std::int32_t *node, std::int64_t *bytes, std::int32_t *ierror);
void dsm_space_(std::int64_t *bytes, std::int32_t *ierror);
void dsm_protect_(const std::int64_t *address, const std::int64_t *length, const std::int32_t *mode,
                  std::int32_t *ierror);
void dsm_read_(const std::int32_t *node, const std::int64_t *address, void *data, const std::int64_t *length,
               std::int32_t *ierror);
void dsm_write_(const std::int32_t *node, const std::int64_t *address, const void *data, const std::int64_t *length,
                std::int32_t *ierror);
void dsm_write_b_(const std::int32_t *node, const std::int64_t *address, const void *data, const std::int64_t *length,
                  std::int32_t *ierror);
void dsm_fence_(std::int32_t *ierror);
void dsm_fetch_add_(const std::int32_t *node, const std::int64_t *address, const std::int64_t *add, std::int64_t *old,
                    std::int32_t *ierror);
void dsm_lock_(const std::int32_t *lock, std::int32_t *ierror);
void dsm_unlock_(const std::int32_t *lock, std::int32_t *ierror);
void dsm_barrier_(std::int32_t *ierror);
void dsm_last_error_(char *text, std::size_t room);
void dsm_strerror_(const std::int32_t *status, char *text, std::size_t room);
}

namespace job {
namespace {

std::string trimmed(std::string text)
{
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

void subroutines_access_the_space()
{
    std::int32_t ierror = 99, node = -1, nodes = -1;
    const std::int32_t zero = 0;
    std::int64_t bytes = 0, old = -1;
    dsm_node_(&node, &ierror);
    EXPECT(ierror == DSM_OK && node == dsm_node());
    dsm_nodes_(&nodes, &ierror);
    EXPECT(ierror == DSM_OK && nodes == dsm_nodes());
    dsm_part_(&zero, &bytes, &ierror);
    EXPECT(ierror == DSM_OK && bytes == static_cast<std::int64_t>(part_of(0, nodes)));
    dsm_space_(&bytes, &ierror);
    EXPECT(ierror == DSM_OK && bytes > 0);
    const std::int64_t address = 1024 + 8 * node, length = 8, one = 1;
    std::int64_t word = 4711 + node, back = 0;
    if (!lossy) dsm_write_(&zero, &address, &word, &length, &ierror);
    dsm_fence_(&ierror);
    EXPECT(ierror == DSM_OK);
    word++;
    dsm_write_b_(&zero, &address, &word, &length, &ierror);
    EXPECT(ierror == DSM_OK);
    dsm_fetch_add_(&zero, &address, &one, &old, &ierror);
    EXPECT(ierror == DSM_OK && old == word);
    dsm_read_(&zero, &address, &back, &length, &ierror);
    EXPECT(ierror == DSM_OK && back == word + 1);
}

void subroutines_tell_errors()
{
    std::int32_t ierror = 0;
    const std::int32_t nobody = -5, lock = 5, mode = DSM_READ_ONLY;
    const std::int64_t address = 0, length = 8, none = 0;
    std::int64_t word = 0;
    dsm_read_(&nobody, &address, &word, &length, &ierror);
    EXPECT(ierror == DSM_ERR_NODE);
    std::string text(400, '?'), few(10, '?');
    dsm_last_error_(text.data(), text.size());
    EXPECT(trimmed(text) == dsm_last_error());
    dsm_strerror_(&ierror, text.data(), text.size());
    EXPECT(trimmed(text) == dsm_strerror(DSM_ERR_NODE));
    dsm_strerror_(&ierror, few.data(), few.size());
    EXPECT(few == std::string(dsm_strerror(DSM_ERR_NODE)).substr(0, 10));
    dsm_init_(&length, &ierror);
    EXPECT(ierror == DSM_ERR_STATE);
    dsm_lock_(&lock, &ierror);
    EXPECT(ierror == DSM_OK);
    dsm_lock_(&lock, &ierror);
    EXPECT(ierror == DSM_ERR_LOCK);
    dsm_unlock_(&lock, &ierror);
    EXPECT(ierror == DSM_OK);
    dsm_protect_(&none, &none, &mode, &ierror);
    EXPECT(ierror == DSM_OK);
    dsm_barrier_(&ierror);
    EXPECT(ierror == DSM_OK);
}

} // namespace

void fortran_steps()
{
    subroutines_access_the_space();
    subroutines_tell_errors();
}

} // namespace job
