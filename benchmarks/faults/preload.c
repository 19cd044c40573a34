/* A disk that is full, a folder that is read-only, a clock that jumps: loaded before libc by LD_PRELOAD.
 *
 * FAULTS_CONTROL names a file with `struct control`, which all processes of a run share: they count together, and the
 * harness can change it while they run. FAULTS_FOLDER: only files below this folder are concerned.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, OPEN = 2, CHANGE = 4 }; /* bytes; a file opened for writing; names: rename, unlink, mkdir, link */

struct control {     /* benchmarks/faults/control.py has the same fields */
    int64_t count;   /* calls so far, of the kinds in `kinds` */
    int64_t first;   /* the calls from this one on fail, counted from 0 ... */
    int64_t last;    /* ... up to this one, included */
    int64_t error;   /* errno of a failing call */
    int64_t kinds;   /* a sum of WRITE, OPEN, CHANGE */
    int64_t seconds; /* by which the clock is wrong */
};

static struct control *control;
static char folder[PATH_MAX];
static size_t folder_length;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FAULTS_CONTROL"), *place = getenv("FAULTS_FOLDER");
    if (!name || !place || strlen(place) >= PATH_MAX) return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (page == MAP_FAILED) return;
    strcpy(folder, place);
    folder_length = strlen(folder);
    control = page;
}

static int below(const char *path) {
    return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == 0);
}

static int link_of(int fd, char *target) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, target, PATH_MAX - 1);
    if (length < 0) return 0;
    target[length] = 0;
    return 1;
}

/* Whether this call is one that fails; errno is set then. */
static int strikes(int64_t kind) {
    if (!(control->kinds & kind)) return 0;
    int64_t number = __atomic_fetch_add(&control->count, 1, __ATOMIC_SEQ_CST);
    if (number < control->first || number > control->last) return 0;
    errno = (int)control->error;
    return 1;
}

static int fd_strikes(int64_t kind, int fd) {
    char target[PATH_MAX];
    int before = errno;
    int concerned = control && link_of(fd, target) && below(target);
    errno = before;
    return concerned && strikes(kind);
}

static int path_strikes(int64_t kind, int directory, const char *path) {
    char place[PATH_MAX];
    int before = errno, concerned = 0;
    if (control && path) {
        if (path[0] == '/')
            concerned = below(path);
        else if (directory == AT_FDCWD)
            concerned = syscall(SYS_getcwd, place, (size_t)PATH_MAX) > 0 && below(place);
        else
            concerned = link_of(directory, place) && below(place);
    }
    errno = before;
    return concerned && strikes(kind);
}

#define REAL(result, name, ...)                                        \
    static result (*real)(__VA_ARGS__);                                \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name);

static int writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

#define MODE(flags, last)                                      \
    mode_t mode = 0;                                           \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list more;                                          \
        va_start(more, last);                                  \
        mode = va_arg(more, mode_t);                           \
        va_end(more);                                          \
    }

#define OPENS(name)                                                          \
    int name(const char *path, int flags, ...) {                             \
        MODE(flags, flags)                                                   \
        REAL(int, #name, const char *, int, ...)                             \
        if (writes(flags) && path_strikes(OPEN, AT_FDCWD, path)) return -1;  \
        return real(path, flags, mode);                                      \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                       \
    int name(int directory, const char *path, int flags, ...) {              \
        MODE(flags, flags)                                                   \
        REAL(int, #name, int, const char *, int, ...)                        \
        if (writes(flags) && path_strikes(OPEN, directory, path)) return -1; \
        return real(directory, path, flags, mode);                           \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define CREATES(name)                                           \
    int name(const char *path, mode_t mode) {                   \
        REAL(int, #name, const char *, mode_t)                  \
        if (path_strikes(OPEN, AT_FDCWD, path)) return -1;      \
        return real(path, mode);                                \
    }
CREATES(creat)
CREATES(creat64)

#define STREAMS(name)                                                                     \
    FILE *name(const char *path, const char *mode) {                                      \
        REAL(FILE *, #name, const char *, const char *)                                   \
        if (mode && strpbrk(mode, "wa+") && path_strikes(OPEN, AT_FDCWD, path)) return NULL; \
        return real(path, mode);                                                          \
    }
STREAMS(fopen)
STREAMS(fopen64)

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, "write", int, const void *, size_t)
    if (fd_strikes(WRITE, fd)) return -1;
    return real(fd, bytes, length);
}

#define WRITES_AT(name)                                                  \
    ssize_t name(int fd, const void *bytes, size_t length, off_t offset) { \
        REAL(ssize_t, #name, int, const void *, size_t, off_t)           \
        if (fd_strikes(WRITE, fd)) return -1;                            \
        return real(fd, bytes, length, offset);                          \
    }
WRITES_AT(pwrite)
WRITES_AT(pwrite64)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int)
    if (fd_strikes(WRITE, fd)) return -1;
    return real(fd, parts, count);
}

#define WRITES_PARTS_AT(name)                                                    \
    ssize_t name(int fd, const struct iovec *parts, int count, off_t offset) {   \
        REAL(ssize_t, #name, int, const struct iovec *, int, off_t)              \
        if (fd_strikes(WRITE, fd)) return -1;                                    \
        return real(fd, parts, count, offset);                                   \
    }
WRITES_PARTS_AT(pwritev)
WRITES_PARTS_AT(pwritev64)

ssize_t sendfile(int to, int from, off_t *offset, size_t length) {
    REAL(ssize_t, "sendfile", int, int, off_t *, size_t)
    if (fd_strikes(WRITE, to)) return -1;
    return real(to, from, offset, length);
}

ssize_t sendfile64(int to, int from, off_t *offset, size_t length) {
    REAL(ssize_t, "sendfile64", int, int, off_t *, size_t)
    if (fd_strikes(WRITE, to)) return -1;
    return real(to, from, offset, length);
}

ssize_t copy_file_range(int from, off_t *offset, int to, off_t *place, size_t length, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off_t *, int, off_t *, size_t, unsigned)
    if (fd_strikes(WRITE, to)) return -1;
    return real(from, offset, to, place, length, flags);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
    REAL(int, "fallocate", int, int, off_t, off_t)
    if (fd_strikes(WRITE, fd)) return -1;
    return real(fd, mode, offset, length);
}

#define ALLOCATES(name)                                   \
    int name(int fd, off_t offset, off_t length) {        \
        REAL(int, #name, int, off_t, off_t)               \
        if (fd_strikes(WRITE, fd)) return errno;          \
        return real(fd, offset, length);                  \
    }
ALLOCATES(posix_fallocate)
ALLOCATES(posix_fallocate64)

#define RENAMES(name, kind)                                                   \
    int name(const char *old, const char *new) {                              \
        REAL(int, #name, const char *, const char *)                          \
        if (path_strikes(CHANGE, AT_FDCWD, new)) return -1;                   \
        return real(old, new);                                                \
    }
RENAMES(rename, CHANGE)
RENAMES(link, CHANGE)
RENAMES(symlink, CHANGE)

int renameat(int from, const char *old, int to, const char *new) {
    REAL(int, "renameat", int, const char *, int, const char *)
    if (path_strikes(CHANGE, to, new)) return -1;
    return real(from, old, to, new);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned)
    if (path_strikes(CHANGE, to, new)) return -1;
    return real(from, old, to, new, flags);
}

#define CHANGES(name)                                           \
    int name(const char *path) {                                \
        REAL(int, #name, const char *)                          \
        if (path_strikes(CHANGE, AT_FDCWD, path)) return -1;    \
        return real(path);                                      \
    }
CHANGES(unlink)
CHANGES(rmdir)

int unlinkat(int directory, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int)
    if (path_strikes(CHANGE, directory, path)) return -1;
    return real(directory, path, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t)
    if (path_strikes(OPEN, AT_FDCWD, path)) return -1;
    return real(path, mode);
}

int mkdirat(int directory, const char *path, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t)
    if (path_strikes(OPEN, directory, path)) return -1;
    return real(directory, path, mode);
}

static int is_wall_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *)
    int code = real(clock, now);
    if (code == 0 && control && is_wall_clock(clock)) now->tv_sec += control->seconds;
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(int, "gettimeofday", struct timeval *, void *)
    int code = real(now, zone);
    if (code == 0 && control) now->tv_sec += control->seconds;
    return code;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
