/* cmd_energy.c - tune energy: what a product costs: of the fastest stored candidates of each
 * problem and of cuBLASLt's answer, and which is best by time, energy or their product.
 * cmd_energy_items.c finds the candidates, cmd_energy_costs.c has the table of what the fastest
 * costs and what less speed saves. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_csv.h"
#include "console/cmd_json.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "measure/cmd_energy.h"
#include "measure/cmd_energy_costs.h"
#include "measure/cmd_energy_items.h"
#include "problem/problem.h"
#include "sweep/progress.h"

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *objective, *csv, *costs, *budget;
    int64_t entries;
    double seconds, within, slower;
};

static const struct gt_option option_table[] = {
    GT_CHOICE(options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
              "what the best of a problem is best by: time (default), energy, or edp: energy times "
              "time"),
    GT_INTEGER(options, entries, "entries", 0, "N", 1, GT_ENERGY_ITEMS,
               "measure the N fastest stored candidates of each problem (default: 8)"),
    GT_REAL(options, within, "within", 0, "PERCENT", 0.1, 1000,
            "and of those only such as are slower than the fastest by no more (default: 10)"),
    GT_REAL(options, seconds, "seconds", 0, "SECONDS", 0.01, 60,
            "how long each is measured, after 1.4 times as much heating (default: 0.5)"),
    GT_TEXT(options, budget, "budget", 'b', "TIME",
            "end after that time (\"60s\"): cuBLASLt's answer and the fastest candidate of each "
            "problem are measured in any case, others while its share by weight lasts"),
    GT_REAL(options, slower, "slower", 0, "PERCENT", 0.1, 1000,
            "how much slower than the fastest the one may be that saves energy (default: 3)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_TEXT(options, costs, "costs", 0, "FILE",
            "write a table with a row for each problem there: what the fastest costs, what "
            "--slower saves, what cuBLASLt's answer costs"),
    GT_OPTIONS_END,
};

struct energies {
    struct gt_session *session;
    const struct options *options;
    enum gt_objective objective;
    struct gt_csv *csv, *costs;
    double end_s;                          /* on the clock; 0: there is no budget */
    const struct gt_energy_report *report; /* where it is printed */
    cJSON *rows, *problems;                /* lists of report->json */
    size_t measured;
    /* of the problem at hand */
    const char *problem;
    struct gt_energy_items items;
    double until_s;                       /* on the clock; 0: there is no budget */
    struct gt_energy best[GT_OBJECTIVES]; /* us 0: there is none */
    struct gt_energy_costs cost;
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

/* Measures and keeps one; a candidate that cannot be measured is told of, and no error. */
static int measure(struct energies *self, const struct gt_problem *problem,
                   const struct gt_energy_item *item, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_energy energy;
    struct gt_err why = {0};
    int rc;

    if (*self->session->cli->signals)
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted; what was measured is kept");
    if (item) {
        const struct gt_candidate candidate = {item->kernel, problem, &evaluator->device,
                                               item->point};

        rc = evaluator->ops->energy(evaluator, &candidate, self->options->seconds, &energy, &why);
    } else {
        rc = evaluator->ops->energy(evaluator, NULL, self->options->seconds, &energy, &why);
    }
    if (!rc)
        return keep(self, problem, item, &energy, err);
    if (rc == GT_ERANGE) {
        gt_progress_note(self->session->progress, why.msg);
        return GT_OK;
    }
    return gt_err_set(err, rc, "%s", why.msg);
}

/* The objectives by which a row is the best: "time edp". */
static void name_best(const struct gt_energy_row *row, char text[32])
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->best[i])
            length += (size_t)snprintf(text + length, 32 - length, "%s%s", length ? " " : "",
                                       gt_objective_name((enum gt_objective)i));
}

static void print_row(const struct energies *self, const struct gt_energy_row *row,
                      const char *best)
{
    const struct gt_energy *e = &row->energy;

    fprintf(self->report->out, "%c %10.2f us %10.3f mJ +-%4.1f %% %7.1f W %6.0f MHz  %-15s %s %s\n",
            row->best[self->objective] ? '*' : ' ', e->us, 1e3 * e->joules, 100 * e->error,
            e->watts, e->clock_mhz, best, row->kernel, row->point);
}

static int report_row(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct energies *self = context;
    const struct gt_energy *e = &row->energy;
    struct gt_record record = {self->rows ? cJSON_CreateObject() : NULL, self->csv};
    char best[32];
    int rc;

    name_best(row, best);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->best[i])
            self->best[i] = *e;
    rc = gt_energy_costs_take(&self->cost, row, self->options->slower, err);
    if (record.json)
        cJSON_AddItemToArray(self->rows, record.json);
    if (self->report->out)
        print_row(self, row, best);
    gt_record_text(&record, "device", self->session->evaluator->device.name);
    gt_record_text(&record, "problem", self->problem);
    gt_record_text(&record, "kernel", row->kernel);
    gt_record_text(&record, "point", row->point);
    gt_record_real(&record, "us", e->us, 3, true);
    gt_record_real(&record, "joules", e->joules, 8, true);
    gt_record_real(&record, "error", e->error, 4, true);
    gt_record_real(&record, "watts", e->watts, 1, true);
    gt_record_real(&record, "clock_mhz", e->clock_mhz, 0, e->clock_mhz > 0);
    gt_record_text(&record, "method", e->counted ? "counter" : "power");
    gt_record_text(&record, "best", best);
    gt_csv_end(self->csv);
    return rc;
}

/* The best by the objective against the fastest, in a line. */
static void print_chosen(const struct energies *self, FILE *out, const char *of)
{
    const struct gt_energy *fast = &self->best[GT_BY_TIME];
    const struct gt_energy *chosen = &self->best[self->objective];

    fprintf(out, "%s best by %s: %+.1f %% time, %+.1f %% energy against the fastest\n", of,
            gt_objective_name(self->objective), 100 * (chosen->us / fast->us - 1),
            100 * (chosen->joules / fast->joules - 1));
}

/* The rows of a problem and what less speed saves. */
static int report(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    FILE *out = self->report->out, *brief = self->report->brief;
    struct gt_record record = {NULL, self->costs};
    char of[GT_PROBLEM_TEXT_MAX + 1];
    int rc;

    gt_energy_costs_begin(&self->cost);
    if (out)
        fprintf(out, "%s\n", self->problem);
    memset(self->best, 0, sizeof(self->best));
    rc = gt_store_energies(self->session->store, &self->session->evaluator->device, self->problem,
                           report_row, self, err);
    if (rc)
        return rc;
    if (out && self->objective != GT_BY_TIME && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, out, " ");
    snprintf(of, sizeof(of), "%s:", self->problem);
    if (brief && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, brief, of);
    if (out)
        gt_energy_costs_print(&self->cost, out, self->options->slower);
    if (self->problems) {
        record.json = cJSON_CreateObject();
        cJSON_AddItemToArray(self->problems, record.json);
    }
    gt_energy_costs_write(&self->cost, problem, self->session->evaluator->device.name, &record);
    return GT_OK;
}

static int one_problem(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_baseline baseline;
    struct gt_err why = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc;

    gt_problem_format(problem, text);
    self->problem = text;
    gt_progress_now(self->session->progress, text);
    rc = gt_energy_items_find(&self->items, self->session, text, self->options->within, err);
    if (rc)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, problem, &why);
    if (rc == GT_ETOOBIG) { /* other problems may fit */
        gt_progress_note(self->session->progress, why.msg);
        return GT_OK;
    }
    if (rc)
        return gt_err_pass(err, &why, rc);
    rc = evaluator->ops->baseline(evaluator, &baseline, &why);
    if (!rc)
        rc = measure(self, problem, NULL, err);
    else if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        rc = GT_OK; /* ours alone */
    else
        return gt_err_set(err, rc, "%s", why.msg);
    for (size_t i = 0; i < self->items.count && !rc; i++)
        if (i == 0 || !(self->until_s > 0) || gt_clock_s() < self->until_s)
            rc = measure(self, problem, &self->items.item[i], err);
    return rc ? rc : report(self, problem, err);
}

static int open_report(struct energies *self, struct gt_err *err)
{
    const struct gt_device *device = &self->session->evaluator->device;
    int rc = GT_OK;

    if (self->report->json) {
        self->rows = cJSON_AddArrayToObject(self->report->json, "energies");
        self->problems = cJSON_AddArrayToObject(self->report->json, self->report->costs_key);
        if (!self->problems)
            return gt_err_nomem(err);
    }
    if (self->report->out)
        fprintf(self->report->out, "%s (sm_%d): energy of a product, whole GPU; *: best by %s\n",
                device->name, device->cc, gt_objective_name(self->objective));
    if (self->options->csv)
        rc = gt_csv_new(&self->csv, self->options->csv,
                        "device,problem,kernel,point,us,joules,error,watts,clock_mhz,method,best",
                        err);
    if (!rc && self->options->costs)
        rc = gt_csv_new(&self->costs, self->options->costs, GT_ENERGY_COSTS_HEADING, err);
    return rc;
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
    rc = open_report(self, err);
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
}

static int complete(struct options *options, const struct gt_cli *cli, double *seconds,
                    struct gt_err *err)
{
    struct gt_budget budget = {0};
    int rc = GT_OK;

    set_defaults(options);
    if (cli->arguments)
        gt_session_argument(&options->problem, cli->argument[0]);
    if (options->budget) {
        rc = gt_budget_parse(&budget, options->budget, err);
        if (!rc && (!(budget.seconds > 0) || budget.each || budget.trials || budget.patience))
            rc = gt_err_set(err, GT_ESYNTAX, "--budget %s: a time is wanted, such as 60s",
                            options->budget);
    }
    *seconds = budget.seconds;
    return rc;
}

int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          const struct gt_energy_report *report, struct gt_err *err)
{
    struct options options = {.objective = objective};
    struct energies *self = calloc(1, sizeof(*self));
    int rc;

    if (!self)
        return gt_err_nomem(err);
    set_defaults(&options);
    self->session = session;
    self->options = &options;
    self->report = report;
    self->objective = gt_objective_parse(objective);
    self->items.most = (size_t)options.entries;
    gt_energy_costs_init(&self->cost);
    rc = all_problems(self, problem, weight, problems, err);
    gt_energy_costs_release(&self->cost);
    free(self);
    return rc;
}

static int close_tables(struct energies *self, struct gt_err *err)
{
    const int closed = gt_csv_close(self->csv, err);
    const int costs = gt_csv_close(self->costs, closed ? NULL : err);

    return closed ? closed : costs;
}

static cJSON *begin_document(const struct gt_session *session)
{
    cJSON *json;

    gt_cmd_json_watch();
    json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "format", "gemmtune energy 1");
    cJSON_AddStringToObject(json, "device", session->evaluator->device.name);
    return json;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct options options = *(const struct options *)fields;
    struct energies *self = calloc(1, sizeof(*self));
    struct gt_energy_report where = {.costs_key = "problems"};
    struct gt_session session = {0};
    struct gt_problem *problem = NULL;
    double *weight = NULL;
    size_t problems = 0;
    double budget_s = 0;
    int rc, closed;

    if (!self)
        return gt_err_nomem(err);
    gt_energy_costs_init(&self->cost);
    self->session = &session;
    rc = complete(&options, cli, &budget_s, err);
    self->objective = gt_objective_parse(options.objective);
    self->options = &options;
    self->items.most = (size_t)options.entries;
    GT_STEP(rc,
            gt_session_problems(cli, NULL, &problem, &weight, &problems, &options.problem, err));
    GT_STEP(rc, gt_session_no_replay(&options.session, err));
    options.session.measure = true;
    GT_STEP(rc, gt_session_open(self->session, cli, &options.session, err));
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "energy is measured on a GPU");
    self->end_s = budget_s > 0 ? gt_clock_s() + budget_s : 0;
    if (!rc && cli->json)
        where.json = begin_document(&session);
    else
        where.out = cli->out;
    self->report = &where;
    GT_STEP(rc, all_problems(self, problem, weight, problems, err));
    closed = close_tables(self, rc ? NULL : err);
    rc = rc ? rc : closed;
    if (!rc && cli->json)
        rc = gt_cmd_print_json(cli, where.json, err);
    else
        cJSON_Delete(where.json);
    if (!rc && !self->measured)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing could be measured; tune the problems first");
    gt_energy_costs_release(&self->cost);
    gt_session_close(self->session);
    free(problem);
    free(weight);
    free(self);
    return rc;
}

const struct gt_command gt_command_energy = {
    .name = "energy",
    .doc = "what a product costs in joules, and the best by energy",
    .usage = "energy [FILE|MxNxK] [--shape MxNxK]... [--objective time|energy|edp] [OPTION]...",
    .about =
        "Measures the energy of a product with the GPU's own meter (NVML): cuBLASLt's best answer\n"
        "and the fastest candidates of each problem that are stored or shipped, each for half a\n"
        "second without a gap, at the clock that the power cap leaves. The meter counts the whole\n"
        "GPU; the bound of its error stands beside each figure. Results are kept beside the times\n"
        "(view `objective`): the best by time, by energy and by energy times time are views of "
        "the\n"
        "same candidates.\n"
        "Programs and exports are handed the best by time; --objective of tune lookup, tune show\n"
        "and tune export --format energy asks for another.\n"
        "\n"
        "  tune --shape 4096x4096x4096:bf16 --budget 30s\n"
        "  tune energy --shape 4096x4096x4096:bf16 --objective energy\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem)},
              {gt_session_option_table, offsetof(struct options, session)},
              {option_table, 0}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
