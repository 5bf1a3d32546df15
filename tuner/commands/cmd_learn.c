/* cmd_learn.c - tune doctor --predictor --leave-out and --learn: reads measured trials, has what
 * choosing by them loses reported, and writes a ranking.  See cmd_learn.h. */
#include "kernel/kernel.h"

#include "commands/cmd_learn.h"
#include "commands/cmd_learn_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "console/cmd_json.h"
#include "console/cmd_session.h"
#include "db/store.h"
#include "exchange/trials.h"
#include "learn/learn.h"
#include "lookup/table.h"
#include "problem/problem.h"

struct learning {
    struct gt_cli *cli;
    struct gt_kernels kernels;
    struct gt_learning rows;
    struct gt_device on;    /* that the last trial ran on */
    struct gt_ranking base; /* its arch is 0 if there is no base */
    size_t other, gone; /* trials left out: of another arch; of points that no kernel here has */
};

static bool has_param(const struct gt_kernel *kernel, const char *name, size_t length)
{
    for (size_t i = 0; i < kernel->params; i++)
        if (strlen(kernel->param[i].name) == length &&
            strncmp(kernel->param[i].name, name, length) == 0)
            return true;
    return false;
}

int gt_cmd_known_point(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                       struct gt_err *err)
{
    struct gt_strbuf known = GT_STRBUF_INIT;
    int rc;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");

        if (has_param(kernel, at, strcspn(at, "=")))
            gt_strbuf_addf(&known, "%s%.*s", known.length ? "," : "", (int)length, at);
        at += length + (at[length] == ',');
    }
    rc = gt_strbuf_check(&known, err);
    GT_STEP(rc, gt_point_parse(point, kernel, known.text, err));
    gt_strbuf_release(&known);
    return rc;
}

/* Sets the device of the next trials.  The first one of the arch is learned for. */
static int find_device(struct learning *learning, int cc, const char *name, struct gt_err *err)
{
    struct gt_device *on = &learning->on;
    int rc;

    if (on->cc == cc && strcmp(on->name, name) == 0)
        return GT_OK;
    rc = gt_device_profile_of(on, learning->cli->data_dir, cc, name, err);
    snprintf(on->name, sizeof(on->name), "%s", name);
    on->profile = false;
    if (!rc && !learning->rows.device.cc)
        learning->rows.device = *on;
    return rc;
}

/* Takes a trial. */
static int take(struct learning *learning, int cc, const char *device,
                const struct gt_problem *problem, const char *kernel, const char *point, double us,
                double clock_mhz, bool estimated, struct gt_err *err)
{
    struct gt_candidate candidate = {.problem = problem, .device = &learning->on};
    const int arch = learning->rows.device.cc ? learning->rows.device.cc : learning->base.cc;
    double clock;
    int failed, rc;

    if (arch && cc != arch) {
        learning->other++;
        return GT_OK;
    }
    rc = find_device(learning, cc, device, err);
    if (rc)
        return rc;
    if (estimated) /* of the arch */
        candidate.device = &learning->rows.device;
    candidate.kernel = gt_kernels_find(&learning->kernels, kernel, NULL);
    if (!candidate.kernel || !candidate.kernel->production ||
        gt_cmd_known_point(&candidate.point, candidate.kernel, point, NULL) ||
        gt_candidate_possible(&candidate, &failed, NULL) || failed >= 0) {
        learning->gone++;
        return GT_OK;
    }
    if (estimated)
        return gt_learn_add_estimate(&learning->rows, &candidate, us, err);
    clock = clock_mhz > 0 ? fmin(clock_mhz / learning->on.clock_mhz, 1) : 1;
    return gt_learn_add(&learning->rows, &candidate, us, clock, err);
}

static int take_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    const bool spills = named->trial.status == GT_STATUS_SPILLS;
    struct gt_problem problem;

    if (!gt_trials_hold(named) || gt_problem_parse(&problem, named->problem, NULL))
        return GT_OK;
    return take(context, named->cc, named->device, &problem, named->kernel, named->point,
                spills ? 0 : named->trial.us, named->trial.clock_mhz, false, err);
}

static int read_database(struct learning *learning, const char *path, struct gt_err *err)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_MEASURED};
    struct gt_store *store = NULL;
    int rc = gt_session_store(&store, path, GT_STORE_READ, err);

    GT_STEP(rc, gt_store_trials(store, &filter, take_trial, learning, err));
    gt_store_close(store);
    return rc;
}

static int read_table(struct learning *learning, const char *path, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, path, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_table_row *row = &table.row[i];

        if (!row->timing)
            rc = take(learning, row->cc, row->device, &row->problem, row->kernel, row->point,
                      row->us, 0, row->predicted, err);
    }
    gt_table_release(&table);
    return rc;
}

static bool ends(const char *path, const char *ending)
{
    const size_t length = strlen(path), size = strlen(ending);

    return length >= size && strcmp(path + length - size, ending) == 0;
}

static int read_source(struct learning *learning, const char *path, struct gt_err *err)
{
    if (ends(path, ".csv"))
        return read_table(learning, path, err);
    if (gt_trials_named(path))
        return gt_trials_read(path, take_trial, learning, err);
    return read_database(learning, path, err);
}

/* ---- what is written ---- */

static int write_ranking(const struct learning *learning, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_learn_write(&learning->rows, &text, err);
    FILE *file = rc ? NULL : fopen(path, "we");

    if (!rc && (!file || fwrite(text.text, 1, text.length, file) < text.length))
        rc = gt_err_set(err, GT_EIO, "%s: cannot write the ranking: %s", path, strerror(errno));
    if (file && fclose(file) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: cannot write the ranking: %s", path, strerror(errno));
    gt_strbuf_release(&text);
    return rc;
}

static int read_base(struct learning *learning, const char *path, struct gt_err *err)
{
    int rc = gt_ranking_load(&learning->base, &learning->kernels, path, err);

    return rc ? rc : gt_learn_onto(&learning->rows, &learning->base, err);
}

int gt_cmd_learn(struct gt_cli *cli, const struct gt_learn_options *options, struct gt_err *err)
{
    struct learning learning = {.cli = cli, .rows = {.kernels = &learning.kernels}};
    cJSON *rows = cli->json ? cJSON_CreateArray() : NULL;
    int rc = gt_kernels_load(&learning.kernels, cli->data_dir, NULL, NULL, err);

    if (!rc && options->onto)
        rc = read_base(&learning, options->onto, err);
    if (!rc && options->db)
        rc = read_database(&learning, options->db, err);
    for (size_t i = 0; i < options->from->count && !rc; i++)
        rc = read_source(&learning, options->from->text[i], err);
    if (!rc && !learning.rows.rows)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing was measured that could be learned from");
    GT_STEP(rc, gt_cmd_learn_report(cli, options, &learning.rows, rows, err));
    if (!rc && learning.other + learning.gone && !cli->quiet)
        fprintf(cli->log,
                "%zu trials left out: of another arch, or of points that no kernel here "
                "has\n",
                learning.other + learning.gone);
    if (!rc && options->output)
        rc = write_ranking(&learning, options->output, err);
    if (!rc && rows)
        rc = gt_cmd_print_json(cli, rows, err);
    else
        cJSON_Delete(rows);
    gt_learn_release(&learning.rows);
    gt_ranking_release(&learning.base);
    gt_kernels_release(&learning.kernels);
    return rc;
}
