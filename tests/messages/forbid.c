/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid [--writes] PROGRAM ARGUMENTS...: runs it where process_vm_readv and process_vm_writev give EPERM, as in a
 * container with a strict seccomp profile or where yama forbids it. --writes: only process_vm_writev does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int forbid(int reads)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reads ? SYS_process_vm_readv : SYS_process_vm_writev, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog all = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

/* Does the kernel let this process copy within itself? */
static int may_copy(int write)
{
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    return (write ? process_vm_writev : process_vm_readv)(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EPERM;
}

int main(int argc, char **argv)
{
    const int only_writes = argc > 1 && strcmp(argv[1], "--writes") == 0;
    char **program = argv + 1 + only_writes;
    if (!*program) {
        fputs("usage: forbid [--writes] PROGRAM ARGUMENTS...\n", stderr);
        return 2;
    }
    if (forbid(!only_writes) != 0) {
        perror("forbid: seccomp");
        return 1;
    }
    if (may_copy(1) || may_copy(0) != only_writes) {
        fputs("forbid: not what was to be forbidden is\n", stderr);
        return 1;
    }
    execv(*program, program);
    perror(*program);
    return 1;
}
