/* cmd_energy.c - tune energy: what a product costs: of the fastest stored candidates of each
 * problem and of cuBLASLt's answer, and which is best by time, energy or their product.
 * cmd_energy_measure.c measures, cmd_energy_items.c finds the candidates, cmd_energy_rows.c shows
 * what is known of them, cmd_energy_costs.c has the table of what the fastest costs and what less
 * speed saves. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "console/cmd_json.h"
#include "console/gpu_names.h"
#include "session/cmd_session.h"
#include "console/commands.h"
#include "measure/cmd_energy.h"
#include "measure/cmd_energy_impl.h"
#include "problem/problem.h"
#include "sweep/progress.h"

static const struct gt_option option_table[] = {
    GT_CHOICE(gt_energy_options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
              "what the best of a problem is best by: time (default), energy, or edp: energy times "
              "time; of those that the bounds of the errors do not tell apart, the fastest"),
    GT_INTEGER(gt_energy_options, entries, "entries", 0, "N", 1, GT_ENERGY_ITEMS,
               "measure the N fastest stored candidates of each problem (default: 8)"),
    GT_REAL(gt_energy_options, within, "within", 0, "PERCENT", 0.1, 1000,
            "and of those only such as are slower than the fastest by no more (default: 10)"),
    GT_REAL(gt_energy_options, seconds, "seconds", 0, "SECONDS", 0.01, 60,
            "how long each is measured at least, after 2.4 times as much heating (default: 0.5)"),
    GT_REAL(gt_energy_options, error, "error", 0, "PERCENT", 0.1, 100,
            "and until the bound of its error is so, for at most four times as long (default: 3)"),
    GT_TEXT(gt_energy_options, budget, "budget", 'b', "TIME",
            "end after that time (\"60s\"): the fastest candidate of each problem and cuBLASLt's "
            "answer are measured in any case, others while its share by weight lasts"),
    GT_REAL(gt_energy_options, slower, "slower", 0, "PERCENT", 0.1, 1000,
            "how much slower than the fastest the one may be that saves energy (default: 3)"),
    GT_FLAG(gt_energy_options, stored, "stored", 0,
            "measure nothing: show what the database has, of the GPU that was measured last or of "
            "--arch, of the GPU that --device names and the operands of --dist"),
    GT_TEXT(gt_energy_options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_TEXT(gt_energy_options, costs, "costs", 0, "FILE",
            "write a table with a row for each problem there: what the fastest costs, what "
            "--slower saves, what cuBLASLt's answer costs"),
    GT_OPTIONS_END,
};

/* What was not given gets its default. */
static void set_defaults(struct gt_energy_options *options)
{
    options->entries = options->entries ? options->entries : 8;
    options->within = options->within > 0 ? options->within : 10;
    options->slower = options->slower > 0 ? options->slower : 3;
    options->seconds = options->seconds > 0 ? options->seconds : 0.5;
    options->error = options->error > 0 ? options->error : 3;
}

static int complete(struct gt_energy_options *options, const struct gt_cli *cli, double *seconds,
                    struct gt_err *err)
{
    struct gt_budget budget = {0};
    int rc = GT_OK;

    set_defaults(options);
    if (cli->arguments)
        rc = gt_session_argument(&options->problem, cli->argument[0], err);
    if (!rc && options->budget) {
        rc = gt_budget_parse(&budget, options->budget, err);
        if (!rc && (!(budget.seconds > 0) || budget.each || budget.trials || budget.patience))
            rc = gt_err_set(err, GT_ESYNTAX, "--budget %s: a time is wanted, such as 60s",
                            options->budget);
    }
    *seconds = budget.seconds;
    return rc;
}

static struct gt_energies *energies_new(struct gt_session *session,
                                        const struct gt_energy_options *options,
                                        const struct gt_energy_report *report)
{
    struct gt_energies *self = calloc(1, sizeof(*self));

    if (!self)
        return NULL;
    self->session = session;
    self->options = options;
    self->items.most = (size_t)options->entries;
    self->rows.report = report;
    self->rows.objective = gt_objective_parse(options->objective);
    self->rows.slower = options->slower;
    gt_energy_costs_init(&self->rows.cost);
    return self;
}

int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          const struct gt_energy_report *report, struct gt_err *err)
{
    struct gt_energy_options options = {.objective = objective};
    struct gt_energies *self;
    struct gt_err why = {0};
    int rc;

    set_defaults(&options);
    self = energies_new(session, &options, report);
    if (!self)
        return gt_err_nomem(err);
    rc = gt_energies_measure(self, problem, weight, problems, &why);
    if (rc == GT_ENOLIB && session->progress)
        gt_progress_note(session->progress, why.msg);
    else if (rc == GT_ENOLIB)
        fprintf(session->cli->log, "%s\n", why.msg);
    else if (rc)
        gt_err_pass(err, &why, rc);
    rc = rc == GT_ENOLIB ? GT_OK : rc; /* the sweep has its results all the same */
    gt_energy_rows_close(&self->rows, NULL);
    free(self);
    return rc;
}

static void name_device(const struct gt_energies *self, const char *name)
{
    if (self->rows.report->json)
        cJSON_AddStringToObject(self->rows.report->json, "device", name);
}

static int measure_energies(struct gt_energies *self, struct gt_cli *cli,
                            struct gt_energy_options *options, double budget_s,
                            const struct gt_problem *problem, const double *weight, size_t problems,
                            struct gt_err *err)
{
    int rc;

    options->session.measure = true;
    rc = gt_session_open(self->session, cli, &options->session, err);
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "energy is measured on a GPU");
    self->end_s = budget_s > 0 ? gt_clock_s() + budget_s : 0;
    if (!rc)
        name_device(self, self->session->evaluator->device.name);
    GT_STEP(rc, gt_energies_measure(self, problem, weight, problems, err));
    return rc;
}

/* What --arch, --device and --dist say of the energies to show. */
static int read_asked(struct gt_energy_asked *asked, const struct gt_session_options *options,
                      struct gt_err *err)
{
    const char *device = options->device, *dist = options->dist;

    asked->device = device;
    asked->dist = dist && strcmp(dist, "normal") != 0 ? dist : NULL;
    if (device && (strncmp(device, "predict", 7) == 0 || strncmp(device, "cuda", 4) == 0))
        return gt_err_set(err, GT_ESYNTAX,
                          "--device %s: with --stored it is the name of a GPU whose energies are "
                          "stored, such as \"NVIDIA H200\"",
                          device);
    return options->arch ? gt_gpu_parse(options->arch, &asked->cc, &(const char *){NULL}, err)
                         : GT_OK;
}

static int show_stored(struct gt_energies *self, struct gt_cli *cli,
                       const struct gt_energy_options *options, struct gt_device *device,
                       const struct gt_problem *problem, size_t problems, struct gt_err *err)
{
    struct gt_energy_asked asked = {.cc = 0};
    struct gt_store *store = NULL;
    const char *path;
    int rc = read_asked(&asked, &options->session, err);

    GT_STEP(rc, gt_session_database(&path, cli, options->session.db, false, err));
    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_READ, err));
    GT_STEP(rc, gt_energy_rows_device(store, &asked, device, err));
    if (!rc)
        name_device(self, device->name);
    GT_STEP(rc, gt_energy_rows_open(&self->rows, device, options->csv, options->costs, err));
    for (size_t i = 0; i < problems && !rc; i++)
        rc = gt_energy_rows_problem(&self->rows, store, &problem[i], err);
    gt_store_close(store);
    return rc;
}

/* Measures or reads; where.json gets what is printed as JSON. */
static int all(struct gt_energies *self, struct gt_cli *cli, struct gt_energy_options *options,
               struct gt_device *device, double budget_s, struct gt_err *err)
{
    struct gt_problem *problem = NULL;
    double *weight = NULL;
    size_t problems = 0;
    int closed,
        rc = gt_session_problems(cli, NULL, &problem, &weight, &problems, &options->problem, err);

    GT_STEP(rc, gt_session_no_replay(&options->session, err));
    if (!rc && options->stored)
        rc = show_stored(self, cli, options, device, problem, problems, err);
    else if (!rc)
        rc = measure_energies(self, cli, options, budget_s, problem, weight, problems, err);
    closed = gt_energy_rows_close(&self->rows, rc ? NULL : err);
    free(problem);
    free(weight);
    return rc ? rc : closed;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct gt_energy_options options = *(const struct gt_energy_options *)fields;
    struct gt_energy_report where = {.costs_key = "problems"};
    struct gt_session session = {0};
    struct gt_device device = {.cc = 0};
    double budget_s = 0;
    int rc = complete(&options, cli, &budget_s, err);
    struct gt_energies *self = energies_new(&session, &options, &where);

    if (!self)
        return gt_err_nomem(err);
    if (cli->json) {
        gt_cmd_json_watch();
        where.json = cJSON_CreateObject();
        cJSON_AddStringToObject(where.json, "format", "gemmtune energy 1");
    } else {
        where.out = cli->out;
    }
    GT_STEP(rc, all(self, cli, &options, &device, budget_s, err));
    if (!rc && cli->json)
        rc = gt_cmd_print_json(cli, where.json, err);
    else
        cJSON_Delete(where.json);
    if (!rc && !options.stored && !self->measured)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing could be measured; tune the problems first");
    else if (!rc && !self->rows.found)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "no energy of these problems is stored");
    gt_session_close(&session);
    free(self);
    return rc;
}

const struct gt_command gt_command_energy = {
    .name = "energy",
    .doc = "what a product costs in joules, and the best by energy",
    .usage = "energy [FILE|MxNxK] [--shape MxNxK]... [--objective time|energy|edp] [OPTION]...",
    .about =
        "Measures the energy of a product with the GPU's own meter (NVML): the fastest candidates\n"
        "of each problem that are stored or shipped and cuBLASLt's best answer, each for half a\n"
        "second or more without a gap, at the clock that the power cap leaves. The meter counts\n"
        "the whole GPU; the bound of its error stands beside each figure, and what the bounds do\n"
        "not tell apart is marked =. Results are kept beside the times (view `objective`): the\n"
        "best by time, by energy and by energy times time are views of the same candidates.\n"
        "Programs and exports are handed the best by time; --objective of tune lookup, tune show\n"
        "and tune export --format energy asks for another.\n"
        "\n"
        "  tune --shape 4096x4096x4096:bf16 --budget 30s\n"
        "  tune energy --shape 4096x4096x4096:bf16 --objective energy\n"
        "  tune energy --shape 4096x4096x4096:bf16 --stored\n",
    .group = {{gt_problem_option_table, offsetof(struct gt_energy_options, problem)},
              {gt_session_option_table, offsetof(struct gt_energy_options, session)},
              {option_table, 0}},
    .argument = "FILE",
    .size = sizeof(struct gt_energy_options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
