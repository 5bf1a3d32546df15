/* processors.c - counts the processors this process may use, for the size of the compile pool. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "workers/processors.h"

/* Reads the first two numbers of a file, or only one.  False: the file does not begin with a
 * number.
 */
static bool read_numbers(const char *folder, const char *name, double *first, double *second)
{
    char path[PATH_MAX];
    FILE *file;
    int got;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    got = fscanf(file, "%lf %lf", first, second);
    fclose(file);
    return got >= 1;
}

/* The quota of one group in processors; 0: no limit. */
static double quota_of(const char *folder)
{
    double quota = 0, period = 0, unused;

    if (!read_numbers(folder, "cpu.max", &quota, &period)) {
        if (!read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) ||
            !read_numbers(folder, "cpu.cfs_period_us", &period, &unused))
            return 0;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least quota from the group root/path up to the root. */
static double least_quota(const char *root, const char *path)
{
    char folder[PATH_MAX];
    size_t shortest = strlen(root);
    double least = 0;

    if (snprintf(folder, sizeof(folder), "%s%s", root, path) >= (int)sizeof(folder))
        return 0;
    for (;;) {
        double quota = quota_of(folder);
        char *slash = strrchr(folder + shortest, '/');

        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Whether a list such as "cpu,cpuacct" names the controller `cpu`. */
static bool names_cpu(const char *controllers)
{
    while (*controllers) {
        size_t length = strcspn(controllers, ",");

        if (length == 3 && !strncmp(controllers, "cpu", 3))
            return true;
        controllers += length + (controllers[length] == ',');
    }
    return false;
}

double gt_processors_quota(const char *groups, const char *root)
{
    FILE *file = fopen(groups, "re");
    char line[PATH_MAX], below[2 * PATH_MAX];
    double least = 0;

    while (file && fgets(line, sizeof(line), file)) { /* "0::/path" or "4:cpu,cpuacct:/path" */
        char *controllers = strchr(line, ':'), *path = NULL;
        double quota;

        line[strcspn(line, "\n")] = '\0';
        if (controllers)
            path = strchr(++controllers, ':');
        if (!path)
            continue;
        *path++ = '\0';
        if (*controllers && !names_cpu(controllers))
            continue;
        snprintf(below, sizeof(below), "%s%s%s", root, *controllers ? "/" : "", controllers);
        quota = least_quota(below, path);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
    }
    if (file)
        fclose(file);
    return least;
}

int gt_processors(void)
{
    double quota = gt_processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        count = CPU_COUNT(&allowed);
    if (quota > 0 && ceil(quota) < (double)count)
        count = (long)ceil(quota);
    return count > 0 ? (int)count : 1;
}

/* How many compilers work at once in all processes of one tuner; see processors.h. */

int gt_tokens_open(struct gt_tokens *tokens, int count, struct gt_err *err)
{
    *tokens = (struct gt_tokens){.fd = memfd_create("gemmtune-compilers", MFD_CLOEXEC)};
    if (tokens->fd < 0)
        return gt_err_set(err, GT_EIO, "cannot make the compilers' tokens: %s", strerror(errno));
    tokens->count = count < 1 ? 1 : count > GT_TOKENS_MAX ? GT_TOKENS_MAX : count;
    return GT_OK;
}

void gt_tokens_close(struct gt_tokens *tokens)
{
    if (tokens->count)
        close(tokens->fd);
    *tokens = (struct gt_tokens){0};
}

static bool lock_byte(int fd, int byte, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    return fcntl(fd, F_SETLK, &lock) == 0;
}

bool gt_tokens_take(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int *token)
{
    for (int i = 0; tokens && i < tokens->count; i++) {
        if (held[i] || !lock_byte(tokens->fd, i, F_WRLCK))
            continue;
        held[i] = true;
        *token = i;
        return true;
    }
    return !tokens;
}

void gt_tokens_give(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int token)
{
    if (!tokens)
        return;
    held[token] = false;
    lock_byte(tokens->fd, token, F_UNLCK);
}
