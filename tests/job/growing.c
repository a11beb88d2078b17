/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that grows: `growing all N` starts N ranks more from rank 0, over all nodes in turn; `growing chain N` lets
 * each new rank start the next; `growing burst N` lets all ranks start N each at the same time. Then all ranks, old and
 * new, use each other's memory, messages and a team. The other forms are single situations that the tests look at.
 */
#include <dirent.h>
#include <onesea.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                                                                        \
    do {                                                                                                        \
        if (!(condition)) {                                                                                     \
            fprintf(stderr, "%s:%d: rank %s: %s (%s)\n", __FILE__, __LINE__, getenv("ONESEA_RANK"), #condition, \
                    sea_last_error());                                                                          \
            exit(9);                                                                                            \
        }                                                                                                       \
    } while (0)

enum { block = 4096, most = 256 };

static sea_counter heard;

static void *on_greeting(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    int from;
    (void)on_complete;
    (void)argument;
    if (message->header_bytes != sizeof from) return NULL;
    memcpy(&from, message->header, sizeof from);
    if (from == message->source) __atomic_fetch_add(&heard.value, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Everybody with everybody: a team, memory, atomics, copies, messages. */
static void live_together(int n)
{
    static int all[most];
    static sea_addr memory[most];
    sea_addr mine;
    sea_team team;
    int me = sea_rank(), sum = 0;
    for (int r = 0; r < n; ++r) all[r] = r;
    while (sea_size() < n) usleep(1000);
    CHECK(sea_size() == n);
    CHECK(sea_am_register(7, on_greeting, NULL) == SEA_OK);
    CHECK(sea_team_create(all, n, 1, &team) == SEA_OK);
    CHECK(sea_heap_alloc(me, (size_t)n * block + 8, &mine) == SEA_OK);
    memset(sea_local(mine), 0, (size_t)n * block + 8);
    CHECK(sea_allgather(team, &mine, memory, sizeof mine) == SEA_OK);
    for (int r = 0; r < n; ++r) {
        char sent[block], got[block];
        uint64_t word = 0;
        memset(sent, me + 1, sizeof sent);
        CHECK(sea_alive(r) == 1);
        CHECK(sea_put(memory[r] + (sea_addr)me * block, sent, sizeof sent, NULL) == SEA_OK);
        CHECK(sea_fence(r) == SEA_OK);
        CHECK(sea_get(got, memory[r] + (sea_addr)me * block, sizeof got, NULL) == SEA_OK);
        CHECK(memcmp(sent, got, sizeof got) == 0);
        CHECK(sea_fetch_add8(memory[r] + (sea_addr)n * block, 1, &word, NULL) == SEA_OK);
        CHECK(word < (uint64_t)n);
        CHECK(sea_am_send(r, 7, &me, sizeof me, NULL, 0, NULL) == SEA_OK);
    }
    CHECK(sea_fence_all() == SEA_OK);
    CHECK(sea_barrier(team) == SEA_OK);
    CHECK(*(uint64_t *)((char *)sea_local(mine) + (size_t)n * block) == (uint64_t)n);
    CHECK(sea_counter_wait(&heard, (uint64_t)n, 20) == SEA_OK);
    for (int r = 0; r < n; ++r) CHECK(((char *)sea_local(mine))[(size_t)r * block + block - 1] == r + 1);
    CHECK(sea_allreduce(team, &me, &sum, 1, SEA_INT32, SEA_SUM) == SEA_OK);
    CHECK(sum == n * (n - 1) / 2);
    CHECK(sea_heap_free(mine) == SEA_OK);
}

static int spawn(const char *program, const char *mode, const char *number, int node)
{
    const char *arguments[] = {program, mode, number, NULL}, *variables[] = {"GROWING=yes, a=b", NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank = -1;
    opts.arguments = arguments;
    opts.environment = variables;
    opts.node = node;
    CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    CHECK(sea_alive(rank) >= 0); /* a short one may have ended */
    CHECK(node < 0 || sea_node_of(rank) == node);
    return rank;
}

static void expect_new(int spawner)
{
    const char *set = getenv("GROWING");
    int answer = 0;
    CHECK(set && strcmp(set, "yes, a=b") == 0);
    CHECK(sea_spawner() == spawner);
    CHECK(atoi(getenv("ONESEA_RANK")) == sea_rank());
    CHECK(atoi(getenv("ONESEA_SIZE")) > sea_rank());
    CHECK(sea_team_rank(SEA_TEAM_WORLD) == SEA_ERR_RANK);
    CHECK(sea_barrier(SEA_TEAM_WORLD) == SEA_ERR_INVALID);
    CHECK(sea_allreduce(SEA_TEAM_WORLD, &answer, &answer, 1, SEA_INT32, SEA_SUM) == SEA_ERR_INVALID);
}

static void all(char **argv, int world)
{
    char total[16];
    int more = atoi(argv[2]);
    snprintf(total, sizeof total, "%d", world + more);
    CHECK(sea_spawner() == -1);
    CHECK(sea_barrier(SEA_TEAM_WORLD) == SEA_OK);
    for (int i = 0; sea_rank() == 0 && i < more; ++i) CHECK(spawn(argv[0], "new", total, i % sea_nodes()) == world + i);
    live_together(world + more);
    CHECK(sea_barrier(SEA_TEAM_WORLD) == SEA_OK);
}

/* The last number that is passed on is how many are still to come. */
static void chain(char **argv, int world)
{
    char left[32];
    int n = atoi(argv[2]), to_come = strchr(argv[2], '/') ? atoi(strchr(argv[2], '/') + 1) : n;
    int total = strchr(argv[2], '/') ? n : world + n;
    if (sea_spawner() >= 0) expect_new(sea_rank() == total - to_come - 1 && sea_spawner() > 0 ? sea_rank() - 1 : 0);
    snprintf(left, sizeof left, "%d/%d", total, to_come - 1);
    if (to_come > 0 && (sea_spawner() >= 0 || sea_rank() == 0)) spawn(argv[0], "chain", left, -1);
    live_together(total);
}

/* Threads of one rank ask at the same moment, some with too little time. */
static void *ask(void *program)
{
    const char *arguments[] = {program, "nothing", NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank, status;
    opts.arguments = arguments;
    CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    CHECK(sea_set_timeout(1e-6) == SEA_OK);
    status = sea_spawn(&opts, &rank);
    CHECK(status == SEA_OK || status == SEA_ERR_TIMEOUT);
    CHECK(sea_set_timeout(SEA_FOREVER) == SEA_OK);
    CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    return NULL;
}

static void threads(char **argv, int world)
{
    pthread_t all[4];
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&all[i], NULL, ask, argv[0]) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(all[i], NULL) == 0);
    CHECK(sea_size() >= world + 8 && sea_size() <= world + 12);
}

static void burst(char **argv, int world)
{
    char total[16];
    int each = atoi(argv[2]);
    snprintf(total, sizeof total, "%d", world * (1 + each));
    for (int i = 0; i < each; ++i) CHECK(spawn(argv[0], "new-of-any", total, -1) >= world);
    live_together(world * (1 + each));
}

/* A rank dies; rank 0 starts one in its place, which takes over what the dead one had to do. */
static void replace(char **argv, int world)
{
    char text[32];
    sea_addr word, all[most];
    int next;
    uint64_t before;
    sea_op deadly;
    sea_opts opts = SEA_OPTS_INIT;
    CHECK(sea_heap_alloc(sea_rank(), 8, &word) == SEA_OK);
    *(uint64_t *)sea_local(word) = 0;
    CHECK(sea_allgather(SEA_TEAM_WORLD, &word, all, sizeof word) == SEA_OK);
    if (sea_rank() == world - 1) {
        CHECK(sea_counter_wait(sea_local(word), 1, 20) == SEA_OK);
        raise(9);
    }
    if (sea_rank() != 0) { /* outside collectives from now on */
        CHECK(sea_fetch_add8(all[0], 1, &before, NULL) == SEA_OK);
        return;
    }
    CHECK(sea_counter_take(sea_local(word), (uint64_t)world - 2, 20) == SEA_OK);
    opts.op = &deadly;
    CHECK(sea_fetch_add8(all[world - 1], 1, NULL, &opts) == SEA_OK);
    CHECK((before = (uint64_t)sea_wait(deadly, 20)) == SEA_OK || (int)before == SEA_ERR_DEAD);
    while (sea_alive(world - 1) == 1) usleep(1000);
    snprintf(text, sizeof text, "%llu", (unsigned long long)word);
    next = spawn(argv[0], "set", text, sea_node_of(world - 1));
    CHECK(next == world);
    CHECK(sea_counter_wait(sea_local(word), 42, 20) == SEA_OK);
}

/* Prints the status and the text of a spawn that cannot be. */
static void refused(char **argv)
{
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    const char *arguments[] = {argv[3], NULL};
    int rank = -7, before = sea_size();
    opts.arguments = arguments;
    opts.node = atoi(argv[2]);
    if (argv[4]) opts.directory = argv[4];
    if (sea_rank() == 0) {
        int status = sea_spawn(&opts, &rank);
        CHECK(rank == -7 && sea_size() >= before);
        printf("%s: %s\n", sea_status_name(status), sea_last_error());
        fflush(stdout);
    }
    CHECK(sea_barrier(SEA_TEAM_WORLD) == SEA_OK);
}

/* What is refused has a name as long as can be, of bytes that are no text: the refusal is longer still. */
static void verbose(void)
{
    static char much[90000];
    const char *arguments[] = {much, NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank;
    memset(much, 0xff, sizeof much - 1);
    opts.arguments = arguments;
    CHECK(sea_set_timeout(20) == SEA_OK);
    CHECK(sea_spawn(&opts, &rank) == SEA_ERR_SYSTEM);
    CHECK(strstr(sea_last_error(), "program '") != NULL);
    CHECK(sea_set_timeout(SEA_FOREVER) == SEA_OK);
}

/* The agent has stopped: calls end when their time has passed, also when no more can be asked. Then all is as before.
 */
static void stalled(void)
{
    static char much[80000];
    const char *arguments[] = {"true", much, NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank;
    memset(much, 'x', sizeof much - 1);
    opts.arguments = arguments;
    CHECK(kill(getppid(), SIGSTOP) == 0);
    CHECK(sea_set_timeout(0.05) == SEA_OK);
    for (int i = 0; i < 6; ++i) CHECK(sea_spawn(&opts, &rank) == SEA_ERR_TIMEOUT);
    CHECK(kill(getppid(), SIGCONT) == 0);
    CHECK(sea_set_timeout(20) == SEA_OK);
    CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    CHECK(sea_set_timeout(SEA_FOREVER) == SEA_OK);
}

/* A number behind a name in a file of /proc. */
static int number_of(int pid, const char *file, const char *name)
{
    char path[64], line[256];
    int number = -1;
    FILE *from;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    CHECK((from = fopen(path, "r")) != NULL);
    while (fgets(line, sizeof line, from))
        if (strncmp(line, name, strlen(name)) == 0) number = atoi(line + strlen(name));
    fclose(from);
    return number;
}

static int descriptors_of(int pid)
{
    char path[64];
    int n = 0;
    DIR *all;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    CHECK((all = opendir(path)) != NULL);
    while (readdir(all)) ++n;
    closedir(all);
    return n;
}

static void spawn_some_that_end(int n)
{
    static char much[60000];
    const char *arguments[] = {"true", NULL}, *variables[] = {much, NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank;
    memset(much, 'x', sizeof much - 1);
    much[1] = '=';
    opts.arguments = arguments;
    opts.environment = variables;
    for (int i = 0; i < n; ++i) {
        CHECK(sea_spawn(&opts, &rank) == SEA_OK);
        while (sea_alive(rank) == 1) usleep(200);
    }
}

/* What agent and launcher keep of so many ranks that have ended. */
static void replaced(int n)
{
    const int agent = getppid(), who[] = {agent, number_of(agent, "status", "PPid:")};
    int files[2], kilobytes[2];
    spawn_some_that_end(16);
    for (int i = 0; i < 2; ++i) {
        files[i] = descriptors_of(who[i]);
        kilobytes[i] = number_of(who[i], "status", "RssAnon:");
    }
    spawn_some_that_end(n);
    for (int i = 0; i < 2000 && descriptors_of(who[1]) > files[1]; ++i) /* the launcher hears of the end of a rank's */
        usleep(10000);                                                  /* output later than others of its end */
    for (int i = 0; i < 2; ++i)
        printf("%d descriptors, %d KB\n", descriptors_of(who[i]) - files[i],
               number_of(who[i], "status", "RssAnon:") - kilobytes[i]);
}

/* Ranks of which each starts the next one with the same variable, and ends. The last tells what the launcher has grown.
 */
static void heirs(char **argv)
{
    static char much[60000], left[16], before[16];
    const char *arguments[] = {argv[0], "heirs", left, before, NULL}, *variables[] = {much, NULL};
    const int grown = number_of(number_of(getppid(), "status", "PPid:"), "status", "RssAnon:");
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank;
    memset(much, 'x', sizeof much - 1);
    much[1] = '=';
    if (sea_spawner() >= 0) CHECK(getenv("x") != NULL && strcmp(getenv("x"), much + 2) == 0);
    snprintf(left, sizeof left, "%d", atoi(argv[2]) - 1);
    snprintf(before, sizeof before, "%d", argv[3] ? atoi(argv[3]) : grown);
    opts.arguments = arguments;
    opts.environment = variables;
    if (atoi(argv[2]) == 0)
        printf("%d KB\n", grown - atoi(before));
    else
        CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    fflush(stdout);
    _exit(0);
}

/* Asks for a rank while the agent has stopped, which goes on when the rank has ended. */
static void last_wish(void)
{
    const pid_t agent = getppid(), me = getpid();
    int rank;
    CHECK(kill(agent, SIGSTOP) == 0);
    CHECK(sea_set_timeout(0.05) == SEA_OK);
    CHECK(sea_spawn(NULL, &rank) == SEA_ERR_TIMEOUT);
    if (fork() == 0) {
        while (getppid() == me) usleep(1000);
        kill(agent, SIGCONT);
        _exit(0);
    }
}

/* Asks for a rank when that of node 1 is dead and its agent has stopped, and ends: no rank is left. */
static void wish_at_a_silent_agent(int node)
{
    const int mine[] = {getpid(), getppid()};
    int all[2][2], rank;
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    const char *arguments[] = {"true", NULL};
    CHECK(sea_allgather(SEA_TEAM_WORLD, mine, all, sizeof mine) == SEA_OK);
    if (sea_rank() == 1) pause();
    CHECK(kill(all[1][0], SIGKILL) == 0);
    while (sea_alive(1) == 1) usleep(1000);
    CHECK(kill(all[1][1], SIGSTOP) == 0);
    opts.arguments = arguments;
    opts.node = node;
    CHECK(sea_set_timeout(0.5) == SEA_OK);
    CHECK(sea_spawn(&opts, &rank) == SEA_ERR_TIMEOUT);
    printf("asked\n");
    fflush(stdout);
    _exit(0);
}

/* Says to its agent what no library says. */
static void babble(void)
{
    int fd = -1;
    CHECK(sscanf(getenv("ONESEA_BIRTH"), "%*[^:]:%*[^:]:%*[^:]:%*[^:]:%*[^:]:%*[^:]:%*[^:]:%d", &fd) == 1);
    for (int i = 0; i < 1000; ++i) CHECK(send(fd, "junk", 4, 0) == 4);
}

/* Starts ranks and uses them until something is killed from outside, or for a while; failures are part of it. */
static void storm(char **argv)
{
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    const char *arguments[] = {argv[0], "storm", NULL};
    sea_addr there;
    int rank;
    opts.arguments = arguments;
    CHECK(sea_set_timeout(20) == SEA_OK);
    printf("up\n");
    fflush(stdout);
    for (int i = 0; i < 8; ++i) {
        int status = sea_spawn(&opts, &rank);
        CHECK(status == SEA_OK || status == SEA_ERR_MEMORY || status == SEA_ERR_DEAD || status == SEA_ERR_STATE);
        if (status != SEA_OK) rank = i % sea_size();
        status = sea_heap_alloc(rank, 4096, &there);
        if (status == SEA_OK) status = sea_put(there, argv, sizeof *argv, NULL);
        CHECK(status == SEA_OK || status == SEA_ERR_DEAD || status == SEA_ERR_LINK || status == SEA_ERR_MEMORY);
        usleep(5000);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "babble") == 0) babble(); /* the library takes the way there out of the environment */
    CHECK(sea_init(NULL) == SEA_OK);
    int world = sea_team_size(SEA_TEAM_WORLD);
    if (strcmp(mode, "all") == 0) all(argv, world);
    if (strcmp(mode, "chain") == 0) chain(argv, world);
    if (strcmp(mode, "burst") == 0) burst(argv, world);
    if (strcmp(mode, "threads") == 0) threads(argv, world);
    if (strcmp(mode, "stalled") == 0) stalled();
    if (strcmp(mode, "heirs") == 0) heirs(argv);
    if (strcmp(mode, "last_wish") == 0 && sea_spawner() < 0) last_wish();
    if (strcmp(mode, "last_wish") == 0 && sea_spawner() >= 0)
        printf("rank %d, wished by rank %d\n", sea_rank(), sea_spawner());
    if (strcmp(mode, "replaced") == 0) replaced(atoi(argv[2]));
    if (strcmp(mode, "wish_at_a_silent_agent") == 0) wish_at_a_silent_agent(atoi(argv[2]));
    if (strcmp(mode, "storm") == 0) storm(argv);
    if (strcmp(mode, "replace") == 0) replace(argv, world);
    if (strcmp(mode, "refused") == 0) refused(argv);
    if (strcmp(mode, "verbose") == 0) verbose();
    if (strcmp(mode, "new") == 0) {
        expect_new(0);
        live_together(atoi(argv[2]));
    }
    if (strcmp(mode, "new-of-any") == 0) live_together(atoi(argv[2]));
    if (strcmp(mode, "set") == 0) {
        uint64_t value = 42;
        sea_addr word = strtoull(argv[2], NULL, 10);
        expect_new(0);
        CHECK(sea_put_signal(word, NULL, 0, word, value, SEA_SIGNAL_SET, NULL) == SEA_OK);
        CHECK(sea_fence_all() == SEA_OK);
    }
    if (strcmp(mode, "one") == 0 && sea_rank() == 0) { /* a rank that runs something else */
        printf("rank %d\n", spawn(argv[2], argv[3], argv[4], -1));
        fflush(stdout);
    }
    if (strcmp(mode, "in") == 0 && sea_rank() == 0) { /* the same in a directory */
        sea_spawn_opts opts = SEA_SPAWN_INIT;
        int rank = -1;
        opts.arguments = (const char *const *)argv + 3;
        if (strcmp(argv[2], "-") != 0) opts.directory = argv[2];
        CHECK(sea_spawn(&opts, &rank) == SEA_OK);
    }
    if (strcmp(mode, "behind_a_stop") == 0) { /* spawns when rank 1 has stopped its agent, which others wait for */
        sea_spawn_opts opts = SEA_SPAWN_INIT;
        const char *arguments[] = {"true", NULL};
        int rank = -1;
        if (sea_rank() == 1) CHECK(kill(getppid(), SIGSTOP) == 0);
        opts.arguments = arguments;
        opts.node = 0;
        if (sea_rank() == 0) {
            usleep(500000);
            sea_spawn(&opts, &rank);
        }
        pause();
    }
    if (strcmp(mode, "fill") == 0) { /* until there is no room */
        sea_spawn_opts opts = SEA_SPAWN_INIT;
        const char *arguments[] = {"true", NULL};
        int rank, n = 0, status;
        opts.arguments = arguments;
        while ((status = sea_spawn(&opts, &rank)) == SEA_OK) ++n;
        printf("%d ranks, then %s: %s\n", n, sea_status_name(status), sea_last_error());
    }
    if (strcmp(mode, "again") == 0 && sea_spawner() < 0 && sea_rank() == 0) { /* the same program and arguments */
        int rank = -1;
        CHECK(sea_spawn(NULL, &rank) == SEA_OK);
        printf("rank %d\n", rank);
    }
    if (strcmp(mode, "again") == 0 && sea_spawner() >= 0) printf("again, by %d\n", sea_spawner());
    CHECK(sea_finalize() == SEA_OK);
    return 0;
}
