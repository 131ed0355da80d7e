/* Keeps what writes to files below CHAOS_UNDO_FOLDER replace, so that those which were not synced can be undone after
 * all processes were killed: what a power cut does to the page cache. Records go to the file CHAOS_UNDO in one append
 * each: a write before it is done, a sync after it is done and before its caller goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2 };
struct record {
    uint64_t kind, inode, offset, length, old_length, size;
};
static const char *folder;
static int undo_file = -1;

__attribute__((constructor)) static void open_undo(void) {
    const char *path = getenv("CHAOS_UNDO");
    folder = getenv("CHAOS_UNDO_FOLDER");
    /* A number that the program's own files do not get: it may close all that it knows of. */
    int opened = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    undo_file = opened < 0 ? -1 : fcntl(opened, F_DUPFD_CLOEXEC, 900);
    if (opened >= 0) close(opened);
}

static int is_ours(int file, struct stat *state) {
    char link[64], path[PATH_MAX];
    if (undo_file < 0 || !folder || fstat(file, state) || !S_ISREG(state->st_mode)) return 0;
    char *end = link + sizeof link - 1;
    *end = 0;
    int number = file;
    do { *--end = (char)('0' + number % 10); number /= 10; } while (number);
    end -= strlen("/proc/self/fd/");
    memcpy(end, "/proc/self/fd/", strlen("/proc/self/fd/"));
    ssize_t length = syscall(SYS_readlink, end, path, sizeof path - 1);
    return length > 0 && !strncmp(path, folder, strlen(folder));
}

static void append(struct record *record, void *old) {
    struct iovec parts[2] = {{record, sizeof *record}, {old, record->old_length}};
    if (syscall(SYS_writev, undo_file, parts, old ? 2 : 1) < 0) abort();
}

static void keep(int file, off_t offset, size_t length) {
    struct stat state;
    if (!is_ours(file, &state)) return;
    void *old = malloc(length ? length : 1);
    int reading = -1;
    ssize_t got = syscall(SYS_pread64, file, old, length, offset);
    if (got < 0) { /* it is open for writing only */
        char path[64] = "/proc/self/fd/";
        int place = (int)strlen(path), digits = 1;
        for (int rest = file; rest >= 10; rest /= 10) digits++;
        for (int i = digits - 1, rest = file; i >= 0; i--, rest /= 10) path[place + i] = (char)('0' + rest % 10);
        path[place + digits] = 0;
        reading = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        got = reading < 0 ? -1 : syscall(SYS_pread64, reading, old, length, offset);
        if (reading >= 0) close(reading);
    }
    if (got < 0) abort();
    struct record record = {WRITE, state.st_ino, (uint64_t)offset, length, (uint64_t)got, (uint64_t)state.st_size};
    append(&record, old);
    free(old);
}

static void forget(int file) {
    struct stat state;
    if (!is_ours(file, &state)) return;
    struct record record = {SYNC, state.st_ino, 0, 0, 0, 0};
    append(&record, NULL);
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) {
    keep(file, offset, length);
    return syscall(SYS_pwrite64, file, data, length, offset);
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    return pwrite(file, data, length, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    keep(file, offset, length);
    return syscall(SYS_pwritev, file, parts, count, (long)offset, 0L);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
    return pwritev(file, parts, count, offset);
}

ssize_t write(int file, const void *data, size_t length) {
    off_t offset = undo_file < 0 ? -1 : lseek(file, 0, SEEK_CUR);
    if (offset >= 0) keep(file, offset, length);
    return syscall(SYS_write, file, data, length);
}

int fsync(int file) {
    int status = (int)syscall(SYS_fsync, file);
    if (status == 0) forget(file);
    return status;
}

int fdatasync(int file) {
    int status = (int)syscall(SYS_fdatasync, file);
    if (status == 0) forget(file);
    return status;
}
