// SPDX-License-Identifier: Apache-2.0
// Task 1 sends messages at which task 0 runs out of memory inside the library, of each kind that asks for some. What
// cannot be taken in is told: to the sender if it waits for a completion, else at the target. What comes after is
// taken in as ever.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lapi.h>
#include <new>
#include <unistd.h>

namespace {

thread_local bool next_fails = false;
std::atomic<int> heard = 0, taken = 0;
char data[20000];
lapi_vec_t places;
void *place_of_data[] = {data};
ulong length_of_data[] = {sizeof data};

void hear(lapi_handle_t *, int *code, lapi_err_t *type, int *, int *)
{
    if (*code == LAPI_ERR_MEMORY_EXHAUSTED && *type == AM_ERR) ++heard;
}

void complete(lapi_handle_t *, void *) { ++taken; }

void *scarce(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **comp, void **)
{
    *comp = complete;
    next_fails = true; // the thread that is to run it
    return nullptr;
}

lapi_vec_t *scarce_vector(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **comp, void **)
{
    *comp = complete;
    next_fails = true; // the pieces of the vector
    places = {LAPI_GEN_IOVECTOR, 1, place_of_data, length_of_data};
    return &places;
}

void *plenty(lapi_handle_t *, void *, uint *, ulong *msg_len, compl_hndlr_t **comp, void **)
{
    next_fails = false;
    reinterpret_cast<lapi_return_info_t *>(msg_len)->ret_flags = LAPI_LOCAL_STATE;
    *comp = complete;
    return nullptr;
}

} // namespace

void *operator new(std::size_t bytes)
{
    if (next_fails) {
        next_fails = false;
        throw std::bad_alloc();
    }
    if (void *memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept // as the library's, but for sanitizers'
try {
    return operator new(bytes);
} catch (const std::bad_alloc &) {
    return nullptr;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

int main()
{
    lapi_handle_t h = 0;
    lapi_info_t info = {};
    int me = 0, bad = 0;
    info.err_hndlr = hear;
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Addr_set(h, reinterpret_cast<void *>(scarce), 1);
    LAPI_Addr_set(h, reinterpret_cast<void *>(scarce_vector), 2);
    LAPI_Addr_set(h, reinterpret_cast<void *>(plenty), 3);
    LAPI_Gfence(h);
    const auto handler = [](long number) { return reinterpret_cast<void *>(number); };
    const auto expect = [&](const char *what, std::atomic<int> &value, int wanted) {
        for (int i = 0; i < 500 && value < wanted; ++i) usleep(10000);
        if (value == wanted) return;
        std::fprintf(stderr, "task %d: %s %d and not %d times\n", me, what, value.load(), wanted);
        ++bad;
    };
    void *from[] = {data};
    ulong bytes[] = {sizeof data};
    lapi_vec_t vector = {LAPI_GEN_IOVECTOR, 1, from, bytes};
    for (const bool waits : {true, false}) {
        lapi_cntr_t ended = {}, *completion = waits ? &ended : nullptr;
        const auto ends = [&](int code) {
            int now = 0;
            if (code == LAPI_SUCCESS && waits) code = LAPI_Onesea_waitcntr(h, &ended, 1, 5);
            if (code != LAPI_SUCCESS) std::fprintf(stderr, "task %d: code %d\n", me, code), ++bad;
            LAPI_Setcntr(h, &ended, now);
        };
        if (me == 1) {
            if (waits) { // the thread is started once
                ends(LAPI_Amsend(h, 0, handler(1), nullptr, 0, nullptr, 0, nullptr, nullptr, completion));
                ends(LAPI_Amsend(h, 0, handler(3), nullptr, 0, nullptr, 0, nullptr, nullptr, completion));
            }
            ends(LAPI_Amsendv(h, 0, handler(2), nullptr, 0, &vector, nullptr, nullptr, completion));
            ends(LAPI_Amsend(h, 0, handler(3), nullptr, 0, nullptr, 0, nullptr, nullptr, completion));
        }
        if (me == 0) expect("taken", taken, waits ? 2 : 3);
        expect("heard", heard, waits ? 2 * me : 1 + me);
        LAPI_Gfence(h);
    }
    LAPI_Term(h);
    if (me == 0 && bad == 0) std::puts("no memory: told, and the rest goes on");
    return bad == 0 ? 0 : 1;
}
