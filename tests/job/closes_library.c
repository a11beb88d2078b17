/* SPDX-License-Identifier: Apache-2.0 */
/* As the host of a plugin that is linked with the library: opens it, lets it begin, and closes it in the middle. */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

typedef int (*call_fn)(const void *);

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    call_fn start = library ? (call_fn)dlsym(library, "sea_init") : NULL;
    int (*end)(void) = library ? (int (*)(void))dlsym(library, "sea_finalize") : NULL;
    const struct timespec while_it_works = {0, 50000000};
    if (!start || !end || start(NULL) != 0) return fprintf(stderr, "%s\n", dlerror()), 1;
    dlclose(library);
    nanosleep(&while_it_works, NULL);
    if (end() != 0) return fprintf(stderr, "sea_finalize() failed\n"), 1;
    return puts("passed") < 0;
}
