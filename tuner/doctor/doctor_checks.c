/* doctor_checks.c - the checks of tune doctor; see doctor_checks.h. */
#include "doctor/doctor_checks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/cuda_api.h"
#include "cuda/gpu.h"
#include "cuda/libraries.h"
#include "db/store.h"
#include "kernel/kernel.h"
#include "lookup/ranking.h"
#include "lookup/table.h"
#include "workers/gpu_client.h"
#include "workers/compile_reason.h"
#include "workers/process.h"

#define PROBE_SECONDS 20  /* a driver in a bad state may never answer */
#define ROOM_MB       500 /* disk space that a sweep may need for cubins and its database */

const char *gt_doctor_database(const struct gt_cli *cli, const char *named)
{
    return named ? named : cli->database ? cli->database : "gemmtune.db";
}

__attribute__((format(printf, 3, 4))) static void
say(struct gt_finding *finding, enum gt_doctor_verdict verdict, const char *format, ...)
{
    va_list arguments;

    finding->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void say_also(struct gt_finding *finding,
                                                           const char *format, ...)
{
    const size_t length = strlen(finding->text);
    va_list args;

    va_start(args, format);
    vsnprintf(finding->text + length, sizeof(finding->text) - length, format, args);
    va_end(args);
}

static void say_data(struct gt_finding *finding, const char *folder,
                     const struct gt_kernels *kernels, const struct gt_rankings *rankings)
{
    say(finding, GT_FOUND_OK, "%s: %zu kernels", folder, kernels->count);
    for (size_t i = 0; i < rankings->count; i++) {
        char device[96];

        gt_copy_clean(device, sizeof(device), rankings->ranking[i].device);
        say_also(finding, "%s%s", i ? ", " : "; rankings of ", *device ? device : "an arch");
    }
}

/* Checks the kernels, and the files for look-ups that are shipped with them. */
static void find_data(const struct gt_checking *checking, struct gt_finding *finding)
{
    const char *folder = checking->cli->data_dir;
    struct gt_kernels kernels = {0};
    struct gt_rankings rankings = {0};
    struct gt_table table = {0};
    struct gt_err err;
    char shipped[4096];
    int rc = gt_kernels_load(&kernels, folder, NULL, NULL, &err);

    snprintf(shipped, sizeof(shipped), "%s/db/shipped", folder);
    if (!rc && access(shipped, F_OK) == 0)
        rc = gt_table_load(&table, shipped, &err);
    if (!rc)
        rc = gt_rankings_add(&rankings, &kernels, table.ranking, table.rankings, &err);
    if (rc)
        say(finding, GT_FOUND_MISSING, "%s", err.msg);
    else if (rankings.damage)
        say(finding, GT_FOUND_OPTIONAL,
            "%s; without it look-ups of problems that nobody tuned are slower and less good",
            rankings.damage);
    else
        say_data(finding, folder, &kernels, &rankings);
    gt_rankings_release(&rankings);
    gt_table_release(&table);
    gt_kernels_release(&kernels);
}

static int driver_version(void)
{
    struct gt_driver_api driver;
    int version = 0;

    return gt_driver_api_load(&driver, NULL) || driver.DriverGetVersion(&version) ? 0 : version;
}

/* The compute capability of the first GPU or, without a GPU, one that every NVRTC knows. */
static int cc_here(void)
{
    struct gt_gpu *gpu = NULL;
    int cc = gt_gpu_open(&gpu, 0, false, NULL) ? 90 : gt_gpu_device(gpu)->cc;

    gt_gpu_close(gpu);
    return cc;
}

/* Checks whether there is an NVRTC whose code the driver here runs. */
static void find_nvrtc(const struct gt_checking *checking, struct gt_finding *finding)
{
    struct gt_nvrtc *nvrtc = NULL;
    struct gt_nvrtc_api api;
    struct gt_err err;

    (void)checking;
    if (gt_nvrtc_open(&nvrtc, &err) || gt_nvrtc_api_load(&api, &err))
        say(finding, GT_FOUND_MISSING, "%s", err.msg);
    else if (gt_known_pair(nvrtc, driver_version(), &err) || gt_known_check(nvrtc, cc_here(), &err))
        say(finding, GT_FOUND_MISSING, "%s; it is %s", err.msg, gt_library_file(api.library));
    else
        say(finding, GT_FOUND_OK, "version %d.%d, %s", gt_nvrtc_version(nvrtc) / 1000,
            gt_nvrtc_version(nvrtc) % 1000 / 10, gt_library_file(api.library));
    gt_nvrtc_close(nvrtc);
}

/* Appends the facts of GPU `i`, or why that GPU cannot be used. */
static bool add_gpu(struct gt_strbuf *text, int i)
{
    struct gt_gpu *gpu = NULL;
    struct gt_err err;
    int rc = gt_gpu_open(&gpu, i, false, &err);
    const struct gt_device *device = rc ? NULL : gt_gpu_device(gpu);

    gt_strbuf_addf(text, "%scuda:%d ", i ? "; " : "", i);
    if (device)
        gt_strbuf_addf(text, "%s (sm_%d, %lld MiB, driver for CUDA %d.%d)", device->name,
                       device->cc, (long long)(device->memory_bytes >> 20), device->driver / 1000,
                       device->driver % 1000 / 10);
    else
        gt_strbuf_addf(text, "%s", err.msg);
    gt_gpu_close(gpu);
    return !rc;
}

static void find_gpu(const struct gt_checking *checking, struct gt_finding *finding)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    bool usable = true;
    struct gt_err err;
    int count = 0;

    (void)checking;
    if (gt_gpu_count(&count, &err)) {
        gt_driver_answer(err.msg, sizeof(err.msg));
        say(finding, GT_FOUND_OPTIONAL, "%s; without a GPU --arch predicts, nothing is measured",
            err.msg);
        return;
    }
    for (int i = 0; i < count; i++)
        usable &= add_gpu(&text, i);
    say(finding, usable ? GT_FOUND_OK : GT_FOUND_MISSING, "%s", text.text ? text.text : "");
    gt_strbuf_release(&text);
}

/* Checks a library that tuning can do without: says where the library is or, if it is absent, why,
 * and what its absence costs. */
#define FIND_LIBRARY(function, api_struct, load, costs)                                  \
    static void function(const struct gt_checking *checking, struct gt_finding *finding) \
    {                                                                                    \
        struct api_struct api;                                                           \
        struct gt_err err;                                                               \
                                                                                         \
        (void)checking;                                                                  \
        if (load(&api, &err))                                                            \
            say(finding, GT_FOUND_OPTIONAL, "%s; without it " costs, err.msg);           \
        else                                                                             \
            say(finding, GT_FOUND_OK, "found, %s", gt_library_file(api.library));        \
    }
FIND_LIBRARY(find_assembler, gt_jitlink_api, gt_jitlink_api_load,
             "the GPU waits while the driver compiles PTX")
FIND_LIBRARY(find_cublas, gt_cublaslt_api, gt_cublaslt_api_load,
             "there is no baseline to compare with")
FIND_LIBRARY(find_nvml, gt_nvml_api, gt_nvml_api_load, "throttled clocks are not explained")

/* Checks the free space of the file system that holds `path` or its nearest existing parent. */
static void find_room(struct gt_finding *finding, const char *path)
{
    unsigned long long free_mb;
    struct statvfs room;
    struct stat status;
    char folder[4096];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    /* A dangling link counts as existing, because no folder can be made in its place. */
    while (lstat(folder, &status) != 0 && (slash = strrchr(folder, '/')) && slash != folder)
        *slash = '\0';
    if (lstat(folder, &status) != 0)
        snprintf(folder, sizeof(folder), ".");
    if (statvfs(folder, &room)) {
        say(finding, GT_FOUND_MISSING, "%s: %s", folder, strerror(errno));
        return;
    }
    free_mb = (unsigned long long)room.f_bavail * room.f_frsize >> 20;
    if (access(folder, W_OK) != 0)
        say(finding, GT_FOUND_MISSING, "%s: %s is not writable", path, folder);
    else if (strcmp(folder, path) != 0 && stat(folder, &status) == 0 && !S_ISDIR(status.st_mode))
        say(finding, GT_FOUND_MISSING, "%s: %s is not a folder", path, folder);
    else if (free_mb < ROOM_MB)
        say(finding, GT_FOUND_MISSING, "%s: %llu MiB free; a sweep may want %d", path, free_mb,
            ROOM_MB);
    else
        say(finding, GT_FOUND_OK, "%s: %llu MiB free", path, free_mb);
}

/* Judges a missing folder of the database: a sweep makes the default database's folder if it
 * can. */
static void judge_folder(struct gt_finding *finding, const char *path, const char *folder,
                         bool named)
{
    if (named)
        say(finding, GT_FOUND_MISSING, "%s: there is no folder %s", path, folder);
    else if (finding->verdict == GT_FOUND_OK)
        say(finding, GT_FOUND_OK, "%s: there is no folder %s yet; a sweep makes it", path, folder);
    else
        say_also(finding, "; --db or GEMMTUNE_DB may name another database");
}

static void find_database(const struct gt_checking *checking, struct gt_finding *finding)
{
    const bool named = checking->named;
    const char *path = gt_doctor_database(checking->cli, checking->named);
    const char *slash = strrchr(path, '/');
    char *own = NULL;
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    struct gt_store *store = NULL;
    struct stat status;
    struct gt_err err;

    find_room(finding, path);
    if (!named && !checking->cli->database && gt_default_database(&own, false, &err))
        say(finding, GT_FOUND_MISSING, "%s", err.msg); /* a sweep's sentence */
    else if (folder && access(folder, F_OK) != 0)
        judge_folder(finding, path, folder, named);
    else if (folder && access(folder, W_OK) != 0)
        say(finding, GT_FOUND_MISSING,
            "%s: the folder is not writable, and a sweep makes a lock file there", path);
    else if (stat(path, &status) == 0 && status.st_size &&
             gt_store_open(&store, path, GT_STORE_READ, &err))
        say(finding, GT_FOUND_BROKEN, "%s", err.msg);
    else if (gt_store_check_place(path, &err))
        say(finding, GT_FOUND_MISSING, "%s", err.msg);
    else if (store && gt_store_older(store))
        say_also(
            finding,
            "; an older program wrote it (schema %d): the next sweep brings it forward and keeps "
            "this one as %s-v%d.backup",
            gt_store_older(store), path, gt_store_older(store));
    gt_store_close(store);
    free(own);
    free(folder);
}

static void find_cache(const struct gt_checking *checking, struct gt_finding *finding)
{
    struct gt_err err;
    char *path = NULL;
    int64_t limit;
    int fd;

    (void)checking;
    if (gt_cache_limit(&limit, &err)) {
        say(finding, GT_FOUND_MISSING, "%s", err.msg);
        return;
    }
    if (gt_cache_dir(&path, &err)) {
        say(finding, GT_FOUND_OPTIONAL, "%s; without it compiled kernels are kept for one run only",
            err.msg);
        return;
    }
    find_room(finding, path);
    fd = gt_cache_folder(path, false, &err); /* opened as a sweep opens it */
    if (fd >= 0)
        close(fd);
    else if (fd != GT_ENOTFOUND && finding->verdict == GT_FOUND_OK)
        say(finding, GT_FOUND_MISSING, "%s", err.msg);
    if (finding->verdict == GT_FOUND_MISSING) {
        finding->verdict = GT_FOUND_OPTIONAL;
        say_also(finding, "; without it compiled kernels are kept for one run only; GEMMTUNE_CACHE "
                          "may name another folder");
    }
    free(path);
}

static const struct {
    const char *name;
    void (*find)(const struct gt_checking *, struct gt_finding *);
} checks[GT_DOCTOR_CHECKS] = {
    {"data folder", find_data},  {"NVRTC", find_nvrtc},     {"nvJitLink", find_assembler},
    {"GPU", find_gpu},           {"cuBLASLt", find_cublas}, {"NVML", find_nvml},
    {"database", find_database}, {"cache", find_cache},
};

const char *gt_doctor_check_name(size_t check)
{
    return checks[check].name;
}

void gt_doctor_probe(size_t check, const struct gt_checking *checking, struct gt_finding *finding)
{
    struct pollfd ready;
    bool late, found;
    char how[96];
    int fd[2], status;
    pid_t pid;

    say(finding, GT_FOUND_MISSING, "cannot be looked at: no process");
    fflush(NULL);
    if (pipe(fd))
        return;
    pid = fork();
    if (pid == 0) {
        struct gt_finding found = {0};

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a driver that hangs does not outlive the command */
        close(fd[0]);
        checks[check].find(checking, &found);
        _exit(write(fd[1], &found, sizeof(found)) != (ssize_t)sizeof(found));
    }
    close(fd[1]);
    ready = (struct pollfd){.fd = fd[0], .events = POLLIN};
    late = pid > 0 && poll(&ready, 1, PROBE_SECONDS * 1000) <= 0;
    found = !late && read(fd[0], finding, sizeof(*finding)) == (ssize_t)sizeof(*finding);
    close(fd[0]);
    if (pid <= 0)
        return;
    if (late)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    gt_process_describe(status, how, sizeof(how));
    if (late)
        say(finding, GT_FOUND_MISSING, "looking at it took more than %d s", PROBE_SECONDS);
    else if (!found)
        say(finding, GT_FOUND_MISSING, "the process that looked at it %s", how);
}
