/* cmd_learn.c - tune doctor --predictor --leave-out and --learn: reads measured trials, has what
 * choosing by them loses reported, and writes a ranking.  See cmd_learn.h. */
#include "kernel/kernel.h"

#include "doctor/cmd_learn.h"
#include "doctor/cmd_learn_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "console/cmd_json.h"
#include "console/cmd_write.h"
#include "session/cmd_session.h"
#include "db/store.h"
#include "exchange/trials.h"
#include "learn/learn.h"
#include "learn/learn_trials.h"
#include "lookup/table.h"

struct learning {
    struct gt_cli *cli;
    struct gt_kernels kernels;
    struct gt_learning rows;
    struct gt_learn_source source; /* of the rows */
    struct gt_ranking base;        /* its arch is 0 if there is no base */
};

/* A database has trials of other kinds, too. */
static int take_stored(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    return gt_trials_hold(named) ? gt_learn_take(context, named, err) : GT_OK;
}

static int read_database(struct learning *learning, const char *path, struct gt_err *err)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_MEASURED};
    struct gt_store *store = NULL;
    int rc = gt_session_store(&store, path, GT_STORE_READ, err);

    GT_STEP(rc, gt_store_trials(store, &filter, take_stored, &learning->source, err));
    gt_store_close(store);
    return rc;
}

static int read_table(struct learning *learning, const char *path, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, path, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_table_row *row = &table.row[i];

        const struct gt_named_trial named = {.device = row->device,
                                             .problem = row->text,
                                             .kernel = row->kernel,
                                             .point = row->point,
                                             .cc = row->cc,
                                             .trial = {.status = GT_STATUS_OK, .us = row->us}};

        if (!row->timing)
            rc = row->predicted ? gt_learn_take_estimate(&learning->source, &named, err)
                                : gt_learn_take(&learning->source, &named, err);
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
    if (gt_trials_found(path))
        return gt_trials_read(path, gt_learn_take, &learning->source, err);
    if (ends(path, ".csv"))
        return read_table(learning, path, err);
    return read_database(learning, path, err);
}

/* ---- what is written ---- */

static int write_ranking(const struct learning *learning, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_learn_write(&learning->rows, &text, err);

    GT_STEP(rc, gt_cmd_write_bytes(path, text.text, text.length, err));
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
    struct learning learning = {
        .cli = cli,
        .rows = {.kernels = &learning.kernels, .narrow = options->narrow},
        .source = {.learning = &learning.rows, .data_dir = cli->data_dir},
    };
    cJSON *rows = cli->json ? cJSON_CreateArray() : NULL;
    int rc = gt_kernels_load(&learning.kernels, cli->data_dir, NULL, NULL, err);

    if (!rc && options->output) /* before work of minutes */
        rc = gt_cmd_may_write(options->output, err);
    if (!rc && options->onto)
        rc = read_base(&learning, options->onto, err);
    if (!rc && options->db)
        rc = read_database(&learning, options->db, err);
    for (size_t i = 0; i < options->from->count && !rc; i++)
        rc = read_source(&learning, options->from->text[i], err);
    if (!rc && !learning.rows.rows)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing was measured that could be learned from");
    GT_STEP(rc, gt_cmd_learn_report(cli, options, &learning.rows, rows, err));
    if (!rc && learning.source.other + learning.source.gone && !cli->quiet)
        fprintf(cli->log,
                "%zu trials left out: of another arch, or of points that no kernel here "
                "has\n",
                learning.source.other + learning.source.gone);
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
