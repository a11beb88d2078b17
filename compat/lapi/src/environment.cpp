// SPDX-License-Identifier: Apache-2.0
// LAPI_Qenv() and LAPI_Senv(). Where onesea has nothing that a query asks for the answer is 0.
#include "context.hpp"

#include <climits>
#include <cstdio>

namespace lapi {
namespace {

int tasks_of_this_node(const context &c, int *list)
{
    int count = 0;
    for (int t = 0; t < c.n; ++t) {
        if (sea_node_of(t) != sea_node()) continue;
        if (list) list[count] = t;
        ++count;
    }
    return count;
}

void add_link(lapi_statistics_t *sum, const sea_pair_stats &s)
{
    sum->Tot_retrans_pkt_cnt += s.packets_lost;
    sum->Tot_pkt_sent_cnt += s.packets_out;
    sum->Tot_pkt_recv_cnt += s.packets_in;
    sum->Tot_data_sent += s.bytes_out;
    sum->Tot_data_recv += s.bytes_in;
}

enum class reach { net, node, self };

reach reach_of(const context &c, int t)
{
    if (t == c.me) return reach::self;
    return sea_node_of(t) == sea_node() ? reach::node : reach::net;
}

lapi_statistics_t statistics(const context &c, reach wanted)
{
    lapi_statistics_t sum = {};
    for (int t = 0; t < c.n; ++t) {
        sea_pair_stats s;
        if (reach_of(c, t) != wanted || sea_stats(t, &s) != SEA_OK) continue;
        add_link(&sum, s);
        sum.Tot_data_sent += c.tasks[t].near_out.load(std::memory_order_relaxed);
        sum.Tot_data_recv += c.tasks[t].near_in.load(std::memory_order_relaxed);
    }
    sea_own_stats own;
    if (wanted == reach::net && sea_stats_own(&own) == SEA_OK) {
        sum.Tot_dup_pkt_cnt = own.replayed;
        sum.Tot_gho_pkt_cnt = own.not_ours;
    }
    return sum;
}

void print(const context &c)
{
    lapi_statistics_t s = statistics(c, reach::net);
    std::fprintf(stderr,
                 "LAPI task %d, other nodes: %llu packets out, %llu in, %llu sent again, %llu doubled, "
                 "%llu bytes out, %llu in\n",
                 c.me, s.Tot_pkt_sent_cnt, s.Tot_pkt_recv_cnt, s.Tot_retrans_pkt_cnt, s.Tot_dup_pkt_cnt,
                 s.Tot_data_sent, s.Tot_data_recv);
}

// The queries whose answer is one number.
int number(context &c, lapi_query_t query)
{
    switch (query) {
    case TASK_ID:
        return c.me;
    case NUM_TASKS:
        return c.n;
    case MAX_UHDR_SZ:
        return int(max_uhdr);
    case MAX_DATA_SZ:
        return INT_MAX;
    case ERROR_CHK:
        return c.check;
    case TIMEOUT:
        return c.timeout;
    case MIN_TIMEOUT:
        return min_timeout;
    case MAX_TIMEOUT:
        return max_timeout;
    case INTERRUPT_SET:
        return !c.handlers.polling();
    case MAX_PORTS:
        return max_contexts;
    case MAX_PKT_SZ:
        return int(max_packet);
    case LOC_ADDRTBL_SZ:
        return address_table;
    case MAX_ATOM_SIZE:
        return 8;
    case ACK_THRESHOLD:
        return c.ack_threshold;
    case QUERY_SHM_ENABLED:
        return c.use_shm;
    case QUERY_SHM_NUM_TASKS:
        return tasks_of_this_node(c, nullptr);
    default:
        return 0;
    }
}

int set(context &c, lapi_query_t query, int value)
{
    switch (query) {
    case ERROR_CHK:
        if (value != 0 && value != 1) return LAPI_ERR_SET_VAL;
        c.check = value != 0;
        return LAPI_SUCCESS;
    case TIMEOUT:
        if (value < min_timeout || value > max_timeout) return LAPI_ERR_SET_VAL;
        c.timeout = value;
        return LAPI_SUCCESS;
    case INTERRUPT_SET:
        if (value != 0 && value != 1) return LAPI_ERR_SET_VAL;
        c.handlers.set_polling(value == 0);
        return LAPI_SUCCESS;
    case ACK_THRESHOLD:
        if (value < 1 || value > 30) return LAPI_ERR_SET_VAL;
        c.ack_threshold = value;
        return LAPI_SUCCESS;
    default:
        return LAPI_ERR_QUERY_TYPE;
    }
}

} // namespace
} // namespace lapi

using namespace lapi;

extern "C" int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (query < TASK_ID || query >= LAST_QUERY) return LAPI_ERR_QUERY_TYPE;
    if (query == PRINT_STATISTICS) {
        print(*c);
        return LAPI_SUCCESS;
    }
    if (!ret_val) return LAPI_ERR_RET_PTR_NULL;
    auto *table = reinterpret_cast<lapi_statistics_t *>(ret_val);
    switch (query) {
    case QUERY_SHM_TASKS:
        tasks_of_this_node(*c, ret_val);
        break;
    case QUERY_STATISTICS:
        *table = statistics(*c, reach::net);
        break;
    case QUERY_SHM_STATISTICS:
        *table = statistics(*c, reach::node);
        break;
    case QUERY_LOCAL_SEND_STATISTICS:
        *table = statistics(*c, reach::self);
        break;
    default:
        *ret_val = number(*c, query);
    }
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val)
{
    context *c = find(hndl);
    return c ? set(*c, query, set_val) : LAPI_ERR_HNDL_INVALID;
}

LAPI_TWIN(Qenv);
LAPI_TWIN(Senv);
