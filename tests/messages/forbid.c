/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid PROGRAM ARGUMENTS...: runs it where process_vm_readv and process_vm_writev give EPERM, as in a container with
 * a strict seccomp profile or where yama forbids it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int forbid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog all = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: forbid PROGRAM ARGUMENTS...\n", stderr);
        return 2;
    }
    if (forbid() != 0) {
        perror("forbid: seccomp");
        return 1;
    }
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) >= 0 || errno != EPERM) {
        fputs("forbid: process_vm_readv is still allowed\n", stderr);
        return 1;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
