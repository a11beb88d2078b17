// SPDX-License-Identifier: Apache-2.0
// usage: lapi_battery [--only TEXT] [--list]: the steps whose names contain TEXT.
#include "battery.hpp"
#include "file_order.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace battery {

job self;
std::atomic<int> failures = 0;

namespace {

std::mutex mutex;
std::vector<heard> kept;
std::function<void()> action_when_heard;

std::vector<step *> &steps()
{
    static std::vector<step *> all;
    return all;
}

void run(step *s)
{
    fence_all();
    int before = failures;
    s->run();
    fence_all();
    for (const heard &e : errors_heard()) {
        std::cerr << "task " << self.me << ": nobody expected error " << e.code << " of type " << e.type
                  << " from task " << e.other << std::endl;
        ++failures;
    }
    if (failures != before) std::cerr << "task " << self.me << ": step " << s->name << " failed" << std::endl;
}

} // namespace

step::step(const char *step_file, int step_line, const char *step_name, void (*body)())
    : file(step_file), line(step_line), name(step_name), run(body)
{
    steps().push_back(this);
}

void failed(const char *file, int line, const char *what)
{
    ++failures;
    const char *base = std::strrchr(file, '/');
    std::lock_guard lock(mutex);
    std::cerr << "task " << self.me << ": " << (base ? base + 1 : file) << ":" << line << ": " << what << std::endl;
}

void hear(lapi_handle_t *, int *code, lapi_err_t *type, int *task, int *src)
{
    if (*task != self.me) failed(__FILE__, __LINE__, "the error handler is told this task's number");
    std::function<void()> action;
    {
        std::lock_guard lock(mutex);
        kept.push_back({*code, *type, *src});
        action = action_when_heard;
    }
    if (action) action();
}

void when_heard(std::function<void()> action)
{
    std::lock_guard lock(mutex);
    action_when_heard = std::move(action);
}

std::vector<heard> errors_heard(std::size_t at_least)
{
    for (int i = 0; i < 10000; ++i) {
        {
            std::lock_guard lock(mutex);
            if (kept.size() >= at_least) return std::exchange(kept, {});
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    failed(__FILE__, __LINE__, "an error was to be heard");
    return {};
}

counter::counter() : all_(everywhere(&value_)) {}

int counter::now()
{
    int value = -1;
    OK(LAPI_Getcntr(self.h, &value_, &value));
    return value;
}

void counter::wait(int n) { OK(LAPI_Waitcntr(self.h, &value_, n, nullptr)); }

std::vector<lapi_long_t> everywhere(const void *mine)
{
    std::vector<lapi_long_t> all(std::size_t(self.n));
    OK(LAPI_Address_init64(self.h, lapi_long_t(mine), all.data()));
    return all;
}

void fence_all() { OK(LAPI_Gfence(self.h)); }

} // namespace battery

using namespace battery;

int main(int argc, char **argv)
{
    sort_by_file_and_line(steps());
    std::string only = argc > 2 && std::string(argv[1]) == "--only" ? argv[2] : "";
    if (argc > 1 && std::string(argv[1]) == "--list") {
        for (step *s : steps()) std::cout << s->name << '\n';
        return 0;
    }
    lapi_info_t info = {};
    info.err_hndlr = hear;
    info.lib_vers = LAST_LIB;
    info.num_compl_hndlr_thr = 2;
    if (LAPI_Init(&self.h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(self.h, TASK_ID, &self.me);
    LAPI_Qenv(self.h, NUM_TASKS, &self.n);
    int ran = 0;
    for (step *s : steps()) {
        const bool big = std::string(s->name).find("gigabyte") != std::string::npos; // only when asked for
        if (only.empty() ? big : std::string(s->name).find(only) == std::string::npos) continue;
        auto start = std::chrono::steady_clock::now();
        run(s);
        ++ran;
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (self.me == 0 && std::getenv("BATTERY_TIMES")) std::cerr << s->name << " " << took.count() << " s\n";
    }
    OK(LAPI_Term(self.h));
    if (ran == 0) std::cerr << "no step's name contains '" << only << "'\n";
    if (self.me == 0 && failures == 0) std::cout << "lapi: " << ran << " steps correct on " << self.n << " tasks\n";
    return failures == 0 && ran > 0 ? 0 : 1;
}
