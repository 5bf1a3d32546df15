/* cmd_energy.c - tune energy: what a product costs: of the fastest stored candidates of each
 * problem and of cuBLASLt's answer, and which is best by time, energy or their product. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_csv.h"
#include "console/cmd_json.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "problem/problem.h"
#include "sweep/progress.h"

#define ENTRIES_MOST 64

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *objective, *csv;
    int64_t entries;
    double seconds, within;
};

static const struct gt_option option_table[] = {
    GT_CHOICE(options, objective, "objective", 0, "WHICH", "time|energy|edp",
              "what the best of a problem is best by: time (default), energy, or edp: energy times "
              "time"),
    GT_INTEGER(options, entries, "entries", 0, "N", 1, ENTRIES_MOST,
               "measure the N fastest stored candidates of each problem (default: 8)"),
    GT_REAL(options, within, "within", 0, "PERCENT", 0.1, 1000,
            "and of those only such as are slower than the fastest by no more (default: 10)"),
    GT_REAL(options, seconds, "seconds", 0, "SECONDS", 0.01, 60,
            "how long each is measured, after as much heating as 0.6 of that (default: 0.5)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_OPTIONS_END,
};

static const char *const objective_names[GT_OBJECTIVES] = {"time", "energy", "edp"};

/* A stored candidate; sorted by its time. */
struct item {
    const struct gt_kernel *kernel;
    struct gt_point point;
    double us;
};

struct energies {
    struct gt_session session;
    const struct options *options;
    enum gt_objective objective;
    struct gt_csv *csv;
    cJSON *json, *rows;
    size_t measured;
    /* of the problem at hand */
    const char *problem;
    struct item item[ENTRIES_MOST];
    size_t items, most;
    struct gt_energy_row best[GT_OBJECTIVES]; /* its texts are not kept */
};

/* Whether there is room for an item of this time: the same candidate, which was timed on another
 * device of that name or with another driver too, makes room if it was slower there. */
static bool make_room(struct energies *self, const struct item *item)
{
    const size_t bytes = item->kernel->params * sizeof(item->point.value[0]);

    for (size_t i = 0; i < self->items; i++) {
        struct item *same = &self->item[i];

        if (same->kernel != item->kernel || memcmp(same->point.value, item->point.value, bytes))
            continue;
        if (same->us <= item->us)
            return false;
        self->items--;
        memmove(same, same + 1, (self->items - i) * sizeof(*same));
        return true;
    }
    if (self->items < self->most)
        return true;
    if (self->item[self->items - 1].us <= item->us)
        return false;
    self->items--;
    return true;
}

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct energies *self = context;
    const struct gt_session *session = &self->session;
    struct item item = {.us = row->us};
    size_t at;
    int rc;

    if (row->status != GT_STATUS_OK || row->timing != GT_TIMING_COLD || !(row->us > 0) ||
        strcmp(row->device, session->evaluator->device.name) != 0)
        return GT_OK;
    item.kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);
    if (!item.kernel || strcmp(item.kernel->signature, row->signature) != 0)
        return GT_OK; /* of another text of the template */
    rc = gt_point_parse(&item.point, item.kernel, row->point, err);
    if (rc || !make_room(self, &item))
        return rc;
    for (at = self->items++; at && self->item[at - 1].us > item.us; at--)
        self->item[at] = self->item[at - 1];
    self->item[at] = item;
    return GT_OK;
}

/* The fastest stored candidates; those that are too slow are left out again. */
static int find_items(struct energies *self, struct gt_err *err)
{
    const struct gt_row_filter filter = {.problem = self->problem,
                                         .cc = self->session.evaluator->device.cc,
                                         .provenance = 1u << GT_MEASURED};
    const double within = 1 + self->options->within / 100;
    int rc;

    self->items = 0;
    rc = gt_store_rows(self->session.store, &filter, take_row, self, err);
    while (self->items > 1 && self->item[self->items - 1].us > within * self->item[0].us)
        self->items--;
    return rc;
}

static int keep(struct energies *self, const struct gt_problem *problem, const struct item *item,
                const struct gt_energy *energy, struct gt_err *err)
{
    struct gt_store *store = self->session.store;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {0};
    int rc = gt_store_device(store, &self->session.evaluator->device, &key.device, err);

    GT_STEP(rc, gt_store_problem(store, problem, &key.problem, err));
    if (item)
        gt_point_format(&point, item->kernel, &item->point);
    GT_STEP(rc, gt_strbuf_check(&point, err));
    GT_STEP(rc, gt_store_put_energy(
                    store,
                    &(struct gt_energy_row){.kernel = item ? item->kernel->name : "cublaslt",
                                            .signature = item ? item->kernel->signature : "",
                                            .point = item ? point.text : "",
                                            .energy = *energy},
                    &key, err));
    gt_strbuf_release(&point);
    self->measured += !rc;
    return rc;
}

/* Measures and keeps one; a candidate that cannot be measured is told of, and no error. */
static int measure(struct energies *self, const struct gt_problem *problem, const struct item *item,
                   struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session.evaluator;
    struct gt_energy energy;
    struct gt_err why = {0};
    int rc;

    if (*self->session.cli->signals)
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
        gt_progress_note(self->session.progress, why.msg);
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
                                       objective_names[i]);
}

static void print_row(const struct energies *self, const struct gt_energy_row *row,
                      const char *best)
{
    const struct gt_energy *e = &row->energy;

    fprintf(self->session.cli->out,
            "%c %10.2f us %10.3f mJ +-%4.1f %% %7.1f W %6.0f MHz  %-15s %s %s\n",
            row->best[self->objective] ? '*' : ' ', e->us, 1e3 * e->joules, 100 * e->error,
            e->watts, e->clock_mhz, best, row->kernel, row->point);
}

static int report_row(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct energies *self = context;
    const struct gt_energy *e = &row->energy;
    struct gt_record record = {self->json ? cJSON_CreateObject() : NULL, self->csv};
    char best[32];

    (void)err;
    name_best(row, best);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->best[i])
            self->best[i].energy = *e;
    if (record.json)
        cJSON_AddItemToArray(self->rows, record.json);
    else
        print_row(self, row, best);
    gt_record_text(&record, "device", self->session.evaluator->device.name);
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
    return GT_OK;
}

/* The rows of a problem and what less speed saves. */
static int report(struct energies *self, struct gt_err *err)
{
    const struct gt_energy *fast = &self->best[GT_BY_TIME].energy;
    const struct gt_energy *chosen = &self->best[self->objective].energy;
    int rc;

    if (!self->json)
        fprintf(self->session.cli->out, "%s\n", self->problem);
    memset(self->best, 0, sizeof(self->best));
    rc = gt_store_energies(self->session.store, &self->session.evaluator->device, self->problem,
                           report_row, self, err);
    if (!rc && !self->json && self->objective != GT_BY_TIME && fast->us > 0)
        fprintf(self->session.cli->out,
                "  best by %s: %+.1f %% time, %+.1f %% energy against the fastest\n",
                objective_names[self->objective], 100 * (chosen->us / fast->us - 1),
                100 * (chosen->joules / fast->joules - 1));
    return rc;
}

static int one_problem(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session.evaluator;
    struct gt_baseline baseline;
    struct gt_err why = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc;

    gt_problem_format(problem, text);
    self->problem = text;
    gt_progress_title(self->session.progress, text);
    rc = find_items(self, err);
    if (rc)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, problem, &why);
    if (rc == GT_ETOOBIG) { /* other problems may fit */
        gt_progress_note(self->session.progress, why.msg);
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
    for (size_t i = 0; i < self->items && !rc; i++)
        rc = measure(self, problem, &self->item[i], err);
    return rc ? rc : report(self, err);
}

static int open_report(struct energies *self, struct gt_err *err)
{
    const struct gt_device *device = &self->session.evaluator->device;

    if (self->session.cli->json) {
        gt_cmd_json_watch();
        self->json = cJSON_CreateObject();
        cJSON_AddStringToObject(self->json, "format", "gemmtune energy 1");
        cJSON_AddStringToObject(self->json, "device", device->name);
        self->rows = cJSON_AddArrayToObject(self->json, "energies");
        if (!self->rows)
            return gt_err_nomem(err);
    } else {
        fprintf(self->session.cli->out,
                "%s (sm_%d): energy of a product, whole GPU; *: best by %s\n", device->name,
                device->cc, objective_names[self->objective]);
    }
    return self->options->csv
               ? gt_csv_new(
                     &self->csv, self->options->csv,
                     "device,problem,kernel,point,us,joules,error,watts,clock_mhz,method,best", err)
               : GT_OK;
}

static int all_problems(struct energies *self, const struct gt_problem *problem, size_t problems,
                        struct gt_err *err)
{
    int rc = GT_OK;

    if (!self->session.evaluator->ops->energy)
        return gt_err_set(err, GT_ENOGPU, "energy is measured on a GPU; there is none here%s%s",
                          self->session.no_gpu.code ? ": " : "",
                          self->session.no_gpu.code ? self->session.no_gpu.msg : "");
    rc = open_report(self, err);
    for (size_t i = 0; i < problems && !rc; i++)
        rc = one_problem(self, &problem[i], err);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct options options = *(const struct options *)fields;
    struct energies *self = calloc(1, sizeof(*self));
    struct gt_problem *problem = NULL;
    size_t problems = 0;
    int rc, closed;

    if (!self)
        return gt_err_nomem(err);
    options.entries = options.entries ? options.entries : 8;
    options.within = options.within > 0 ? options.within : 10;
    options.seconds = options.seconds > 0 ? options.seconds : 0.5;
    for (int i = 0; options.objective && i < GT_OBJECTIVES; i++)
        if (strcmp(options.objective, objective_names[i]) == 0)
            self->objective = (enum gt_objective)i;
    self->options = &options;
    self->most = (size_t)options.entries;
    if (cli->arguments)
        gt_session_argument(&options.problem, cli->argument[0]);
    rc = gt_session_problems(cli, NULL, &problem, NULL, &problems, &options.problem, err);
    GT_STEP(rc, gt_session_no_replay(&options.session, err));
    options.session.measure = true;
    GT_STEP(rc, gt_session_open(&self->session, cli, &options.session, err));
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "energy is measured on a GPU");
    GT_STEP(rc, all_problems(self, problem, problems, err));
    closed = gt_csv_close(self->csv, rc ? NULL : err);
    rc = rc ? rc : closed;
    if (!rc && self->json)
        rc = gt_cmd_print_json(cli, self->json, err);
    else
        cJSON_Delete(self->json);
    if (!rc && !self->measured)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing could be measured; tune the problems first");
    gt_session_close(&self->session);
    free(problem);
    free(self);
    return rc;
}

const struct gt_command gt_command_energy = {
    .name = "energy",
    .doc = "what a product costs in joules, and the best by energy",
    .usage = "energy [FILE|MxNxK] [--shape MxNxK]... [--objective time|energy|edp] [OPTION]...",
    .about =
        "Measures the energy of a product with the GPU's own meter (NVML): cuBLASLt's best answer\n"
        "and the fastest stored candidates of each problem, each for half a second without a gap,\n"
        "at the clock that the power cap leaves. The meter counts the whole GPU; the bound of its\n"
        "error stands beside each figure. Results are kept beside the times (view `objective`):\n"
        "the best by time, by energy and by energy times time are views of the same candidates.\n"
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
