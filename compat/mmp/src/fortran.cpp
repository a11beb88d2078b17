// SPDX-License-Identifier: Apache-2.0
// mmp.h for Fortran: lower case with an underscore, everything by reference, the status last, texts padded with blanks
// to the length that the compiler passes along behind the other arguments. Indices count from 1.
#include "mmp.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

using integer = std::int32_t;
using whole = std::int64_t; // integer*8

void fill(char *text, std::size_t room, const char *words)
{
    const std::size_t length = std::min(room, std::strlen(words));
    std::memcpy(text, words, length);
    std::memset(text + length, ' ', room - length);
}

// A text of Fortran without the blanks that fill it up.
std::string words_of(const char *text, std::size_t length)
{
    while (length > 0 && text[length - 1] == ' ') --length;
    return std::string(text, length);
}

// A function that gives a number or a status.
void number_or_status(int result, integer *number, integer *ierror)
{
    *ierror = std::min(result, 0);
    if (result >= 0) *number = result;
}

// A status in three variables; each stays as it is if the call did not write one.
class about {
  public:
    about(integer *source, integer *tag, whole *bytes)
        : source_(source), tag_(tag), bytes_(bytes), status_{*source, *tag, static_cast<std::size_t>(*bytes)}
    {
    }
    ~about()
    {
        *source_ = status_.source;
        *tag_ = status_.tag;
        *bytes_ = static_cast<whole>(status_.bytes);
    }
    about(const about &) = delete;
    about &operator=(const about &) = delete;
    MP_status *get() { return &status_; }

  private:
    integer *source_, *tag_;
    whole *bytes_;
    MP_status status_;
};

MP_request *request_at(whole *requests) { return reinterpret_cast<MP_request *>(requests); }

// A negative length becomes one that no memory has.
std::size_t length(const whole *bytes) { return static_cast<std::size_t>(*bytes); }

} // namespace

extern "C" {

void mp_init_(integer *ierror) { *ierror = MP_init(); }
void mp_finalize_(integer *ierror) { *ierror = MP_finalize(); }
void mp_rank_(integer *rank, integer *ierror) { number_or_status(MP_rank(), rank, ierror); }
void mp_size_(integer *size, integer *ierror) { number_or_status(MP_size(), size, ierror); }
[[noreturn]] void mp_abort_(const integer *code, const char *text, std::size_t length)
{
    MP_abort(*code, words_of(text, length).c_str());
}
void mp_barrier_(integer *ierror) { *ierror = MP_barrier(); }
void mp_set_timeout_(const double *seconds, integer *ierror) { *ierror = MP_set_timeout(*seconds); }
double mp_time_(void) { return MP_time(); }

void mp_send_(const integer *rank, const integer *tag, const void *data, const whole *bytes, whole *request,
              integer *ierror)
{
    *ierror = MP_send(*rank, *tag, data, length(bytes), request_at(request));
}
void mp_receive_(const integer *rank, const integer *tag, void *buffer, const whole *capacity, whole *request,
                 integer *ierror)
{
    *ierror = MP_receive(*rank, *tag, buffer, length(capacity), request_at(request));
}

void mp_wait_(whole *request, integer *source, integer *tag, whole *bytes, integer *ierror)
{
    about status(source, tag, bytes);
    *ierror = MP_wait(request_at(request), status.get());
}
void mp_wait_for_(whole *request, const double *seconds, integer *source, integer *tag, whole *bytes, integer *ierror)
{
    about status(source, tag, bytes);
    *ierror = MP_wait_for(request_at(request), *seconds, status.get());
}
void mp_test_(whole *request, integer *done, integer *source, integer *tag, whole *bytes, integer *ierror)
{
    about status(source, tag, bytes);
    *ierror = MP_test(request_at(request), done, status.get());
}
void mp_wait_any_(const integer *n, whole *requests, integer *index, integer *source, integer *tag, whole *bytes,
                  integer *ierror)
{
    about status(source, tag, bytes);
    integer which = *index - 1;
    *ierror = MP_wait_any(request_at(requests), *n, &which, status.get());
    *index = which + 1;
}
void mp_wait_all_(const integer *n, whole *requests, integer *ierror)
{
    *ierror = MP_wait_all(request_at(requests), *n, nullptr);
}
void mp_cancel_(whole *request, integer *ierror) { *ierror = MP_cancel(request_at(request)); }

void mp_probe_(const integer *rank, const integer *tag, integer *source, integer *its_tag, whole *bytes,
               integer *ierror)
{
    about status(source, its_tag, bytes);
    *ierror = MP_probe(*rank, *tag, status.get());
}
void mp_look_(const integer *rank, const integer *tag, integer *found, integer *source, integer *its_tag, whole *bytes,
              integer *ierror)
{
    about status(source, its_tag, bytes);
    *ierror = MP_look(*rank, *tag, found, status.get());
}

void mp_memory_(whole *used, whole *bound, integer *ierror)
{
    std::size_t in_use = 0, most = 0;
    if ((*ierror = MP_memory(&in_use, &most)) != MP_OK) return;
    *used = static_cast<whole>(in_use);
    *bound = static_cast<whole>(most);
}

void mp_fragment_(const integer *rank, whole *bytes, integer *ierror)
{
    std::size_t length = 0;
    if ((*ierror = MP_fragment(*rank, &length)) == MP_OK) *bytes = static_cast<whole>(length);
}

void mp_alloc_(const whole *bytes, whole *address, integer *ierror)
{
    void *memory = nullptr;
    if ((*ierror = MP_alloc(length(bytes), &memory)) == MP_OK) *address = reinterpret_cast<whole>(memory);
}
void mp_free_(const whole *address, integer *ierror) { *ierror = MP_free(reinterpret_cast<void *>(*address)); }

void mp_last_error_(char *text, std::size_t room) { fill(text, room, MP_last_error()); }
void mp_strerror_(const integer *status, char *text, std::size_t room) { fill(text, room, MP_strerror(*status)); }

} // extern "C"
