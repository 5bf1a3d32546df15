/* cmd_energy.c - tune energy: what a product costs: of the fastest stored candidates of each
 * problem and of cuBLASLt's answer, and which is best by time, energy or their product.
 * cmd_energy_items.c finds the candidates, cmd_energy_rows.c shows what is known of them,
 * cmd_energy_costs.c has the table of what the fastest costs and what less speed saves. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_json.h"
#include "session/cmd_session.h"
#include "console/commands.h"
#include "measure/cmd_energy.h"
#include "measure/cmd_energy_items.h"
#include "measure/cmd_energy_rows.h"
#include "problem/problem.h"
#include "sweep/progress.h"

#define READING 3.5 /* times --seconds: what a reading takes at least, with its heating */

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *objective, *csv, *costs, *budget;
    int64_t entries;
    double seconds, error, within, slower;
    bool stored;
};

static const struct gt_option option_table[] = {
    GT_CHOICE(options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
              "what the best of a problem is best by: time (default), energy, or edp: energy times "
              "time; of those that the bounds of the errors do not tell apart, the fastest"),
    GT_INTEGER(options, entries, "entries", 0, "N", 1, GT_ENERGY_ITEMS,
               "measure the N fastest stored candidates of each problem (default: 8)"),
    GT_REAL(options, within, "within", 0, "PERCENT", 0.1, 1000,
            "and of those only such as are slower than the fastest by no more (default: 10)"),
    GT_REAL(options, seconds, "seconds", 0, "SECONDS", 0.01, 60,
            "how long each is measured at least, after 2.4 times as much heating (default: 0.5)"),
    GT_REAL(options, error, "error", 0, "PERCENT", 0.1, 100,
            "and until the bound of its error is so, for at most four times as long (default: 3)"),
    GT_TEXT(options, budget, "budget", 'b', "TIME",
            "end after that time (\"60s\"): the fastest candidate of each problem and cuBLASLt's "
            "answer are measured in any case, others while its share by weight lasts"),
    GT_REAL(options, slower, "slower", 0, "PERCENT", 0.1, 1000,
            "how much slower than the fastest the one may be that saves energy (default: 3)"),
    GT_FLAG(options, stored, "stored", 0,
            "measure nothing: show what the database has, of the GPU that was measured last"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_TEXT(options, costs, "costs", 0, "FILE",
            "write a table with a row for each problem there: what the fastest costs, what "
            "--slower saves, what cuBLASLt's answer costs"),
    GT_OPTIONS_END,
};

struct energies {
    struct gt_session *session;
    const struct options *options;
    double end_s; /* on the clock; 0: there is no budget */
    size_t measured;
    struct gt_energy_rows rows;
    /* of the problem at hand */
    struct gt_energy_items items;
    double until_s; /* on the clock; 0: there is no budget */
    bool given_up;
};

static int keep(struct energies *self, const struct gt_problem *problem,
                const struct gt_energy_item *item, const struct gt_energy *energy,
                struct gt_err *err)
{
    struct gt_store *store = self->session->store;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {0};
    int rc = gt_store_device(store, &self->session->evaluator->device, &key.device, err);

    GT_STEP(rc, gt_store_problem(store, problem, &key.problem, err));
    if (item)
        gt_point_format(&point, item->kernel, &item->point);
    GT_STEP(rc, gt_strbuf_check(&point, err));
    GT_STEP(rc, gt_store_put_energy(
                    store,
                    &(struct gt_energy_row){.kernel = item ? item->kernel->name : GT_ENERGY_VENDOR,
                                            .signature = item ? item->kernel->signature : "",
                                            .point = item ? point.text : "",
                                            .energy = *energy},
                    &key, err));
    gt_strbuf_release(&point);
    self->measured += !rc;
    return rc;
}

/* Says why something of the problem was not measured.  That is an error, but others go on. */
static void tell(const struct energies *self, const struct gt_problem *problem, const char *what,
                 const char *why)
{
    char text[GT_PROBLEM_TEXT_MAX], sentence[1024];

    gt_problem_format(problem, text);
    snprintf(sentence, sizeof(sentence), "%s: %s%s%s%s", text, what, *what ? ": " : "", why,
             self->given_up ? "; no more of this problem is measured" : "");
    if (self->session->progress)
        gt_progress_note(self->session->progress, sentence);
    else
        fprintf(self->session->cli->log, "%s\n", sentence);
}

/* What a reading may take: all that the problem has left, but time for one. */
static struct gt_energy_wish wish_of(const struct energies *self)
{
    const struct options *options = self->options;
    const double left_s = self->until_s - gt_clock_s();

    return (struct gt_energy_wish){
        .seconds = options->seconds,
        .error = options->error / 100,
        .most_s = self->until_s > 0 ? fmax(left_s, READING * options->seconds) : 0};
}

/* Measures and keeps one; a candidate that cannot be measured is told of, and no error.  One that
 * stalls has taken its time: the problem is given up. */
static int measure(struct energies *self, const struct gt_problem *problem,
                   const struct gt_energy_item *item, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    const struct gt_energy_wish wish = wish_of(self);
    struct gt_candidate candidate = {.problem = problem, .device = &evaluator->device};
    struct gt_energy energy;
    struct gt_err why = {0};
    char what[160];
    int rc;

    if (*self->session->cli->signals)
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted; what was measured is kept");
    if (item) {
        candidate.kernel = item->kernel;
        candidate.point = item->point;
    }
    snprintf(what, sizeof(what), "energy of %s", item ? item->kernel->name : "cuBLASLt's answer");
    self->session->waits_for = what;
    rc = evaluator->ops->energy(evaluator, item ? &candidate : NULL, &wish, &energy, &why);
    self->session->waits_for = NULL;
    if (!rc)
        return keep(self, problem, item, &energy, err);
    if (rc != GT_ERANGE && rc != GT_ELOST)
        return gt_err_set(err, rc, "%s", why.msg);
    self->given_up = rc == GT_ELOST;
    tell(self, problem, what, why.msg);
    return GT_OK;
}

static int measure_vendor(struct energies *self, const struct gt_problem *problem,
                          struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_baseline baseline;
    struct gt_err why = {0};
    int rc = evaluator->ops->baseline(evaluator, &baseline, &why);

    if (!rc)
        return measure(self, problem, NULL, err);
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        return GT_OK; /* ours alone */
    return gt_err_set(err, rc, "%s", why.msg);
}

/* The fastest, cuBLASLt's answer, and others while there is time for a reading. */
static int measure_all(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    const double reading_s = READING * self->options->seconds;
    const struct gt_energy_items *items = &self->items;
    int rc = GT_OK;

    if (items->count)
        rc = measure(self, problem, &items->item[0], err);
    else
        tell(self, problem, "", "no candidate is stored or shipped for this GPU: tune it first");
    if (!rc && !self->given_up)
        rc = measure_vendor(self, problem, err);
    for (size_t i = 1; i < items->count && !rc && !self->given_up; i++)
        if (!(self->until_s > 0) || gt_clock_s() + reading_s < self->until_s)
            rc = measure(self, problem, &items->item[i], err);
    return rc;
}

static int one_problem(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_err why = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc;

    self->given_up = false;
    gt_problem_format(problem, text);
    gt_progress_now(self->session->progress, text);
    rc = gt_energy_items_find(&self->items, self->session, text, self->options->within, err);
    if (rc)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, problem, &why);
    if (rc == GT_ETOOBIG) { /* other problems may fit */
        tell(self, problem, "", why.msg);
        return GT_OK;
    }
    if (rc)
        return gt_err_pass(err, &why, rc);
    rc = measure_all(self, problem, err);
    return rc ? rc : gt_energy_rows_problem(&self->rows, self->session->store, problem, err);
}

/* Problems have shares of a budget by their weights; what one does not need is the next ones'. */
static int all_problems(struct energies *self, const struct gt_problem *problem,
                        const double *weight, size_t problems, struct gt_err *err)
{
    double weights = 0;
    int rc = GT_OK;

    if (!self->session->evaluator->ops->energy)
        return gt_err_set(err, GT_ENOGPU, "energy is measured on a GPU; there is none here%s%s",
                          self->session->no_gpu.code ? ": " : "",
                          self->session->no_gpu.code ? self->session->no_gpu.msg : "");
    rc = gt_energy_rows_open(&self->rows, &self->session->evaluator->device, self->options->csv,
                             self->options->costs, err);
    for (size_t i = 0; i < problems; i++)
        weights += weight ? weight[i] : 1;
    for (size_t i = 0; i < problems && !rc; i++) {
        const double now_s = gt_clock_s(), share = weight ? weight[i] : 1;

        if (self->end_s > 0) /* even where nothing is left there is a budget */
            self->until_s =
                now_s + fmax(1e-9, (self->end_s - now_s) * share / fmax(weights, share));
        weights -= share;
        rc = one_problem(self, &problem[i], err);
    }
    return rc;
}

/* What was not given gets its default. */
static void set_defaults(struct options *options)
{
    options->entries = options->entries ? options->entries : 8;
    options->within = options->within > 0 ? options->within : 10;
    options->slower = options->slower > 0 ? options->slower : 3;
    options->seconds = options->seconds > 0 ? options->seconds : 0.5;
    options->error = options->error > 0 ? options->error : 3;
}

static int complete(struct options *options, const struct gt_cli *cli, double *seconds,
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

static struct energies *energies_new(struct gt_session *session, const struct options *options,
                                     const struct gt_energy_report *report)
{
    struct energies *self = calloc(1, sizeof(*self));

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
    struct options options = {.objective = objective};
    struct energies *self;
    int rc;

    set_defaults(&options);
    self = energies_new(session, &options, report);
    if (!self)
        return gt_err_nomem(err);
    rc = all_problems(self, problem, weight, problems, err);
    gt_energy_rows_close(&self->rows, NULL);
    free(self);
    return rc;
}

static void name_device(const struct energies *self, const char *name)
{
    if (self->rows.report->json)
        cJSON_AddStringToObject(self->rows.report->json, "device", name);
}

static int measure_energies(struct energies *self, struct gt_cli *cli, struct options *options,
                            double budget_s, const struct gt_problem *problem, const double *weight,
                            size_t problems, struct gt_err *err)
{
    int rc;

    options->session.measure = true;
    rc = gt_session_open(self->session, cli, &options->session, err);
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "energy is measured on a GPU");
    self->end_s = budget_s > 0 ? gt_clock_s() + budget_s : 0;
    if (!rc)
        name_device(self, self->session->evaluator->device.name);
    GT_STEP(rc, all_problems(self, problem, weight, problems, err));
    return rc;
}

static int show_stored(struct energies *self, struct gt_cli *cli, const struct options *options,
                       struct gt_device *device, const struct gt_problem *problem, size_t problems,
                       struct gt_err *err)
{
    struct gt_store *store = NULL;
    const char *path;
    int rc = gt_session_database(&path, cli, options->session.db, false, err);

    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_READ, err));
    GT_STEP(rc, gt_energy_rows_device(store, device, err));
    if (!rc)
        name_device(self, device->name);
    GT_STEP(rc, gt_energy_rows_open(&self->rows, device, options->csv, options->costs, err));
    for (size_t i = 0; i < problems && !rc; i++)
        rc = gt_energy_rows_problem(&self->rows, store, &problem[i], err);
    gt_store_close(store);
    return rc;
}

/* Measures or reads; where.json gets what is printed as JSON. */
static int all(struct energies *self, struct gt_cli *cli, struct options *options,
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
    struct options options = *(const struct options *)fields;
    struct gt_energy_report where = {.costs_key = "problems"};
    struct gt_session session = {0};
    struct gt_device device = {.cc = 0};
    double budget_s = 0;
    int rc = complete(&options, cli, &budget_s, err);
    struct energies *self = energies_new(&session, &options, &where);

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
    .group = {{gt_problem_option_table, offsetof(struct options, problem)},
              {gt_session_option_table, offsetof(struct options, session)},
              {option_table, 0}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
