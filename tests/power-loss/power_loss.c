/*
 * Simulates power loss for the files below one directory: what no fsync has kept is lost.
 *
 * Preloaded, it copies a file below AIRLOCK_POWER_LOSS_DIR to AIRLOCK_POWER_LOSS_SHADOW/files at each fsync
 * and fdatasync: the shadow is the disk, and the true one is not waited for. A file that is gone leaves the
 * shadow when its directory is synced. Each sync adds a byte to AIRLOCK_POWER_LOSS_SHADOW/syncs.
 *
 * AIRLOCK_POWER_LOSS_KILL_AT=n kills the process right after its n-th sync, AIRLOCK_POWER_LOSS_KILL_BEFORE=n
 * right before it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *directory;
static const char *shadow;
static long kill_at;
static long kill_before;
static atomic_long syncs;

/* Once, before main: a program may change its environment while it runs. */
__attribute__((constructor)) static void read_environment(void)
{
    const char *at = getenv("AIRLOCK_POWER_LOSS_KILL_AT");
    const char *before = getenv("AIRLOCK_POWER_LOSS_KILL_BEFORE");
    const char *from = getenv("AIRLOCK_POWER_LOSS_DIR");
    const char *to = getenv("AIRLOCK_POWER_LOSS_SHADOW");
    kill_at = at ? atol(at) : 0;
    kill_before = before ? atol(before) : 0;
    if (from && to) {
        directory = strdup(from);
        shadow = strdup(to);
    }
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static int join(char *path, const char *first, const char *second, const char *third)
{
    int length = snprintf(path, PATH_MAX, "%s%s%s", first, second, third);
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

/* The path of an open file below the directory, "" or beginning with a slash; 0 where it lies elsewhere. */
static int find_below(int fd, char *below)
{
    char link[64], path[PATH_MAX], root[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || !realpath(directory, root))
        return 0;
    path[length] = '\0';
    size_t own = strlen(root);
    if (strncmp(path, root, own) != 0 || (path[own] != '/' && path[own] != '\0'))
        return 0;
    strcpy(below, path + own);
    return 1;
}

/* Makes the folders that lead to a path below a base that exists. */
static int make_parents(char *path, size_t base)
{
    for (char *slash = strchr(path + base, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = *path ? mkdir(path, 0700) : 0;
        *slash = '/';
        if (made != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int copy_by_hand(int from, int to, off_t offset)
{
    char buffer[1 << 16];
    for (;;) {
        ssize_t length = pread(from, buffer, sizeof buffer, offset);
        if (length <= 0)
            return (int)length;
        for (ssize_t done = 0; done < length;) {
            ssize_t wrote = pwrite(to, buffer + done, (size_t)(length - done), offset + done);
            if (wrote < 0)
                return -1;
            done += wrote;
        }
        offset += length;
    }
}

static int copy(int from, int to)
{
    off_t offset = 0;
    for (;;) {
        ssize_t length = copy_file_range(from, &offset, to, NULL, 1 << 30, 0);
        if (length == 0)
            return 0;
        if (length < 0) {
            int elsewhere = errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
            return elsewhere ? copy_by_hand(from, to, offset) : -1;
        }
    }
}

/* Copies aside, then renames, so that the shadow never holds half a copy. The lock allows one copy at a time. */
static int keep_file(int fd, const char *below, mode_t mode)
{
    char aside[PATH_MAX], kept[PATH_MAX];
    if (join(aside, shadow, "/copying", "") || join(kept, shadow, "/files", below))
        return -1;
    if (make_parents(kept, strlen(shadow) + 1) != 0)
        return -1;
    int to = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return -1;
    /*
     * The file is read through the descriptor that is synced: closing a second one would drop the locks that
     * SQLite holds on it. A descriptor that only writes cannot be SQLite's.
     */
    int only_writes = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY, from = fd;
    if (only_writes) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        from = open(link, O_RDONLY | O_CLOEXEC);
    }
    int result = from < 0 ? -1 : copy(from, to);
    if (only_writes && from >= 0)
        close(from);
    if (result == 0)
        result = fchmod(to, mode & 07777);
    close(to);
    return result == 0 ? rename(aside, kept) : -1;
}

/* A synced directory holds the names that it holds now: files that are gone leave the shadow. */
static int forget_removed(const char *below)
{
    char kept[PATH_MAX], file[PATH_MAX], original[PATH_MAX];
    if (join(kept, shadow, "/files", below))
        return -1;
    DIR *names = opendir(kept);
    if (!names)
        return errno == ENOENT ? 0 : -1;
    int result = 0;
    struct dirent *entry;
    struct stat found;
    while (result == 0 && (entry = readdir(names))) {
        if (entry->d_type != DT_REG)
            continue;
        result = join(file, kept, "/", entry->d_name);
        if (result == 0)
            result = join(original, directory, below, "/");
        if (result == 0 && strlen(original) + strlen(entry->d_name) < PATH_MAX) {
            strcat(original, entry->d_name);
            if (lstat(original, &found) != 0 && errno == ENOENT)
                result = unlink(file);
        }
    }
    closedir(names);
    return result;
}

static int count_sync(void)
{
    char path[PATH_MAX];
    if (join(path, shadow, "/syncs", ""))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    ssize_t wrote = write(fd, ".", 1);
    close(fd);
    return wrote == 1 ? 0 : -1;
}

/* One at a time over all threads and processes: an older copy must not replace a newer one. */
static int keep(int fd, const char *below, const struct stat *file)
{
    char path[PATH_MAX];
    if (join(path, shadow, "/lock", ""))
        return -1;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0)
        return -1;
    int result;
    do
        result = flock(lock, LOCK_EX);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        result = S_ISDIR(file->st_mode) ? forget_removed(below) : keep_file(fd, below, file->st_mode);
    if (result == 0)
        result = count_sync();
    int reason = errno;
    close(lock);
    errno = reason;
    return result;
}

static int sync_and_keep(int fd, long call)
{
    char below[PATH_MAX];
    struct stat file;
    int ours = directory && fstat(fd, &file) == 0 && file.st_nlink > 0 && find_below(fd, below);
    if (!ours)
        return (int)syscall(call, fd);
    long number = atomic_fetch_add(&syncs, 1) + 1;
    if (number == kill_before)
        die();
    if (keep(fd, below, &file) != 0) {
        dprintf(STDERR_FILENO, "power_loss: %s cannot be kept: %s\n", below, strerror(errno));
        errno = EIO;
        return -1;
    }
    if (number == kill_at)
        die();
    return 0;
}

int fsync(int fd)
{
    return sync_and_keep(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_and_keep(fd, SYS_fdatasync);
}
