/*
 * Preloaded into Wine: hides /proc/net/ipv6_route.
 *
 * A new network namespace lists unreachable IPv6 routes there even with IPv6 switched off. Wine hands them on, and
 * Go's GetAdaptersAddresses then fails with "Invalid data", so that no kubelet starts. Nothing can be mounted over the
 * file for all processes, since /proc/net is another folder for each of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef FILE *opener(const char *path, const char *mode);

static FILE *open_with(const char *name, const char *path, const char *mode)
{
    opener *real = (opener *)dlsym(RTLD_NEXT, name);

    if (strcmp(path, "/proc/net/ipv6_route") == 0)
        path = "/dev/null";
    return real(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return open_with("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return open_with("fopen64", path, mode);
}
