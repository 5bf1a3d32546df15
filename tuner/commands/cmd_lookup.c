/* cmd_lookup.c - tune lookup PROBLEM...: prints the answers that a program with the library would
 * get. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/stats.h"
#include "cluster/queue.h"
#include "commands/cmd_stored_energy.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/gpu_names.h"
#include "console/options.h"
#include "lookup/lookup.h"
#include "problem/device.h"
#include "session/cmd_session.h"
#include "session/model_error.h"
#include "session/older.h"

struct options {
    const char *arch, *device, *db, *system_db, *kernels_dir, *include_dirs, *objective;
    struct gt_texts problem;
    struct gt_problem_options parts;
};

static const struct gt_option option_table[] = {
    GT_ARCH(options, arch, "GPU architecture asked about (needed)"),
    GT_TEXTS(options, problem, "problem", 'p', "PROBLEM",
             "the same as an argument; may be repeated"),
    GT_TEXT(options, device, "device", 'd', "NAME",
            "name of the GPU, e.g. \"NVIDIA H200\" (default: any of the arch)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "your own database (default: as of a sweep, if there is one), or "
            "postgresql://HOST/DATABASE: what the workers of a queue have found"),
    GT_CHOICE(
        options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
        "energy or edp (energy times time): the candidate that takes the least of it, of those "
        "whose energies `tune energy` has stored in the database; programs are handed the best "
        "by time in any case (default: time)"),
    GT_TEXT(options, system_db, "system-db", 0, "FILE",
            "table searched after it (default: db/shipped of the data folder)"),
    GT_KERNEL_DIRS(options, "folder with descriptions of your own kernels"),
    GT_OPTIONS_END,
};

static const struct {
    const char *name, *meaning;
} tiers[] = {
    [GT_TIER_NONE] = {"none", "no kernel serves it"},
    [GT_TIER_EXACT] = {"exact", "this problem was tuned"},
    [GT_TIER_NEAR] = {"near", "nearest tuned problem, adapted"},
    [GT_TIER_FAMILY] = {"family", "a default point, or the winner of a less similar problem"},
};

/* Whether the answer is another device's winner, whose time on the device asked about is not
 * known. */
static bool is_untimed(const struct gt_answer *answer)
{
    return answer->tuned_us > 0 && !(answer->expected_us > 0);
}

/* Prints the times.  A time is shown as this problem's only if it was measured or predicted for
 * this very problem.  error: the model's known error for that kind of kernel. */
static void print_times(FILE *out, const struct gt_answer *answer, bool untimed, const char *error)
{
    char device[256], us[GT_ROUGH_MAX], how[200] = "measured";
    const double known = answer->us > 0 ? answer->us : answer->tuned_us;

    snprintf(us, sizeof(us), "%.2f", known);
    if (answer->predicted) {
        gt_rough(us, known);
        snprintf(how, sizeof(how), "PREDICTED, never measured: %s, on an H200", error);
    }

    gt_copy_clean(device, sizeof(device), answer->device ? answer->device : "an unnamed device");
    if (answer->tuned_for)
        fprintf(out, "  tuned for  %s on %s\n", answer->tuned_for, device);
    if (answer->us > 0) {
        fprintf(out, "  time       %s us, %s\n", us, how);
        return;
    }
    if (answer->tuned_us > 0)
        fprintf(out, "             its time there: %s us, %s\n", us, how);
    if (untimed)
        fprintf(out, "  time       not known here: that is another device\n");
    else if (answer->expected_us > 0)
        fprintf(out, "  time       about %s us here, ESTIMATED by the model\n",
                gt_rough(us, answer->expected_us));
}

static void print_ranking(FILE *out, const char *learned_on)
{
    char device[256];

    gt_copy_clean(device, sizeof(device), learned_on);
    fprintf(out, "  chosen by  the ranking learned on %s\n", *device ? device : "its arch");
}

/* Prints the contest in which an exact row was timed (see src/lookup/README.md). */
static void print_contest(FILE *out, const struct gt_answer *answer)
{
    if (answer->tier != GT_TIER_EXACT || answer->predicted)
        return;
    fprintf(out, "  compared   %s",
            answer->contested ? "won a final, timed in turns with the answer before it"
                              : "never timed in turns with another answer, but faster than the "
                                "model expects of any");
    if (answer->trials > 0)
        fprintf(out, "; best of %lld trial%s", (long long)answer->trials,
                answer->trials == 1 ? "" : "s");
    fputc('\n', out);
}

/* deployed: the answer comes from a deployed file, which may lack problems that kernels serve.
 * why: in tier NONE, why no kernel serves the problem. */
static void print_answer(FILE *out, const char *problem, const struct gt_answer *answer,
                         bool deployed, const char *why, const char *error)
{
    const bool absent = deployed && answer->tier == GT_TIER_NONE;
    const bool untimed = is_untimed(answer);
    char text[512];

    fprintf(out, "%s\n", problem);
    fprintf(out, "  tier       %s: %s\n", tiers[answer->tier].name,
            absent ? "the file has no answer for it" : tiers[answer->tier].meaning);
    if (*why)
        fprintf(out, "  reason     %s\n", why);
    if (answer->tier != GT_TIER_NONE) {
        fprintf(out, "  kernel     %s\n", answer->kernel);
        fprintf(out, "  point      %s\n", answer->point);
        if (answer->in_f32)
            fprintf(out, "  arithmetic FP32: it costs at most 1 %% more than what the problem "
                         "allows\n");
        if (answer->ranking)
            print_ranking(out, answer->ranking);
        print_times(out, answer, untimed, error);
        print_contest(out, answer);
        if (!untimed)
            fprintf(out, "  slowdown   %.1f %% expected against a tuned kernel\n",
                    100 * answer->expected_loss);
        fprintf(out,
                "  launch     grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared\n",
                answer->grid[0], answer->grid[1], answer->grid[2], answer->block[0],
                answer->block[1], answer->block[2], answer->shared_bytes);
        fprintf(out, "  workspace  %zu bytes\n", answer->workspace_bytes);
    }
    if (answer->cublaslt) {
        gt_copy_clean(text, sizeof(text), answer->cublaslt);
        fprintf(out,
                "  cuBLASLt   %.2f us, faster: for programs that set gt_options.allow_cublaslt, "
                "with the library's version %.*s\n",
                answer->baseline_us, (int)strcspn(text, " "), text);
    }
    if (answer->passed_over) {
        gt_copy_clean(text, sizeof(text), answer->passed_over);
        fprintf(out, "  %s  %s\n", absent ? "reason   " : "not taken", text);
    }
}

/* Adds the facts of an answer.  us: the time of this very problem; tuned_us: the time of the
 * problem tuned_for; estimated_us: the model's estimate for this problem. */
static void add_answer(cJSON *json, const struct gt_answer *answer)
{
    const bool timed = answer->us > 0;

    gt_json_add(json,
                "kernel=%s point=%s device=%s tuned_for=%s predicted=%i in_f32=%i us=%+g "
                "tuned_us=%+g estimated_us=%+g expected_loss=%g ranking=%s",
                answer->kernel, answer->point, answer->device ? answer->device : "",
                answer->tuned_for ? answer->tuned_for : "", answer->predicted, answer->in_f32,
                answer->us, timed ? 0 : answer->tuned_us, timed ? 0 : answer->expected_us,
                gt_if(!is_untimed(answer), answer->expected_loss), answer->ranking);
    if (answer->tier == GT_TIER_EXACT && !answer->predicted)
        gt_json_add(json, "contested=%i trials=%g", answer->contested, (double)answer->trials);
    gt_json_add_triple(json, "grid", answer->grid);
    gt_json_add_triple(json, "block", answer->block);
    gt_json_add(json, "shared_bytes=%u workspace_bytes=%g", answer->shared_bytes,
                (double)answer->workspace_bytes);
}

static void list_answer(cJSON *list, const char *problem, const struct gt_answer *answer,
                        const char *why, double peak)
{
    const double us = answer->us > 0 ? answer->us : answer->expected_us;
    cJSON *json = gt_json_append(list, "problem=%s tier=%s", problem, tiers[answer->tier].name);

    if (answer->tier != GT_TIER_NONE)
        add_answer(json, answer);
    gt_json_add(json, "peak_percent=%+g why=%s cublaslt=%s not_taken=%s",
                us > 0 ? 100 * peak / us : 0, *why ? why : NULL, answer->cublaslt,
                answer->passed_over);
}

/* Problem i of the command line; arguments come before options. */
static const char *problem_at(const struct gt_cli *cli, const struct options *options, size_t i)
{
    size_t arguments = (size_t)cli->arguments;

    return i < arguments ? cli->argument[i] : options->problem.text[i - arguments];
}

struct questions {
    struct gt_cli *cli;
    const struct options *options;
    size_t count;
    const char *path;   /* the database's; NULL: the default database, if it exists */
    const char *device; /* the name of the device asked about; NULL: any device of the arch */
    int cc, answered;
    struct gt_device named;    /* that device, for a deployed file, which has no profiles */
    struct gt_kernels kernels; /* loaded only if a prediction's kernel is asked about */
    bool deployed;             /* the answers come from a deployed file */
    char why[GT_UNSERVED_MAX]; /* why no kernel serves the first such problem */
    cJSON *list;
};

static void explain(struct questions *self, const struct gt *gt, char why[GT_UNSERVED_MAX],
                    const struct gt_problem *problem)
{
    struct gt_device device;

    if (!gt_device_profile_of(&device, self->cli->data_dir, self->cc, self->device, NULL))
        gt_lookup_unserved(why, gt, problem, &device);
    if (!*self->why)
        snprintf(self->why, sizeof(self->why), "%s", why);
}

static void print_stand_in(const struct questions *self)
{
    char text[GT_STAND_IN_MAX];
    struct gt_device device;

    if (self->device && !self->deployed &&
        !gt_device_profile_of(&device, self->cli->data_dir, self->cc, self->device, NULL) &&
        gt_stand_in(text, &device, self->device))
        fprintf(self->cli->out, "  computed   %s\n", text);
}

/* The kernel of an answer whose time is the model's; NULL: the time is another one, or the kernel
 * is not known. */
static const struct gt_kernel *predicted_kernel(struct questions *self,
                                                const struct gt_answer *answer)
{
    const struct options *options = self->options;

    if (answer->tier == GT_TIER_NONE || !answer->kernel ||
        (!answer->predicted && (answer->us > 0 || !(answer->expected_us > 0))))
        return NULL;
    if (!self->kernels.count && gt_kernels_load(&self->kernels, self->cli->data_dir,
                                                options->kernels_dir, options->include_dirs, NULL))
        return NULL;
    return gt_kernels_find(&self->kernels, answer->kernel, NULL);
}

/* Microseconds that the problem takes at the peak of the device's units; 0: not known. */
static double peak_of(const struct questions *self, const struct gt_problem *problem,
                      const struct gt_kernel *kernel)
{
    struct gt_device device;
    double peak;

    if (!kernel || gt_device_profile_of(&device, self->cli->data_dir, self->cc, self->device, NULL))
        return 0;
    peak = gt_model_peak(&device, problem, kernel);
    return peak > 0 ? gt_problem_flops(problem) * 1e-6 / peak : 0;
}

static int look_up(struct questions *self, struct gt *gt, const char *text, struct gt_err *err)
{
    char canonical[GT_PROBLEM_TEXT_MAX], why[GT_UNSERVED_MAX] = "";
    const struct gt_answer *answer;
    const struct gt_kernel *kernel;
    struct gt_problem problem;
    int rc = gt_session_complete(&problem, text, &self->options->parts, err);

    GT_STEP(rc, gt_lookup(gt, self->cc, self->device, &problem, &answer, err));
    if (rc)
        return rc;
    gt_problem_format(&problem, canonical);
    self->answered += answer->tier != GT_TIER_NONE;
    if (answer->tier == GT_TIER_NONE && !self->deployed)
        explain(self, gt, why, &problem);
    kernel = predicted_kernel(self, answer);
    if (self->cli->json)
        list_answer(self->list, canonical, answer, why, peak_of(self, &problem, kernel));
    else
        print_answer(self->cli->out, canonical, answer, self->deployed, why,
                     kernel ? gt_model_error(gt_model_kind_of(kernel)) : "may be half of it off");
    if (!self->cli->json && answer->tier != GT_TIER_EXACT && answer->tier != GT_TIER_NONE)
        print_stand_in(self);
    return GT_OK;
}

/* Says which of the problems have winners of older texts, which are not given as answers
 * unchanged.  A file that is no database has no such winners. */
static void tell_older(const struct questions *self)
{
    const struct options *options = self->options;
    const struct gt_row_filter filter = {.cc = self->cc};
    struct gt_problem *problem = calloc(self->count, sizeof(*problem));
    struct gt_kernels kernels = {0};
    struct gt_older older = {0};
    struct gt_store *store = NULL;
    const char *path = self->path;
    int rc = problem ? GT_OK : GT_ENOMEM;

    for (size_t i = 0; i < self->count && !rc; i++)
        rc = gt_session_complete(&problem[i], problem_at(self->cli, options, i), &options->parts,
                                 NULL);
    if (!rc && !path)
        rc = gt_session_database(&path, self->cli, NULL, false, NULL);
    if (!rc && access(path, R_OK) != 0)
        rc = GT_EDB;
    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_READ, NULL));
    GT_STEP(rc, gt_kernels_load(&kernels, self->cli->data_dir, options->kernels_dir,
                                options->include_dirs, NULL));
    GT_STEP(rc, gt_older_count(&older, store, &kernels, &filter, problem, self->count, NULL));
    if (!rc)
        gt_older_tell(self->cli->log, &older, "handed out as no more than a near row");
    gt_kernels_release(&kernels);
    gt_store_close(store);
    free(problem);
}

static int look_up_all(struct questions *self, struct gt_err *err)
{
    const struct options *options = self->options;
    const char *const folders[] = {options->kernels_dir, NULL};
    struct gt_options open = {
        GT_OPTIONS_INIT,
        .system_db = options->system_db,
        .data_dir = self->cli->data_dir,
        .kernels_dirs = folders,
        .include_dirs = options->include_dirs,
        .user_db = self->path,
    };
    struct gt *gt = NULL;
    int rc = gt_open(&gt, &open, err);

    self->deployed = !rc && gt_lookup_deployed(gt);
    if (self->deployed && self->device &&
        !gt_device_profile_of(&self->named, self->cli->data_dir, self->cc, self->device, NULL) &&
        gt_device_called(self->named.name, self->device))
        self->device = self->named.name;
    for (size_t i = 0; i < self->count && !rc; i++)
        rc = look_up(self, gt, problem_at(self->cli, options, i), err);
    gt_close(gt);
    if (!rc && !self->deployed && !self->cli->quiet)
        tell_older(self);
    return rc;
}

static int weigh_all(struct questions *self, enum gt_objective objective, struct gt_err *err)
{
    const struct options *options = self->options;
    struct gt_energy_question asked = {.path = self->path,
                                       .gpu = {.cc = self->cc, .device = self->device}};
    struct gt_kernels kernels = {0};
    struct gt_problem problem;
    int rc = gt_kernels_load(&kernels, self->cli->data_dir, options->kernels_dir,
                             options->include_dirs, err);

    gt_filter_whole(&asked.gpu, self->cli->data_dir);
    asked.kernels = &kernels;
    asked.problem = &problem;
    if (!rc && !asked.path)
        rc = gt_session_database(&asked.path, self->cli, NULL, false, err);
    for (size_t i = 0; i < self->count && !rc; i++) {
        bool answered = false;

        rc = gt_session_complete(&problem, problem_at(self->cli, options, i), &options->parts, err);
        GT_STEP(rc,
                gt_stored_energy_answer(self->cli, &asked, objective, self->list, &answered, err));
        self->answered += answered;
    }
    gt_kernels_release(&kernels);
    return rc;
}

static int nothing(const struct questions *self, enum gt_objective objective, struct gt_err *err)
{
    const struct options *options = self->options;
    char first[GT_PROBLEM_TEXT_MAX];
    struct gt_problem problem;
    const char *others = self->count > 1 ? " or any of the other problems" : "";

    if (gt_session_complete(&problem, problem_at(self->cli, options, 0), &options->parts, err))
        return err ? err->code : GT_ESYNTAX;
    gt_problem_format(&problem, first);
    if (objective == GT_BY_TIME)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          self->deployed ? "the deployed file has no answer for %s%s on sm_%d"
                                         : "no kernel serves %s%s on sm_%d: %s",
                          first, others, self->cc, self->why);
    return gt_err_set(err, GT_EXIT_NOTHING,
                      "no energy of %s%s is stored for sm_%d: `tune energy` measures it on a GPU",
                      first, others, self->cc);
}

/* Refuses an unreadable or empty database, in the words of the other commands. */
static int check_database(const char *path, const char *named, struct gt_err *err)
{
    struct stat file;

    if (access(path, R_OK) != 0 || stat(path, &file) != 0)
        return gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", named, strerror(errno));
    if (S_ISREG(file.st_mode) && file.st_size == 0)
        return gt_err_set(err, GT_ESTALE, "%s is empty: nothing was tuned into it yet", named);
    return GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const enum gt_objective objective = gt_objective_parse(options->objective);
    struct questions self = {
        .cli = cli, .options = options, .count = (size_t)cli->arguments + options->problem.count};
    struct gt_queue_copy from = {.path = NULL};
    int rc;

    if (!self.count)
        return gt_err_set(err, GT_ESYNTAX, "missing argument; usage: tune %s",
                          gt_command_lookup.usage);
    if (!options->arch)
        return gt_err_set(err, GT_ESYNTAX, "name the architecture asked about, e.g. --arch sm_90");
    self.list = cli->json ? cJSON_CreateArray() : NULL;
    rc = gt_gpu_parse(options->arch, &self.cc, &self.device, err);
    if (options->device)
        self.device = options->device;
    if (!rc && options->db)
        rc = gt_queue_copy_open(&from, cli, options->db, err);
    self.path = from.path;
    if (!rc && from.path)
        rc = check_database(from.path, options->db, err);
    GT_STEP(rc,
            objective == GT_BY_TIME ? look_up_all(&self, err) : weigh_all(&self, objective, err));
    if (cli->json && !rc)
        rc = gt_cmd_print_json(cli, self.list, err);
    else
        cJSON_Delete(self.list);
    gt_queue_copy_close(&from, err);
    gt_kernels_release(&self.kernels);
    return rc || self.answered ? rc : nothing(&self, objective, err);
}

const struct gt_command gt_command_lookup = {
    .name = "lookup",
    .doc = "the kernel a program would be handed for a problem, without tuning",
    .usage = "lookup PROBLEM... --arch sm_90 [OPTION]...",
    .about =
        "Answers at once from the databases, as the library does, and says how good the\n"
        "answer is: exact (this problem was tuned), near (the nearest tuned problem's winner,\n"
        "adapted), family (a default), none. A measured row comes before a predicted one, and\n"
        "the faster of two measured ones is taken; the other one is shown as not taken. A row\n"
        "that was never timed in turns with another answer, because its sweep was killed before\n"
        "the final, is taken only if the model expects the answer without it to be far slower:\n"
        "twice its time, if that answer is made from a near winner. A predicted one gives way\n"
        "to what the model expects to be clearly faster. Where TF32 is allowed, a kernel that\n"
        "computes in FP32 is the answer if that costs at most 1 % more.\n"
        "\n"
        "With --objective energy or edp the answer is the candidate that takes the least, of "
        "those\n"
        "whose energies are stored, with its joules, watts and clock: of one device and driver,\n"
        "the one that was measured last. Nothing is predicted then.\n"
        "\n"
        "  tune lookup 4096x4096x4096 --dtype bf16 --layout nt --arch h100\n"
        "  tune lookup 4096x4096x4096:bf16 --arch sm_90 --objective energy\n",
    .group = {{option_table, 0, NULL},
              {gt_problem_part_table, offsetof(struct options, parts), NULL}},
    .size = sizeof(struct options),
    .max_args = 4096,
    .run = run,
};
