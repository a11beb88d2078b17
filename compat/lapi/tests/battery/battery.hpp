// SPDX-License-Identifier: Apache-2.0
// The battery: steps that all tasks of a job run together, each followed by a fence. A failed check says task, place
// and values; the step goes on. What the error handler hears is kept for the step that expects it; if none does, that
// fails.
#pragma once

#include <lapi.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <mutex>
#include <vector>

namespace battery {

struct job {
    lapi_handle_t h = 0;
    int me = 0, n = 0;
    uint right() const { return uint((me + 1) % n); }
    uint left() const { return uint((me + n - 1) % n); }
};
extern job self;

struct heard {
    int code;
    lapi_err_t type;
    int other;
};
// What the error handler has heard since the last call; waits up to ten seconds for `at_least` of them.
std::vector<heard> errors_heard(std::size_t at_least = 0);
// What the error handler does then; nullptr: nothing.
void when_heard(std::function<void()> action);
void hear(lapi_handle_t *, int *code, lapi_err_t *type, int *task, int *src);

void failed(const char *file, int line, const char *what);
extern std::atomic<int> failures;

template <class A, class B>
void check_equal(const A &a, const B &b, const char *file, int line, const char *text)
{
    if (a == b) return;
    failed(file, line, text);
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    std::cerr << "    " << a << " and " << b << std::endl;
}

struct step {
    const char *file; // steps are in the order of their files and lines
    int line;
    const char *name;
    void (*run)();
    step(const char *step_file, int step_line, const char *step_name, void (*body)());
};

// A counter, its address at all tasks.
class counter {
  public:
    counter();
    lapi_cntr_t *here() { return &value_; }
    lapi_cntr_t *of(uint task) const { return reinterpret_cast<lapi_cntr_t *>(all_[task]); }
    int now();
    void wait(int n);

  private:
    alignas(64) lapi_cntr_t value_ = {};
    std::vector<lapi_long_t> all_;
};

// The address of something at all tasks; collective.
std::vector<lapi_long_t> everywhere(const void *mine);
void fence_all();

} // namespace battery

#define STEP(name)                                                     \
    static void name();                                                \
    static battery::step step_##name(__FILE__, __LINE__, #name, name); \
    static void name()
#define CHECK(condition) ((condition) ? (void)0 : battery::failed(__FILE__, __LINE__, #condition))
#define EQUAL(a, b) battery::check_equal((a), (b), __FILE__, __LINE__, #a " == " #b)
#define OK(call) EQUAL((call), LAPI_SUCCESS)
