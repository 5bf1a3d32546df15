/* cmd_doctor.c - tune doctor: reports, a line each, what tuning needs, whether it is there, and
 * what to do if it is not. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
#include "base/strbuf.h"
#include "cuda/gpu.h"
#include "cuda/libraries.h"
#include "kernel/kernel.h"
#include "lookup/ranking.h"
#include "lookup/table.h"
#include "measure/cmd_calibrate.h"
#include "console/cmd_json.h"
#include "commands/cmd_learn.h"
#include "commands/cmd_predictor.h"
#include "commands/cmd_serve.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "console/options.h"

#define PROBE_SECONDS 20  /* a driver in a bad state may never answer */
#define ROOM_MB       500 /* of disk that a sweep may need for cubins and its database */

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
    GT_TEXT(options, db, "db", 0, "FILE",
            "database that is looked at, with its place (default: as of a sweep)"),
    GT_FLAG(options, calibrate, "calibrate", 0,
            "measure what the GPU reaches and keep it in the database, for the predictor"),
    GT_TEXT(options, device, "device", 0, "DEVICE",
            "the GPU to calibrate (default: cuda, the first one)"),
    GT_FLAG(options, predictor, "predictor", 0,
            "how well the model predicts what the database holds"),
    GT_TEXTS(options, recording, "recording", 0, "FILE",
             "with --predictor: a recorded space, or trials (trials.gz), instead of the database; "
             "may be repeated"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "with --predictor: write the table there too"),
    GT_FLAG(options, leave_out, "leave-out", 0,
            "with --predictor: what choosing loses on problems left out"),
    GT_TEXT(options, learn, "learn", 0, "FILE",
            "with --predictor: the same, and write what was learned of all trials: a ranking for "
            "look-ups"),
    GT_TEXT(options, onto, "onto", 0, "FILE",
            "with --leave-out or --learn: improve this ranking, whose own trials may be gone"),
    GT_TEXTS(
        options, from, "from", 0, "FILE",
        "with --leave-out or --learn: a database, a table (.csv) or trials (trials.gz), beside "
        "or instead of --db; may be repeated"),
    GT_FLAG(options, program, "program", 0,
            "run a program and say which of its products tune serve would serve"),
    GT_OPTIONS_END,
};

/* The database that doctor looks at; also names it where it could not be used. */
static const char *database_of(const struct gt_cli *cli, const struct options *options)
{
    return options->db ? options->db : cli->database ? cli->database : "gemmtune.db";
}

/* What the checks are given. */
struct checking {
    const struct gt_cli *cli;
    const struct options *options;
};

__attribute__((format(printf, 3, 4))) static void say(struct finding *finding, enum verdict verdict,
                                                      const char *format, ...)
{
    va_list arguments;

    finding->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
}

static void say_also(struct finding *finding, const char *text)
{
    const size_t length = strlen(finding->text);

    snprintf(finding->text + length, sizeof(finding->text) - length, "%s", text);
}

static void say_data(struct finding *finding, const char *folder, const struct gt_kernels *kernels,
                     const struct gt_rankings *rankings)
{
    say(finding, OK, "%s: %zu kernels", folder, kernels->count);
    for (size_t i = 0; i < rankings->count; i++) {
        char device[96];

        gt_copy_clean(device, sizeof(device), rankings->ranking[i].device);
        say_also(finding, i ? ", " : "; rankings of ");
        say_also(finding, *device ? device : "an arch");
    }
}

/* The kernels, and what is shipped with them for look-ups. */
static void find_data(const struct checking *checking, struct finding *finding)
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
        say(finding, MISSING, "%s", err.msg);
    else if (rankings.damage)
        say(finding, OPTIONAL,
            "%s; without it look-ups of problems that nobody tuned are slower and less good",
            rankings.damage);
    else
        say_data(finding, folder, &kernels, &rankings);
    gt_rankings_release(&rankings);
    gt_table_release(&table);
    gt_kernels_release(&kernels);
}

static void find_nvrtc(const struct checking *checking, struct finding *finding)
{
    struct gt_nvrtc *nvrtc = NULL;
    struct gt_nvrtc_api api;
    struct gt_err err;

    (void)checking;
    if (gt_nvrtc_open(&nvrtc, &err) || gt_nvrtc_api_load(&api, &err))
        say(finding, MISSING, "%s", err.msg);
    else
        say(finding, OK, "version %d.%d, %s", gt_nvrtc_version(nvrtc) / 1000,
            gt_nvrtc_version(nvrtc) % 1000 / 10, gt_library_file(api.library));
    gt_nvrtc_close(nvrtc);
}

/* Appends the facts of GPU `i`, or why it cannot be used. */
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

static void find_gpu(const struct checking *checking, struct finding *finding)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    bool usable = true;
    struct gt_err err;
    int count = 0;

    (void)checking;
    if (gt_gpu_count(&count, &err)) {
        say(finding, OPTIONAL, "%s; without a GPU --arch predicts, nothing is measured", err.msg);
        return;
    }
    for (int i = 0; i < count; i++)
        usable &= add_gpu(&text, i);
    say(finding, usable ? OK : MISSING, "%s", text.text ? text.text : "");
    gt_strbuf_release(&text);
}

/* Checks a library that tuning can do without: says where it is or, if it is absent, why and what
 * that costs. */
#define FIND_LIBRARY(function, api_struct, load, costs)                            \
    static void function(const struct checking *checking, struct finding *finding) \
    {                                                                              \
        struct api_struct api;                                                     \
        struct gt_err err;                                                         \
                                                                                   \
        (void)checking;                                                            \
        if (load(&api, &err))                                                      \
            say(finding, OPTIONAL, "%s; without it " costs, err.msg);              \
        else                                                                       \
            say(finding, OK, "found, %s", gt_library_file(api.library));           \
    }
FIND_LIBRARY(find_assembler, gt_jitlink_api, gt_jitlink_api_load,
             "the GPU waits while the driver compiles PTX")
FIND_LIBRARY(find_cublas, gt_cublaslt_api, gt_cublaslt_api_load,
             "there is no baseline to compare with")
FIND_LIBRARY(find_nvml, gt_nvml_api, gt_nvml_api_load, "throttled clocks are not explained")

/* Checks the free space of the file system that holds `path` or its nearest existing parent. */
static void find_room(struct finding *finding, const char *path)
{
    unsigned long long free_mb;
    struct statvfs room;
    struct stat status;
    char folder[4096];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    while (access(folder, F_OK) != 0 && (slash = strrchr(folder, '/')) && slash != folder)
        *slash = '\0';
    if (access(folder, F_OK) != 0)
        snprintf(folder, sizeof(folder), ".");
    if (statvfs(folder, &room)) {
        say(finding, MISSING, "%s: %s", folder, strerror(errno));
        return;
    }
    free_mb = (unsigned long long)room.f_bavail * room.f_frsize >> 20;
    if (access(folder, W_OK) != 0)
        say(finding, MISSING, "%s: %s is not writable", path, folder);
    else if (strcmp(folder, path) != 0 && stat(folder, &status) == 0 && !S_ISDIR(status.st_mode))
        say(finding, MISSING, "%s: %s is not a folder", path, folder);
    else if (free_mb < ROOM_MB)
        say(finding, MISSING, "%s: %llu MiB free; a sweep may want %d", path, free_mb, ROOM_MB);
    else
        say(finding, OK, "%s: %llu MiB free", path, free_mb);
}

/* The database's folder is not there: a sweep makes that of the default database if it can. */
static void judge_folder(struct finding *finding, const char *path, const char *folder, bool named)
{
    if (named)
        say(finding, MISSING, "%s: there is no folder %s", path, folder);
    else if (finding->verdict == OK)
        say(finding, OK, "%s: there is no folder %s yet; a sweep makes it", path, folder);
    else
        say_also(finding, "; --db or GEMMTUNE_DB may name another database");
}

static void find_database(const struct checking *checking, struct finding *finding)
{
    const bool named = checking->options->db;
    const char *path = database_of(checking->cli, checking->options);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    struct gt_store *store = NULL;
    struct stat status;
    struct gt_err err;

    find_room(finding, path);
    if (folder && access(folder, F_OK) != 0)
        judge_folder(finding, path, folder, named);
    else if (folder && access(folder, W_OK) != 0)
        say(finding, MISSING, "%s: the folder is not writable, and a sweep makes a lock file there",
            path);
    else if (stat(path, &status) == 0 && status.st_size &&
             gt_store_open(&store, path, GT_STORE_READ, &err))
        say(finding, BROKEN, "%s", err.msg);
    else if (gt_store_check_place(path, &err))
        say(finding, MISSING, "%s", err.msg);
    gt_store_close(store);
    free(folder);
}

static void find_cache(const struct checking *checking, struct finding *finding)
{
    struct gt_err err;
    char *path = NULL;

    (void)checking;
    if (gt_cache_dir(&path, &err))
        say(finding, MISSING, "%s", err.msg);
    else
        find_room(finding, path);
    if (path && finding->verdict == MISSING) {
        finding->verdict = OPTIONAL;
        say_also(finding, "; without it compiled kernels are kept for one run only; GEMMTUNE_CACHE "
                          "may name another folder");
    }
    free(path);
}

static const struct {
    const char *name;
    void (*find)(const struct checking *, struct finding *);
} checks[] = {
    {"data folder", find_data},  {"NVRTC", find_nvrtc},     {"nvJitLink", find_assembler},
    {"GPU", find_gpu},           {"cuBLASLt", find_cublas}, {"NVML", find_nvml},
    {"database", find_database}, {"cache", find_cache},
};

/* Runs one check in its own process, because a library that crashes or hangs is a finding, too.
 * Whatever the check leaves open ends with that process. */
static void probe(size_t check, const struct checking *checking, struct finding *finding)
{
    struct pollfd ready;
    int fd[2];
    pid_t pid;

    say(finding, MISSING, "cannot be looked at: no process");
    fflush(NULL);
    if (pipe(fd))
        return;
    pid = fork();
    if (pid == 0) {
        struct finding found = {0};

        close(fd[0]);
        checks[check].find(checking, &found);
        _exit(write(fd[1], &found, sizeof(found)) != (ssize_t)sizeof(found));
    }
    close(fd[1]);
    ready = (struct pollfd){.fd = fd[0], .events = POLLIN};
    if (pid > 0 && (poll(&ready, 1, PROBE_SECONDS * 1000) <= 0 ||
                    read(fd[0], finding, sizeof(*finding)) != (ssize_t)sizeof(*finding)))
        say(finding, MISSING, "looking at it crashed or took more than %d s", PROBE_SECONDS);
    close(fd[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* Judges the predictor by the database, unless only recordings are named. */
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
        .csv = options->csv,
    };

    return options->learn || options->leave_out ? gt_cmd_learn(cli, &learn, err)
                                                : gt_cmd_predictor(cli, &wanted, err);
}

/* Refuses options that mean nothing without another one. */
static int check_partners(const struct options *options, struct gt_err *err)
{
    const bool learns = options->leave_out || options->learn;
    const struct gt_option_pair pairs[] = {
        {"device", "calibrate", options->device != NULL, options->calibrate},
        {"recording", "predictor", options->recording.count > 0, options->predictor},
        {"csv", "predictor", options->csv != NULL, options->predictor},
        {"leave-out", "predictor", options->leave_out, options->predictor},
        {"learn", "predictor", options->learn != NULL, options->predictor},
        {"onto", "leave-out or --learn", options->onto != NULL, learns},
        {"from", "leave-out or --learn", options->from.count > 0, learns},
    };

    return gt_options_check_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), err);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    static const char *const words[] = {"ok", "optional", "MISSING", "BROKEN"};
    const struct options *options = fields;
    const struct checking checking = {cli, options};
    cJSON *json;
    bool missing = false, broken = false;
    const char *path;

    if (check_partners(options, err))
        return err->code;
    if (!options->program && cli->arguments)
        return gt_err_set(err, GT_ESYNTAX,
                          "unexpected argument \"%s\"; only --program runs a command",
                          cli->argument[0]);
    if (options->program && !cli->arguments)
        return gt_err_set(err, GT_ESYNTAX,
                          "--program needs a command: tune doctor --program -- COMMAND");
    if (options->program)
        return gt_cmd_doctor_program(cli, options->db, cli->argument, err);
    if (gt_session_database(&path, cli, options->db, options->calibrate, err) &&
        (options->calibrate || options->predictor || options->db))
        return err->code;
    if (options->calibrate)
        return gt_cmd_calibrate(cli, options->device ? options->device : "cuda",
                                database_of(cli, options), err);
    if (options->predictor)
        return report_predictor(cli, options, err);
    json = cli->json ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct finding finding;

        probe(i, &checking, &finding);
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
