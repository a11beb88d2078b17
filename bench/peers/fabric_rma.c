/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-peer-libfabric-rma --provider NAME --ms M --cores A,B [--cable FROM,TO,ADDRESS,ADDRESS] CASE:BYTES...:
 * the one-sided operations of a libfabric provider over the loopback or along a cable, timed by the same loop as ours.
 *
 * Two processes, which tell each other their addresses and keys by a socket pair; the target polls its completion queue
 * meanwhile, which is what moves these providers. put completes locally (inject), put_fence at the target
 * (FI_DELIVERY_COMPLETE); put_bw, put_rate and get_bw keep a window of transfers in flight, of which the last, or each
 * where the provider keeps no order, completes at the target. A case that the provider does not have is left out with a
 * line on stderr. With --version it prints that of the library.
 */
#define _GNU_SOURCE
#include "measure/measure.h"
#include "measure/namespace.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 128, PROOF_BYTES = 4096, RESULT_BYTES = 8, API = FI_VERSION(1, 15) };

struct arguments {
    const char *provider;
    double milliseconds;
    int cores[2], first_case;
    struct cable_ends cable;
    size_t room;
};

struct introduction { /* what a side tells the other */
    char name[NAME_MAX_BYTES];
    size_t name_length;
    uint64_t memory, key;
};

struct side {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *endpoint;
    struct fid_mr *region, *result_region;
    fi_addr_t peer;
    struct introduction far;
    char *memory;
    uint64_t result;
    size_t outstanding; /* operations that will put an entry into the queue */
    size_t bytes, in_flight;
    uint64_t operand, expected;
};

static const char *whose = "libfabric";

static void die(const char *what, long status)
{
    fprintf(stderr, "%s: %s: %s\n", whose, what, fi_strerror((int)(status < 0 ? -status : status)));
    exit(1);
}

static void must(long status, const char *what)
{
    if (status < 0) die(what, status);
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

static void progress(struct side *s)
{
    struct fi_cq_entry entries[16];
    ssize_t n = fi_cq_read(s->cq, entries, sizeof entries / sizeof *entries);
    if (n > 0) {
        s->outstanding -= (size_t)n;
    } else if (n == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        must(fi_cq_readerr(s->cq, &error, 0), "read an error");
        die("an operation failed", error.err);
    } else if (n != -FI_EAGAIN) {
        must(n, "read the completion queue");
    }
}

static void wait_for_all(struct side *s)
{
    while (s->outstanding > 0) progress(s);
}

/* Posts until the provider takes it. */
#define POST(side, call)                                         \
    do {                                                         \
        ssize_t posted_;                                         \
        while ((posted_ = (call)) == -FI_EAGAIN) progress(side); \
        must(posted_, #call);                                    \
    } while (0)

static void *descriptor(struct fid_mr *region) { return region ? fi_mr_desc(region) : NULL; }

static void write_with(struct side *s, uint64_t flags)
{
    struct iovec local = {s->memory, s->bytes};
    void *where = descriptor(s->region);
    struct fi_rma_iov remote = {s->far.memory, s->bytes, s->far.key};
    struct fi_msg_rma message = {&local, &where, 1, s->peer, &remote, 1, NULL, 0};
    POST(s, fi_writemsg(s->endpoint, &message, flags | FI_COMPLETION));
    s->outstanding++;
}

/* ---- what is measured -------------------------------------------------------------------------------------------- */

static void put(void *context)
{
    struct side *s = context;
    POST(s, fi_inject_write(s->endpoint, s->memory, s->bytes, s->peer, s->far.memory, s->far.key));
}

static void put_fence(void *context)
{
    struct side *s = context;
    write_with(s, FI_DELIVERY_COMPLETE);
    wait_for_all(s);
}

static void one_read(struct side *s)
{
    POST(s, fi_read(s->endpoint, s->memory, s->bytes, descriptor(s->region), s->peer, s->far.memory, s->far.key, NULL));
    s->outstanding++;
}

static void get(void *context)
{
    one_read(context);
    wait_for_all(context);
}

static void fetch_add(void *context)
{
    struct side *s = context;
    s->operand = 1;
    POST(s, fi_fetch_atomic(s->endpoint, &s->operand, 1, NULL, &s->result, descriptor(s->result_region), s->peer,
                            s->far.memory, s->far.key, FI_UINT64, FI_SUM, NULL));
    s->outstanding++;
    wait_for_all(s);
}

static void cas(void *context)
{
    struct side *s = context;
    s->operand = s->expected + 1;
    POST(s, fi_compare_atomic(s->endpoint, &s->operand, 1, NULL, &s->expected, NULL, &s->result,
                              descriptor(s->result_region), s->peer, s->far.memory, s->far.key, FI_UINT64, FI_CSWAP,
                              NULL));
    s->outstanding++;
    wait_for_all(s);
    s->expected = s->result + 1;
}

static void put_many(void *context)
{
    struct side *s = context;
    const int ordered = (s->info->tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0;
    const int small = s->bytes <= s->info->tx_attr->inject_size;
    for (size_t i = 1; i < s->in_flight; i++)
        if (!ordered)
            write_with(s, FI_DELIVERY_COMPLETE);
        else if (small)
            put(s);
        else
            write_with(s, 0);
    put_fence(s);
}

static void get_many(void *context)
{
    struct side *s = context;
    for (size_t i = 0; i < s->in_flight; i++) one_read(s);
    wait_for_all(s);
}

static const struct named {
    const char *name;
    enum metric metric;
    measured_fn fn;
} cases[] = {
    {"put", METRIC_LATENCY, put},           {"put_fence", METRIC_LATENCY, put_fence},
    {"get", METRIC_LATENCY, get},           {"fetch_add", METRIC_LATENCY, fetch_add},
    {"cas", METRIC_LATENCY, cas},           {"put_rate", METRIC_RATE, put_many},
    {"put_bw", METRIC_BANDWIDTH, put_many}, {"get_bw", METRIC_BANDWIDTH, get_many},
};

/* Null if the provider has it. */
static const char *lack_of(const struct side *s, const struct named *c)
{
    size_t count = 0;
    if (s->bytes > s->info->ep_attr->max_msg_size) return "is longer than its messages";
    if (c->fn == put && s->bytes > s->info->tx_attr->inject_size) return "cannot be injected";
    if (c->fn == fetch_add || c->fn == cas) {
        if (!(s->info->caps & FI_ATOMIC)) return "is not there: no atomics";
        long status = c->fn == cas ? fi_compare_atomicvalid(s->endpoint, FI_UINT64, FI_CSWAP, &count)
                                   : fi_fetch_atomicvalid(s->endpoint, FI_UINT64, FI_SUM, &count);
        if (status != 0 || count == 0) return "is not among its atomics";
    }
    return NULL;
}

static void run_case(struct side *s, const char *argument, double milliseconds)
{
    char name[32];
    if (sscanf(argument, "%31[a-z_]:%zu", name, &s->bytes) == 2 && s->bytes > 0)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (strcmp(cases[i].name, name) != 0) continue;
            const char *lack = lack_of(s, &cases[i]);
            if (lack) {
                fprintf(stderr, "%s: %s %s\n", whose, argument, lack);
                return;
            }
            s->in_flight = cases[i].metric == METRIC_LATENCY ? 1 : window_for(s->bytes);
            measure(
                &(struct measurement){name, cases[i].metric, s->bytes, s->in_flight, milliseconds, 0, cases[i].fn, s});
            put_fence(s); /* what was injected is out of the way of the next case */
            return;
        }
    fprintf(stderr, "%s: wrong case '%s'\n", whose, argument);
    exit(2);
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static struct fi_info *find_provider(const struct arguments *a, const char *address, uint64_t caps)
{
    struct fi_info *hints = fi_allocinfo(), *found = NULL;
    if (!hints) die("fi_allocinfo", FI_ENOMEM);
    hints->caps = FI_MSG | FI_RMA | caps;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(a->provider);
    int status = fi_getinfo(API, address, NULL, FI_SOURCE, hints, &found);
    fi_freeinfo(hints);
    return status == 0 ? found : NULL;
}

static struct fid_mr *registered(struct side *s, void *memory, size_t bytes, uint64_t access, uint64_t key)
{
    struct fid_mr *region = NULL;
    must(fi_mr_reg(s->domain, memory, bytes, access, 0, key, 0, &region, NULL), "fi_mr_reg");
    return region;
}

static void open_side(struct side *s, const struct arguments *a, const char *name_space, const char *address)
{
    if (*name_space && enter_namespace(name_space) != 0) {
        perror(name_space);
        exit(1);
    }
    s->info = find_provider(a, *address ? address : "127.0.0.1", FI_ATOMIC);
    if (!s->info) s->info = find_provider(a, *address ? address : "127.0.0.1", 0);
    if (!s->info) die("no such provider", FI_ENODATA);
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr addresses = {.type = FI_AV_UNSPEC};
    must(fi_fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
    must(fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
    must(fi_av_open(s->domain, &addresses, &s->av, NULL), "fi_av_open");
    must(fi_cq_open(s->domain, &queue, &s->cq, NULL), "fi_cq_open");
    must(fi_endpoint(s->domain, s->info, &s->endpoint, NULL), "fi_endpoint");
    must(fi_ep_bind(s->endpoint, &s->av->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(s->endpoint, &s->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(s->endpoint), "fi_enable");
    s->memory = calloc(1, a->room);
    if (!s->memory) die("memory", FI_ENOMEM);
    memset(s->memory, 0, a->room); /* its pages are there before anything is timed */
    s->region = registered(s, s->memory, a->room, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 1);
    s->result_region = registered(s, &s->result, RESULT_BYTES, FI_READ | FI_WRITE, 2);
}

static void meet(struct side *s, int wire)
{
    struct introduction mine = {.name_length = NAME_MAX_BYTES, .key = fi_mr_key(s->region)};
    must(fi_getname(&s->endpoint->fid, mine.name, &mine.name_length), "fi_getname");
    mine.memory = s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)s->memory : 0;
    if (write(wire, &mine, sizeof mine) != sizeof mine || read(wire, &s->far, sizeof s->far) != sizeof s->far)
        die("the other side is gone", FI_ENOTCONN);
    if (fi_av_insert(s->av, s->far.name, 1, &s->peer, 0, NULL) != 1) die("fi_av_insert", FI_EINVAL);
}

static void close_side(struct side *s)
{
    struct fid *all[] = {&s->endpoint->fid, &s->region->fid, &s->result_region->fid, &s->cq->fid,
                         &s->av->fid,       &s->domain->fid, &s->fabric->fid};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fi_close(all[i]);
    fi_freeinfo(s->info);
    free(s->memory);
}

/* ---- the two sides ----------------------------------------------------------------------------------------------- */

static void prove(struct side *s)
{
    s->bytes = PROOF_BYTES;
    for (size_t i = 0; i < s->bytes; i++) s->memory[i] = (char)(i * 7 + 3);
    put_fence(s);
    memset(s->memory, 0, s->bytes);
    get(s);
    for (size_t i = 0; i < s->bytes; i++)
        if (s->memory[i] != (char)(i * 7 + 3)) die("data came back wrong", FI_EIO);
}

/* The origin would wait for it until its patience ends. */
static void target_was_lost(int number)
{
    static const char lost[] = ": the target was lost, by signal ";
    int status = 0;
    (void)number;
    if (waitpid(-1, &status, WNOHANG) <= 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
    if (WIFSIGNALED(status)) { /* else it has told what is wrong */
        char digits[] = {(char)('0' + WTERMSIG(status) / 10), (char)('0' + WTERMSIG(status) % 10), '\n'};
        struct iovec words[] = {
            {(void *)whose, strlen(whose)}, {(void *)lost, sizeof lost - 1}, {digits, sizeof digits}};
        if (writev(STDERR_FILENO, words, 3) < 0) _exit(2);
    }
    _exit(1);
}

static void be_target(const struct arguments *a, int wire, const uint8_t *stop)
{
    struct side s = {0};
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(MEASURE_PATIENCE_S);
    pin_all_threads(a->cores[1]); /* threads that the provider makes inherit it */
    open_side(&s, a, a->cable.to, a->cable.to_address);
    meet(&s, wire);
    while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) progress(&s);
    close_side(&s);
    exit(0);
}

static int be_origin(const struct arguments *a, int wire, uint8_t *stop, int argc, char **argv)
{
    struct side s = {0};
    int status = 0;
    alarm(MEASURE_PATIENCE_S);
    pin_all_threads(a->cores[0]);
    open_side(&s, a, a->cable.from, a->cable.from_address);
    meet(&s, wire);
    prove(&s);
    for (int i = a->first_case; i < argc; i++) run_case(&s, argv[i], a->milliseconds);
    signal(SIGCHLD, SIG_DFL);
    __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
    wait(&status);
    close_side(&s);
    return status == 0 ? 0 : 1;
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    int i = 1, good = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--provider") == 0)
            a->provider = argv[i + 1];
        else if (strcmp(argv[i], "--ms") == 0)
            a->milliseconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--cores") == 0)
            good &= sscanf(argv[i + 1], "%d,%d", &a->cores[0], &a->cores[1]) == 2;
        else
            good &= strcmp(argv[i], "--cable") == 0 && read_cable(argv[i + 1], &a->cable) == 0;
    }
    a->first_case = i;
    a->room = PROOF_BYTES;
    for (; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        size_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 0;
        a->room = bytes > a->room ? bytes : a->room;
    }
    return good && a->provider && a->milliseconds > 0 && a->first_case < argc;
}

int main(int argc, char **argv)
{
    struct arguments a = {.milliseconds = 50, .cores = {-1, -1}};
    int wires[2];
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("%u.%u\n", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
        return 0;
    }
    if (!read_arguments(argc, argv, &a)) {
        fputs(
            "usage: onesea-bench-peer-libfabric-rma --provider NAME --ms M --cores A,B [--cable ENDS] CASE:BYTES...\n",
            stderr);
        return 2;
    }
    whose = a.provider;
    uint8_t *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stop == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wires) != 0) {
        perror("onesea-bench-peer-libfabric-rma");
        return 1;
    }
    signal(SIGCHLD, target_was_lost);
    pid_t target = fork();
    if (target < 0) {
        perror("fork");
        return 1;
    }
    close(wires[target == 0 ? 0 : 1]);
    if (target == 0) be_target(&a, wires[1], stop);
    return be_origin(&a, wires[0], stop, argc, argv);
}
