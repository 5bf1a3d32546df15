/* cmd_doctor.c - tune doctor: one line for each thing that tuning needs, whether it is there and
 * what to do if not. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "db/store.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/cuda_api.h"
#include "base/err.h"
#include "cuda/gpu.h"
#include "cuda/libraries.h"
#include "kernel/kernel.h"
#include "measure/cmd_calibrate.h"
#include "console/cmd_json.h"
#include "commands/cmd_learn.h"
#include "commands/cmd_predictor.h"
#include "commands/cmd_serve.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "console/options.h"

#define PROBE_SECONDS 20  /* a sick driver may never answer */
#define ROOM_MB       500 /* of disk a sweep may want for cubins and its database */

enum verdict { OK, OPTIONAL, MISSING, BROKEN };

struct finding {
    enum verdict verdict;
    char text[600];
};

struct options {
    const char *db, *device, *csv, *learn, *onto;
    struct gt_texts recording, from;
    bool calibrate, predictor, leave_out, program;
};

static const struct gt_option option_table[] = {
    {"db", 0, GT_OPTION_TEXT, offsetof(struct options, db), "FILE",
     "database that is looked at, with its place (default: as of a sweep)", NULL, 0, 0},
    {"calibrate", 0, GT_OPTION_FLAG, offsetof(struct options, calibrate), NULL,
     "measure what the GPU reaches and keep it in the database, for the predictor", NULL, 0, 0},
    {"device", 0, GT_OPTION_TEXT, offsetof(struct options, device), "DEVICE",
     "the GPU to calibrate (default: cuda, the first one)", NULL, 0, 0},
    {"predictor", 0, GT_OPTION_FLAG, offsetof(struct options, predictor), NULL,
     "how well the model predicts what the database holds", NULL, 0, 0},
    {"recording", 0, GT_OPTION_TEXTS, offsetof(struct options, recording), "FILE",
     "with --predictor: a recorded space instead of the database; may be repeated", NULL, 0, 0},
    {"csv", 0, GT_OPTION_TEXT, offsetof(struct options, csv), "FILE",
     "with --predictor: write the table there too", NULL, 0, 0},
    {"leave-out", 0, GT_OPTION_FLAG, offsetof(struct options, leave_out), NULL,
     "with --predictor: what choosing loses on problems left out", NULL, 0, 0},
    {"learn", 0, GT_OPTION_TEXT, offsetof(struct options, learn), "FILE",
     "with --predictor: the same, and write what was learned of all trials: a ranking for look-ups",
     NULL, 0, 0},
    {"onto", 0, GT_OPTION_TEXT, offsetof(struct options, onto), "FILE",
     "with --leave-out or --learn: improve this ranking, whose own trials may be gone", NULL, 0, 0},
    {"from", 0, GT_OPTION_TEXTS, offsetof(struct options, from), "FILE",
     "with --leave-out or --learn: a database, or a table (.csv), beside or instead of --db; may "
     "be "
     "repeated",
     NULL, 0, 0},
    {"program", 0, GT_OPTION_FLAG, offsetof(struct options, program), NULL,
     "run a program and say which of its products tune serve would serve", NULL, 0, 0},
    GT_OPTIONS_END,
};

/* The one that is looked at; its name even where it could not be used. */
static const char *database_of(const struct gt_cli *cli, const struct options *options)
{
    return options->db ? options->db : cli->database ? cli->database : "gemmtune.db";
}

static void find_data(const struct gt_cli *cli, const struct options *options,
                      struct finding *finding)
{
    struct gt_kernels kernels = {0};
    struct gt_err err;

    (void)options;
    finding->verdict = gt_kernels_load(&kernels, cli->data_dir, NULL, NULL, &err) ? MISSING : OK;
    if (finding->verdict == OK)
        snprintf(finding->text, sizeof(finding->text), "%s: %zu kernels", cli->data_dir,
                 kernels.count);
    else
        snprintf(finding->text, sizeof(finding->text), "%s", err.msg);
    gt_kernels_release(&kernels);
}

/* "found, FILE", or why not and what that costs. */
static void tell_library(struct finding *finding, void *library, const struct gt_err *err,
                         const char *costs)
{
    if (finding->verdict == OK)
        snprintf(finding->text, sizeof(finding->text), "found, %s", gt_library_file(library));
    else
        snprintf(finding->text, sizeof(finding->text), "%s; without it %s", err->msg, costs);
}

static void find_nvrtc(const struct gt_cli *cli, const struct options *options,
                       struct finding *finding)
{
    struct gt_nvrtc *nvrtc = NULL;
    struct gt_nvrtc_api api;
    struct gt_err err;

    (void)cli;
    (void)options;
    finding->verdict = gt_nvrtc_open(&nvrtc, &err) || gt_nvrtc_api_load(&api, &err) ? MISSING : OK;
    if (finding->verdict == OK)
        snprintf(finding->text, sizeof(finding->text), "version %d.%d, %s",
                 gt_nvrtc_version(nvrtc) / 1000, gt_nvrtc_version(nvrtc) % 1000 / 10,
                 gt_library_file(api.library));
    else
        snprintf(finding->text, sizeof(finding->text), "%s", err.msg);
    gt_nvrtc_close(nvrtc);
}

static void find_gpu(const struct gt_cli *cli, const struct options *options,
                     struct finding *finding)
{
    size_t used = 0;
    struct gt_err err;
    int count = 0;

    (void)cli;
    (void)options;
    if (gt_gpu_count(&count, &err)) {
        finding->verdict = OPTIONAL;
        snprintf(finding->text, sizeof(finding->text),
                 "%s; without a GPU --arch predicts, nothing is measured", err.msg);
        return;
    }
    finding->verdict = OK;
    for (int i = 0; i < count && used < sizeof(finding->text); i++) {
        struct gt_gpu *gpu = NULL;
        int rc = gt_gpu_open(&gpu, i, false, &err);
        const struct gt_device *device = rc ? NULL : gt_gpu_device(gpu);

        if (rc)
            finding->verdict = MISSING;
        used += (size_t)snprintf(finding->text + used, sizeof(finding->text) - used, "%scuda:%d ",
                                 i ? "; " : "", i);
        if (used < sizeof(finding->text))
            used +=
                rc ? (size_t)snprintf(finding->text + used, sizeof(finding->text) - used, "%s",
                                      err.msg)
                   : (size_t)snprintf(finding->text + used, sizeof(finding->text) - used,
                                      "%s (sm_%d, %lld MiB, driver for CUDA %d.%d)", device->name,
                                      device->cc, (long long)(device->memory_bytes >> 20),
                                      device->driver / 1000, device->driver % 1000 / 10);
        gt_gpu_close(gpu);
    }
}

static void find_assembler(const struct gt_cli *cli, const struct options *options,
                           struct finding *finding)
{
    struct gt_jitlink_api api;
    struct gt_err err;

    (void)cli;
    (void)options;
    finding->verdict = gt_jitlink_api_load(&api, &err) ? OPTIONAL : OK;
    tell_library(finding, api.library, &err, "the GPU waits while the driver compiles PTX");
}

static void find_cublas(const struct gt_cli *cli, const struct options *options,
                        struct finding *finding)
{
    struct gt_cublaslt_api api;
    struct gt_err err;

    (void)cli;
    (void)options;
    finding->verdict = gt_cublaslt_api_load(&api, &err) ? OPTIONAL : OK;
    tell_library(finding, api.library, &err, "there is no baseline to compare with");
}

static void find_nvml(const struct gt_cli *cli, const struct options *options,
                      struct finding *finding)
{
    struct gt_nvml_api api;
    struct gt_err err;

    (void)cli;
    (void)options;
    finding->verdict = gt_nvml_api_load(&api, &err) ? OPTIONAL : OK;
    tell_library(finding, api.library, &err, "throttled clocks are not explained");
}

/* Room of the file system that `path` (or its nearest existing parent) is on. */
static void find_room(struct finding *finding, const char *path)
{
    unsigned long long free_mb;
    struct statvfs room;
    char folder[4096];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    while (access(folder, F_OK) != 0 && (slash = strrchr(folder, '/')) && slash != folder)
        *slash = '\0';
    if (access(folder, F_OK) != 0)
        snprintf(folder, sizeof(folder), ".");
    finding->verdict = MISSING;
    if (statvfs(folder, &room)) {
        snprintf(finding->text, sizeof(finding->text), "%s: %s", folder, strerror(errno));
    } else if (access(folder, W_OK) != 0) {
        snprintf(finding->text, sizeof(finding->text), "%s: %s is not writable", path, folder);
    } else {
        free_mb = (unsigned long long)room.f_bavail * room.f_frsize >> 20;
        finding->verdict = free_mb < ROOM_MB ? MISSING : OK;
        snprintf(finding->text, sizeof(finding->text),
                 free_mb < ROOM_MB ? "%s: %llu MiB free; a sweep may want %d" : "%s: %llu MiB free",
                 path, free_mb, ROOM_MB);
    }
}

static void find_database(const struct gt_cli *cli, const struct options *options,
                          struct finding *finding)
{
    const char *path = database_of(cli, options);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    struct gt_store *store = NULL;
    struct stat status;
    struct gt_err err;

    find_room(finding, path);
    if (folder && access(folder, F_OK) != 0) {
        finding->verdict = options->db ? MISSING : OK;
        snprintf(finding->text, sizeof(finding->text), "%s: there is no folder %s%s", path, folder,
                 options->db ? "" : " yet; a sweep makes it");
    } else if (folder && access(folder, W_OK) != 0) {
        finding->verdict = MISSING;
        snprintf(finding->text, sizeof(finding->text),
                 "%s: the folder is not writable, and a sweep makes a lock file there", path);
    } else if (stat(path, &status) == 0 && status.st_size &&
               gt_store_open(&store, path, GT_STORE_READ, &err)) {
        finding->verdict = BROKEN;
        snprintf(finding->text, sizeof(finding->text), "%s", err.msg);
    } else if (gt_store_check_place(path, &err)) {
        finding->verdict = MISSING;
        snprintf(finding->text, sizeof(finding->text), "%s", err.msg);
    }
    gt_store_close(store);
    free(folder);
}

static void find_cache(const struct gt_cli *cli, const struct options *options,
                       struct finding *finding)
{
    struct gt_err err;
    char *path = NULL;

    (void)cli;
    (void)options;
    if (gt_cache_dir(&path, &err)) {
        finding->verdict = MISSING;
        snprintf(finding->text, sizeof(finding->text), "%s", err.msg);
        return;
    }
    find_room(finding, path);
    free(path);
}

static const struct {
    const char *name;
    void (*find)(const struct gt_cli *, const struct options *, struct finding *);
} checks[] = {
    {"data folder", find_data},  {"NVRTC", find_nvrtc},     {"nvJitLink", find_assembler},
    {"GPU", find_gpu},           {"cuBLASLt", find_cublas}, {"NVML", find_nvml},
    {"database", find_database}, {"cache", find_cache},
};

/* Runs one check in a process of its own: a library that crashes or hangs is a finding too, and
 * whatever a check leaves open ends with it. */
static void probe(size_t check, const struct gt_cli *cli, const struct options *options,
                  struct finding *finding)
{
    struct pollfd ready;
    int fd[2];
    pid_t pid;

    *finding = (struct finding){.verdict = MISSING, .text = "cannot be looked at: no process"};
    fflush(NULL);
    if (pipe(fd))
        return;
    pid = fork();
    if (pid == 0) {
        struct finding found = {0};

        close(fd[0]);
        checks[check].find(cli, options, &found);
        _exit(write(fd[1], &found, sizeof(found)) != (ssize_t)sizeof(found));
    }
    close(fd[1]);
    ready = (struct pollfd){.fd = fd[0], .events = POLLIN};
    if (pid > 0 && (poll(&ready, 1, PROBE_SECONDS * 1000) <= 0 ||
                    read(fd[0], finding, sizeof(*finding)) != (ssize_t)sizeof(*finding))) {
        finding->verdict = MISSING;
        snprintf(finding->text, sizeof(finding->text),
                 "looking at it crashed or took more than %d s", PROBE_SECONDS);
    }
    close(fd[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* Of the database, unless recordings are named and it is not. */
static int report_predictor(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const struct gt_predictor_options wanted = {
        .db = options->db || !options->recording.count ? database_of(cli, options) : NULL,
        .recording = options->recording,
        .csv = options->csv,
    };
    const struct gt_learn_options learn = {
        .db = options->db || !options->from.count ? database_of(cli, options) : NULL,
        .from = &options->from,
        .onto = options->onto,
        .output = options->learn,
    };

    return options->learn || options->leave_out ? gt_cmd_learn(cli, &learn, err)
                                                : gt_cmd_predictor(cli, &wanted, err);
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    static const char *const words[] = {"ok", "optional", "MISSING", "BROKEN"};
    const struct options *options = fields;
    cJSON *json = cli->json ? cJSON_CreateArray() : NULL;
    bool missing = false, broken = false;
    const char *path;

    if (!options->program && argc)
        return gt_err_set(err, GT_ESYNTAX,
                          "unexpected argument \"%s\"; only --program runs a command", argv[0]);
    if (options->program && !argc)
        return gt_err_set(err, GT_ESYNTAX,
                          "--program needs a command: tune doctor --program -- COMMAND");
    if (options->program)
        return gt_cmd_doctor_program(cli, options->db, argv, err);
    if (gt_session_database(&path, cli, options->db, options->calibrate, err) &&
        (options->calibrate || options->predictor || options->db))
        return err->code;
    if (options->calibrate)
        return gt_cmd_calibrate(cli, options->device ? options->device : "cuda",
                                database_of(cli, options), err);
    if (options->predictor)
        return report_predictor(cli, options, err);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct finding finding;

        probe(i, cli, fields, &finding);
        missing |= finding.verdict == MISSING;
        broken |= finding.verdict == BROKEN;
        for (char *c = finding.text; *c; c++)
            *c = (unsigned char)*c < ' ' ? ' ' : *c;
        if (json) {
            cJSON *item = cJSON_CreateObject();

            cJSON_AddStringToObject(item, "check", checks[i].name);
            cJSON_AddStringToObject(item, "verdict", words[finding.verdict]);
            cJSON_AddStringToObject(item, "text", finding.text);
            cJSON_AddItemToArray(json, item);
        } else {
            fprintf(cli->out, "%-12s %-9s %s\n", checks[i].name, words[finding.verdict],
                    finding.text);
        }
    }
    if (json && gt_cmd_print_json(cli, json, err))
        return GT_ENOMEM;
    if (!json && gt_cmd_calibrated(cli, database_of(cli, options), err))
        return err->code;
    if (broken)
        return gt_err_set(err, GT_EDB, "the database cannot be used; the line about it says why");
    return missing ? gt_err_set(err, GT_ENOLIB,
                                "tuning is not possible yet: a line above says what is missing")
                   : GT_OK;
}

const struct gt_command gt_command_doctor = {
    .name = "doctor",
    .doc = "what is there, what is missing, what to do about it",
    .usage =
        "doctor [--db FILE] [--calibrate [--device cuda:N]] [--predictor [--recording FILE]...] "
        "[--program -- COMMAND]",
    .about =
        "Looks at everything that tuning needs, each in a process of its own, and prints a\n"
        "line for each: ok, optional (not there, and what then), MISSING (and what to do). Below "
        "are\n"
        "the figures of GPUs that the database holds, beside those of their profile in\n"
        "configs/devices. --calibrate measures the GPU instead: launches, bandwidths and rates,\n"
        "in less than ten seconds. The predictor takes them in place of the profile.\n"
        "--predictor compares the model's times with those that were measured: of all trials of\n"
        "the database, or of recorded spaces. --program runs a command and lists its products of\n"
        "cuBLAS, with what tune serve would do about each.\n"
        "\n"
        "  tune doctor --calibrate\n"
        "  tune doctor --predictor --db gemmtune.db --csv predictor.csv\n"
        "  tune doctor --predictor --learn own.ranking --from first.db --from second.db\n"
        "  tune doctor --program -- python3 train.py\n",
    .group = {{option_table, 0}},
    .size = sizeof(struct options),
    .max_args = 1 << 20,
    .run = run,
};
