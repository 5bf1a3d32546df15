/* processors.c - counts the processors this process may use, for the size of the compile pool. */
#include "workers/processors.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
