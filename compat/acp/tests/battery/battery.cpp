// SPDX-License-Identifier: Apache-2.0
// usage: acp_battery [--only TEXT] [--seed N]: the steps whose names contain TEXT.
#include "battery.hpp"
#include "file_order.hpp"
#include "random.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace battery {

job self;
int failures = 0;
std::uint64_t errors_expected = 0;
std::uint64_t seed = 1;

namespace {

std::vector<step *> &steps()
{
    static std::vector<step *> all;
    return all;
}

void run(step *s)
{
    acp_sync();
    const int before = failures;
    const double start = seconds();
    s->run();
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    acp_sync();
    if (acp_onesea_errors() != errors_expected) {
        std::cerr << "process " << self.me << ": nobody expected: " << acp_onesea_last_error() << std::endl;
        errors_expected = acp_onesea_errors();
        ++failures;
    }
    if (failures != before) std::cerr << "process " << self.me << ": step " << s->name << " failed" << std::endl;
    if (self.me == 0 && std::getenv("BATTERY_TIMES")) std::cerr << s->name << " " << seconds() - start << " s\n";
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
    std::cerr << "process " << self.me << ": " << (base ? base + 1 : file) << ":" << line << ": " << what << std::endl;
}

std::uint64_t *words() { return static_cast<std::uint64_t *>(acp_query_address(acp_query_starter_ga(self.me))); }

acp_ga_t word_of(int rank, std::size_t index) { return acp_query_starter_ga(rank) + 8 * index; }

void fill_words(std::size_t count, std::uint64_t value)
{
    acp_sync();
    for (std::size_t i = 0; i < count; ++i) words()[i] = value;
    acp_sync();
}

std::vector<acp_ga_t> everywhere(acp_ga_t mine)
{
    fill_words(1, mine);
    std::vector<acp_ga_t> all;
    for (int rank = 0; rank < self.n; ++rank) {
        do_copy(word_of(self.me, 1), word_of(rank, 0), 8);
        all.push_back(words()[1]);
    }
    acp_sync();
    return all;
}

void do_copy(acp_ga_t dst, acp_ga_t src, std::size_t size)
{
    const acp_handle_t h = acp_copy(dst, src, size, ACP_HANDLE_NULL);
    CHECK(h > 0);
    acp_complete(h);
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_seconds()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return double(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * double(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

std::size_t allocated_bytes()
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

bool allocated_falls_below(std::size_t bytes)
{
    constexpr double patience = 10; // seconds
    const double end = seconds() + patience;
    while (allocated_bytes() >= bytes) {
        if (seconds() > end) {
            std::cerr << "    " << allocated_bytes() << " bytes, not below " << bytes << '\n';
            return false;
        }
        usleep(1000);
    }
    return true;
}

} // namespace battery

using namespace battery;

int main(int argc, char **argv)
{
    sort_by_file_and_line(steps());
    if (acp_init(&argc, &argv) != 0) return 2;
    std::string only;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string(argv[i]) == "--only") only = argv[i + 1];
        if (std::string(argv[i]) == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    self.me = acp_rank();
    self.n = acp_procs();
    int ran = 0;
    for (step *s : steps()) {
        if (std::string(s->name).find(only) == std::string::npos) continue;
        run(s);
        ++ran;
    }
    EQUAL(acp_finalize(), 0);
    EQUAL(acp_query_starter_ga(0), ACP_GA_NULL);
    if (ran == 0) std::cerr << "no step's name contains '" << only << "'\n";
    if (self.me == 0 && failures == 0) std::cout << "acp: " << ran << " steps correct on " << self.n << " processes\n";
    return failures == 0 && ran > 0 ? 0 : 1;
}
