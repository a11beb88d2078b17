// SPDX-License-Identifier: Apache-2.0
// Start, end, queries, settings, error texts, addresses.
#include "battery.hpp"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

using namespace battery;

// "= {0}" sets the first member of a union; compilers need not go beyond it.
static_assert(lapi_cntr_t{1LL << 40}.onesea_value == 1LL << 40);
static_assert(sizeof(lapi_xfer_t) == sizeof(lapi_xfer_t{lapi_amdgsp_t{}}.Dgsp));
static_assert(sizeof(lapi_util_t) == sizeof(lapi_util_t{lapi_thread_func_t{}}.ThreadUtil));

STEP(init_refuses_bad_information)
{
    lapi_handle_t h = 77;
    lapi_info_t info = {};
    EQUAL(LAPI_Init(nullptr, &info), LAPI_ERR_RET_PTR_NULL);
    EQUAL(LAPI_Init(&h, nullptr), LAPI_ERR_INFO_NULL);
    auto refused = [&](auto change) {
        lapi_info_t bad = {};
        change(bad);
        EQUAL(LAPI_Init(&h, &bad), LAPI_ERR_INFO_NONZERO);
    };
    refused([](lapi_info_t &i) { i.info6 = 1; });
    refused([](lapi_info_t &i) { i.epoch_num = 1; });
    refused([](lapi_info_t &i) { i.protocol = 0x100; });
    refused([](lapi_info_t &i) { i.num_compl_hndlr_thr = -1; });
    refused([](lapi_info_t &i) { i.lib_vers = lapi_lib_t(9); });
    refused([](lapi_info_t &i) { i.add_info = reinterpret_cast<lapi_extend_t *>(&i); });
    refused([](lapi_info_t &i) { i.lapi_thread_attr = reinterpret_cast<com_thread_info_t *>(&i); });
    setenv("MP_MSG_API", "mpi", 1);
    EQUAL(LAPI_Init(&h, &info), LAPI_ERR_MSG_API);
    unsetenv("MP_MSG_API");
    EQUAL(h, 77u);
}

STEP(contexts_are_several_and_end_one_by_one)
{
    setenv("MP_MSG_API", "mpi,lapi", 1);
    lapi_handle_t second = 0;
    lapi_info_t info = {};
    info.err_hndlr = hear;
    OK(LAPI_Init(&second, &info));
    unsetenv("MP_MSG_API");
    CHECK(second != self.h);
    CHECK(info.protocol == SHM_DEV || info.protocol == UDP_DEV);
    int n = 0;
    OK(LAPI_Qenv(second, NUM_TASKS, &n));
    EQUAL(n, self.n);
    OK(LAPI_Gfence(second));
    OK(LAPI_Term(second));
    EQUAL(LAPI_Term(second), LAPI_ERR_HNDL_INVALID);
    EQUAL(LAPI_Gfence(second), LAPI_ERR_HNDL_INVALID);
    lapi_handle_t third = 0;
    OK(LAPI_Init(&third, &info)); // with the information as the first gave it back
    CHECK(third != second);
    OK(LAPI_Gfence(third));
    OK(LAPI_Term(third));
}

STEP(contexts_are_limited_in_number)
{
    int most = 0;
    OK(LAPI_Qenv(self.h, MAX_PORTS, &most));
    std::vector<lapi_handle_t> open;
    lapi_info_t info = {};
    for (int i = 1; i < most; ++i) {
        open.push_back(0);
        OK(LAPI_Init(&open.back(), &info));
    }
    lapi_handle_t one_more = 0;
    EQUAL(LAPI_Init(&one_more, &info), LAPI_ERR_ALL_HNDL_IN_USE);
    OK(LAPI_Gfence(open.back()));
    for (lapi_handle_t h : open) OK(LAPI_Term(h));
}

STEP(invalid_handles_are_refused_by_every_call)
{
    const lapi_handle_t bad = self.h + 1000;
    int i = 0;
    uint u = 0;
    long long ll = 0;
    void *p = &i;
    lapi_long_t l = 0;
    lapi_cntr_t c = {};
    lapi_vec_t v = {};
    lapi_msg_info_t m;
    lapi_xfer_t x = {};
    lapi_util_t t = {};
    std::vector<int> codes = {LAPI_Term(bad),
                              LAPI_Qenv(bad, TASK_ID, &i),
                              LAPI_Senv(bad, TIMEOUT, 100),
                              LAPI_Put(bad, 0, 4, p, p, nullptr, nullptr, nullptr),
                              LAPI_Get(bad, 0, 4, p, p, nullptr, nullptr),
                              LAPI_Amsend(bad, 0, p, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
                              LAPI_Putv(bad, 0, &v, &v, nullptr, nullptr, nullptr),
                              LAPI_Getv(bad, 0, &v, &v, nullptr, nullptr),
                              LAPI_Amsendv(bad, 0, p, nullptr, 0, &v, nullptr, nullptr, nullptr),
                              LAPI_Rmw(bad, SWAP, 0, &i, &i, &i, nullptr),
                              LAPI_Rmw64(bad, SWAP, 0, &ll, &ll, &ll, nullptr),
                              LAPI_Setcntr(bad, &c, 0),
                              LAPI_Getcntr(bad, &c, &i),
                              LAPI_Waitcntr(bad, &c, 0, &i),
                              LAPI_Setcntr_wstatus(bad, &c, 1, &u, &i),
                              LAPI_Nopoll_wait(bad, &c, 1, &i),
                              LAPI_Purge_totask(bad, 0),
                              LAPI_Resume_totask(bad, 0),
                              LAPI_Probe(bad),
                              LAPI_Msgpoll(bad, 1, &m),
                              LAPI_Fence(bad),
                              LAPI_Gfence(bad),
                              LAPI_Address_init(bad, p, &p),
                              LAPI_Address_init64(bad, l, &l),
                              LAPI_Addr_set(bad, p, 1),
                              LAPI_Addr_get(bad, &p, 1),
                              LAPI_Xfer(bad, &x),
                              LAPI_Util(bad, &t),
                              LAPI_Onesea_shared_alloc(bad, 1, &p),
                              LAPI_Onesea_shared_free(bad, p)};
    for (std::size_t at = 0; at < codes.size(); ++at)
        if (codes[at] != LAPI_ERR_HNDL_INVALID) {
            EQUAL(at, std::size_t(-1)); // says which
            EQUAL(codes[at], LAPI_ERR_HNDL_INVALID);
        }
}

STEP(queries_answer)
{
    auto ask = [](lapi_query_t q) {
        int value = -1;
        OK(LAPI_Qenv(self.h, q, &value));
        return value;
    };
    EQUAL(ask(TASK_ID), self.me);
    EQUAL(ask(NUM_TASKS), self.n);
    CHECK(ask(MAX_UHDR_SZ) >= 800);
    EQUAL(ask(MAX_DATA_SZ), INT_MAX);
    EQUAL(ask(INTERRUPT_SET), 1);
    EQUAL(ask(ERROR_CHK), 1);
    EQUAL(ask(TIMEOUT), 900);
    CHECK(ask(MIN_TIMEOUT) < ask(MAX_TIMEOUT));
    EQUAL(ask(ACK_THRESHOLD), 30);
    CHECK(ask(LOC_ADDRTBL_SZ) > 100);
    CHECK(ask(MAX_PKT_SZ) > 0);
    int here = ask(QUERY_SHM_NUM_TASKS);
    std::vector<int> tasks(std::size_t(here), -1);
    OK(LAPI_Qenv(self.h, QUERY_SHM_TASKS, tasks.data()));
    CHECK(std::set<int>(tasks.begin(), tasks.end()).count(self.me));
    for (int q = TASK_ID; q < LAST_QUERY; ++q) {
        lapi_statistics_t room[4];
        OK(LAPI_Qenv(self.h, lapi_query_t(q), reinterpret_cast<int *>(room)));
        if (q != PRINT_STATISTICS) EQUAL(LAPI_Qenv(self.h, lapi_query_t(q), nullptr), LAPI_ERR_RET_PTR_NULL);
    }
    int i;
    EQUAL(LAPI_Qenv(self.h, LAST_QUERY, &i), LAPI_ERR_QUERY_TYPE);
    EQUAL(LAPI_Qenv(self.h, lapi_query_t(-1), &i), LAPI_ERR_QUERY_TYPE);
}

STEP(settings_are_kept_within_their_range)
{
    auto set = [](lapi_query_t q, int good, int back, std::vector<int> bad) {
        int value = -1;
        OK(LAPI_Senv(self.h, q, good));
        OK(LAPI_Qenv(self.h, q, &value));
        EQUAL(value, good);
        for (int b : bad) EQUAL(LAPI_Senv(self.h, q, b), LAPI_ERR_SET_VAL);
        OK(LAPI_Qenv(self.h, q, &value));
        EQUAL(value, good);
        OK(LAPI_Senv(self.h, q, back));
    };
    set(TIMEOUT, 100, 900, {0, -1, 86401});
    set(ERROR_CHK, 0, 1, {2, -1});
    set(INTERRUPT_SET, 0, 1, {2, -1});
    set(ACK_THRESHOLD, 1, 30, {0, 31});
    for (int q = TASK_ID; q <= LAST_QUERY; ++q)
        if (q != TIMEOUT && q != ERROR_CHK && q != INTERRUPT_SET && q != ACK_THRESHOLD)
            EQUAL(LAPI_Senv(self.h, lapi_query_t(q), 1), LAPI_ERR_QUERY_TYPE);
}

STEP(statistics_count_what_was_sent)
{
    static char target[5000], source[5000];
    auto where = everywhere(target);
    counter done;
    lapi_statistics_t before = {}, after = {};
    auto sum = [](lapi_statistics_t *s) {
        lapi_statistics_t net = {}, node = {}, own = {};
        OK(LAPI_Qenv(self.h, QUERY_STATISTICS, reinterpret_cast<int *>(&net)));
        OK(LAPI_Qenv(self.h, QUERY_SHM_STATISTICS, reinterpret_cast<int *>(&node)));
        OK(LAPI_Qenv(self.h, QUERY_LOCAL_SEND_STATISTICS, reinterpret_cast<int *>(&own)));
        s->Tot_data_sent = net.Tot_data_sent + node.Tot_data_sent + own.Tot_data_sent;
    };
    sum(&before);
    OK(LAPI_Put(self.h, self.right(), sizeof source, reinterpret_cast<void *>(where[self.right()]), source, nullptr,
                nullptr, done.here()));
    done.wait(1);
    sum(&after);
    CHECK(after.Tot_data_sent >= before.Tot_data_sent + sizeof source);
}

STEP(error_numbers_have_texts)
{
    char text[LAPI_MAX_ERR_STRING];
    int known = 0;
    for (int code = 0; code < 1000; ++code) {
        std::memset(text, 'x', sizeof text);
        int result = LAPI_Msg_string(code, text);
        CHECK(std::memchr(text, 0, sizeof text) && std::strlen(text) > 5);
        known += result == LAPI_SUCCESS;
        if (result != LAPI_SUCCESS) EQUAL(result, LAPI_ERR_CODE_UNKNOWN);
    }
    EQUAL(known, 64); // those of lapi.h and LAPI_SUCCESS
    OK(LAPI_Msg_string(LAPI_ERR_BAD_FIRST_PARM, text));
    CHECK(std::string(text).find("LAPI_ERR_HNDL_INVALID") == 0);
    EQUAL(LAPI_Msg_string(-5, text), LAPI_ERR_CODE_UNKNOWN);
    EQUAL(LAPI_Msg_string(0, nullptr), LAPI_ERR_RET_PTR_NULL);
}

STEP(addresses_are_exchanged)
{
    int mine = 0;
    ulong address = 0;
    OK(LAPI_Address(&mine, &address));
    EQUAL(address, reinterpret_cast<ulong>(&mine));
    EQUAL(LAPI_Address(&mine, nullptr), LAPI_ERR_RET_PTR_NULL);
    std::vector<void *> table(std::size_t(self.n), &mine);
    OK(LAPI_Address_init(self.h, reinterpret_cast<void *>(std::uintptr_t(self.me + 1000)), table.data()));
    for (int t = 0; t < self.n; ++t)
        EQUAL(reinterpret_cast<std::uintptr_t>(table[std::size_t(t)]), std::uintptr_t(t + 1000));
    OK(LAPI_Address_init(self.h, nullptr, table.data()));
    for (void *p : table) EQUAL(p, nullptr);
    EQUAL(LAPI_Address_init(self.h, &mine, nullptr), LAPI_ERR_ADDR_TBL_NULL);
    EQUAL(LAPI_Address_init64(self.h, 1, nullptr), LAPI_ERR_ADDR_TBL_NULL);
}

STEP(address_handles_have_a_range)
{
    int last = 0, mine = 0;
    OK(LAPI_Qenv(self.h, LOC_ADDRTBL_SZ, &last));
    void *found = nullptr;
    for (int at : {1, 7, last - 1}) {
        OK(LAPI_Addr_set(self.h, &mine + at % 2, at));
        OK(LAPI_Addr_get(self.h, &found, at));
        EQUAL(found, static_cast<void *>(&mine + at % 2));
        OK(LAPI_Addr_set(self.h, nullptr, at));
    }
    for (int bad : {0, -1, last}) {
        EQUAL(LAPI_Addr_set(self.h, &mine, bad), LAPI_ERR_ADDR_HNDL_RANGE);
        EQUAL(LAPI_Addr_get(self.h, &found, bad), LAPI_ERR_ADDR_HNDL_RANGE);
    }
    EQUAL(LAPI_Addr_get(self.h, nullptr, 1), LAPI_ERR_RET_PTR_NULL);
}

STEP(twins_are_the_same_calls)
{
    lapi_cntr_t c = {};
    int value = 0;
    OK(PLAPI_Setcntr(self.h, &c, 5));
    OK(LAPI_Waitcntr(self.h, &c, 2, &value));
    EQUAL(value, 3);
    EQUAL(reinterpret_cast<void *>(PLAPI_Amsendv), reinterpret_cast<void *>(LAPI_Amsendv));
    EQUAL(reinterpret_cast<void *>(PLAPI_Xfer), reinterpret_cast<void *>(LAPI_Xfer));
}
