// SPDX-License-Identifier: Apache-2.0
#include "msg/letter_box.hpp"

#include "base/log.hpp"

#include <bit>
#include <cstdlib>
#include <new>

namespace onesea::msg {
namespace {

constexpr unsigned least_shift = 4, significant = 4;

struct size_class {
    std::size_t bytes; // as many as a letter of this class takes
    std::size_t list;  // where it is kept
};

size_class class_for(std::size_t bytes)
{
    const unsigned width = unsigned(std::bit_width(bytes - 1));
    const unsigned shift = width > least_shift + significant ? width - significant : least_shift;
    const std::size_t steps = ((bytes - 1) >> shift) + 1;
    return {steps << shift, (shift - least_shift) * (std::size_t(1) << (significant - 1)) + steps};
}

} // namespace

letter *letter_box::make(std::size_t room)
{
    const size_class c = class_for(sizeof(letter) + room);
    void *memory = c.list < lists && spares_[c.list] ? take(c.list) : ::operator new(c.bytes, std::nothrow);
    if (memory) return new (memory) letter(room);
    log(level::error, "no memory for a message of {} bytes that has come", room);
    std::abort();
}

void *letter_box::take(std::size_t list)
{
    spare *s = spares_[list];
    spares_[list] = s->next;
    kept_ -= s->bytes;
    return s;
}

void letter_box::destroy(letter *l)
{
    const size_class c = class_for(sizeof(letter) + l->room);
    l->~letter();
    if (c.list >= lists || !has_room(c.bytes, c.list)) return ::operator delete(l);
    spares_[c.list] = new (l) spare{spares_[c.list], c.bytes};
    kept_ += c.bytes;
}

// What comes now is likelier to come again than what is kept, if that is of another size.
bool letter_box::has_room(std::size_t bytes, std::size_t list)
{
    for (std::size_t i = 0; i < lists && kept_ + bytes > most_; ++i) {
        shortened_ = (shortened_ + 1) % lists; // another one each time
        if (shortened_ == list) continue;
        while (spares_[shortened_] && kept_ + bytes > most_) ::operator delete(take(shortened_));
    }
    return kept_ + bytes <= most_;
}

void letter_box::keep_at_most(std::size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    bytes = 0; // it is to see who uses a letter that was deleted
#endif
    most_ = bytes;
    if (kept_ <= most_) return;
    for (std::size_t list = 0; list < lists; ++list)
        while (spares_[list]) ::operator delete(take(list));
}

} // namespace onesea::msg
