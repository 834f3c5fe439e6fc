/*
 * Runs a program in a fresh network namespace, with addresses on its loopback device:
 *
 *     netns ADDRESS... [-- PROGRAM ARGUMENT...]
 *
 * Without a program it only tries. As root a network namespace is enough; else a user namespace comes with it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* As in <linux/ipv6.h>, which cannot be included beside <netinet/in.h>. */
struct ipv6_request {
    struct in6_addr address;
    uint32_t prefix;
    int device;
};

static void fail(const char *what)
{
    fprintf(stderr, "netns: %s: %s\n", what, strerror(errno));
    exit(125);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        fail(path);
    close(fd);
}

/* Users and groups stay what they are: files keep their owners, and the program gains nothing. */
static void keep_ids(uid_t user, gid_t group)
{
    char map[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", map);
}

static void enter(void)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWNET) == 0)
        return;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        fail("no network namespace is to be had");
    keep_ids(user, group);
}

static int open_socket(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket");
    return fd;
}

static void start_loopback(int fd)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        fail("the loopback device does not start");
}

static void add_ipv4(int fd, const struct in_addr *address, int number, const char *text)
{
    struct ifreq request = {0};
    struct sockaddr_in *field = (struct sockaddr_in *)&request.ifr_addr;
    snprintf(request.ifr_name, sizeof request.ifr_name, "lo:%d", number);
    field->sin_family = AF_INET;
    field->sin_addr = *address;
    if (ioctl(fd, SIOCSIFADDR, &request) != 0)
        fail(text);
    field->sin_addr.s_addr = INADDR_NONE;
    if (ioctl(fd, SIOCSIFNETMASK, &request) != 0)
        fail(text);
}

/* The kernel first looks whether an IPv6 address is taken; until then nobody may listen on it. */
static void await_ipv6(const struct in6_addr *address, int fd, const char *text)
{
    struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_addr = *address};
    for (int left = 5000; bind(fd, (struct sockaddr *)&own, sizeof own) != 0; left--) {
        if (errno != EADDRNOTAVAIL || left == 0)
            fail(text);
        usleep(1000);
    }
}

static void add_ipv6(const struct in6_addr *address, const char *text)
{
    int fd = open_socket(AF_INET6);
    struct ipv6_request request = {.address = *address, .prefix = 128, .device = (int)if_nametoindex("lo")};
    if (ioctl(fd, SIOCSIFADDR, &request) != 0)
        fail(text);
    await_ipv6(address, fd, text);
    close(fd);
}

int main(int count, char **arguments)
{
    enter();
    int fd = open_socket(AF_INET), next = 1;
    start_loopback(fd);
    for (; next < count && strcmp(arguments[next], "--") != 0; next++) {
        struct in_addr ipv4;
        struct in6_addr ipv6;
        const char *text = arguments[next];
        if (inet_pton(AF_INET, text, &ipv4) == 1)
            add_ipv4(fd, &ipv4, next, text);
        else if (inet_pton(AF_INET6, text, &ipv6) == 1)
            add_ipv6(&ipv6, text);
        else {
            errno = EINVAL;
            fail(text);
        }
    }
    close(fd);
    if (next + 1 >= count)
        return 0;
    execvp(arguments[next + 1], arguments + next + 1);
    fail(arguments[next + 1]);
}
