// SPDX-License-Identifier: Apache-2.0
// The battery: steps that all processes of a job run together, each followed by a barrier. A failed check says process,
// place and values; the step goes on. A failure that the library tells and no step expects fails the step.
#pragma once

#include <acp.h>

#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace battery {

struct job {
    int me = 0, n = 0;
    int right() const { return (me + 1) % n; }
    int left() const { return (me + n - 1) % n; }
};
extern job self;
extern int failures;
extern std::uint64_t errors_expected;

void failed(const char *file, int line, const char *what);

template <class A, class B>
void check_equal(const A &a, const B &b, const char *file, int line, const char *text)
{
    if (a == b) return;
    failed(file, line, text);
    std::cerr << "    " << a << " and " << b << std::endl;
}

// `call` must fail once, with a text that contains `words`.
template <class Call>
void expect_error(const char *words, Call &&call, const char *file, int line)
{
    const std::uint64_t before = acp_onesea_errors();
    call();
    errors_expected += acp_onesea_errors() - before;
    check_equal(acp_onesea_errors() - before, std::uint64_t(1), file, line, "failures of a wrong call");
    if (!std::strstr(acp_onesea_last_error(), words)) {
        failed(file, line, words);
        std::cerr << "    the text was: " << acp_onesea_last_error() << std::endl;
    }
}

struct step {
    const char *file; // steps are in the order of their files and lines
    int line;
    const char *name;
    void (*run)();
    step(const char *step_file, int step_line, const char *step_name, void (*body)());
};

// This process's starter memory as words, and the address of a word in that of any process.
std::uint64_t *words();
acp_ga_t word_of(int rank, std::size_t index);
void fill_words(std::size_t count, std::uint64_t value);

// Any memory of this process, registered while the object lives.
template <class T>
class registered {
  public:
    explicit registered(std::size_t count, int colour = 0)
        : memory_(count), key_(acp_register_memory(memory_.data(), count * sizeof(T), colour))
    {
    }
    registered(registered &&other) noexcept : memory_(std::move(other.memory_)), key_(std::exchange(other.key_, 0)) {}
    ~registered()
    {
        if (key_) acp_unregister_memory(key_);
    }
    T &operator[](std::size_t i) { return memory_[i]; }
    T *data() { return memory_.data(); }
    std::size_t size() const { return memory_.size(); }
    acp_atkey_t key() const { return key_; }
    acp_ga_t at(std::size_t i) { return acp_query_ga(key_, &memory_[i]); }

  private:
    std::vector<T> memory_;
    acp_atkey_t key_;
};

// One global address of each process, exchanged through the starter memory; collective.
std::vector<acp_ga_t> everywhere(acp_ga_t mine);

// One access, complete.
void do_copy(acp_ga_t dst, acp_ga_t src, std::size_t size);

// Fewer rounds of the long steps where a sanitizer slows everything down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int often(int times) { return times / 20; }
#else
inline constexpr int often(int times) { return times; }
#endif

double seconds();
double processor_seconds();    // of this process so far
std::size_t allocated_bytes(); // by malloc() in this process

// Whether that falls below a bound. What a call has ended, a thread of the library may free a moment after it.
bool allocated_falls_below(std::size_t bytes);

} // namespace battery

#define STEP(name)                                                     \
    static void name();                                                \
    static battery::step step_##name(__FILE__, __LINE__, #name, name); \
    static void name()
#define CHECK(condition) ((condition) ? (void)0 : battery::failed(__FILE__, __LINE__, #condition))
#define EQUAL(a, b) battery::check_equal((a), (b), __FILE__, __LINE__, #a " == " #b)
#define ERROR_OF(words, call) \
    battery::expect_error(    \
        words, [&] { call; }, __FILE__, __LINE__)
