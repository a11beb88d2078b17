/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-enter HOST COMMAND...: what launchers call instead of ssh when the hosts are network namespaces
 * of this machine: gives the words, joined by blanks, to a shell in the namespace HOST, to which HOST is also the name
 * of its machine: libraries tell by it who is near.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t room = 1;
    for (int i = 2; i < argc; i++) room += strlen(argv[i]) + 1;
    char *text = calloc(room, 1);
    if (argc < 3 || !text) {
        fputs("usage: onesea-bench-worker-enter HOST COMMAND...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) strcat(strcat(text, i > 2 ? " " : ""), argv[i]);
    if (unshare(CLONE_NEWUTS) || sethostname(argv[1], strlen(argv[1]))) {
        perror("onesea-bench-worker-enter: the name of the host");
        return 127;
    }
    execlp("ip", "ip", "netns", "exec", argv[1], "sh", "-c", text, (char *)NULL);
    perror("onesea-bench-worker-enter: ip");
    return 127;
}
