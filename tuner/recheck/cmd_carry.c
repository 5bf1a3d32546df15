/* cmd_carry.c - tune recheck --adopt --same-code: reads the rows, has both texts of each compiled,
 * compares and writes what is the same.  See cmd_carry.h. */
#include "recheck/cmd_carry.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/clock.h"
#include "base/err.h"
#include "console/columns.h"
#include "base/strbuf.h"
#include "console/cmd_json.h"
#include "session/cmd_session.h"
#include "session/older.h"
#include "console/cmd_write.h"
#include "cuda/cache.h"
#include "workers/compile_pool.h"

#define COLLECT_MS  1000 /* longest single wait for a cubin */
#define SAY_SECONDS 10   /* between two progress lines */

static const char *const verdict_names[GT_CARRY_COUNT] = {"open", "current", "carried", "differs",
                                                          "unfit"};

/* ---- compiling ---- */

/* Submits both texts of every row that is open; *waiting: how many cubins that are. */
static int submit(struct gt_carrying *carrying, struct gt_compile_pool *pool, size_t *waiting,
                  struct gt_err *err)
{
    int rc = GT_OK;

    *waiting = 0;
    for (size_t i = 0; i < carrying->rows && !rc; i++)
        for (int which = 0; which < GT_CARRY_TEXTS && !rc; which++)
            if (carrying->row[i].verdict == GT_CARRY_OPEN) {
                rc = gt_compile_pool_submit(pool, i * GT_CARRY_TEXTS + (size_t)which,
                                            &carrying->row[i].candidate[which], err);
                *waiting += !rc;
            }
    return rc;
}

static int collect(struct gt_carrying *carrying, struct gt_compile_pool *pool, size_t waiting,
                   const char *cache_dir, struct gt_err *err)
{
    const struct gt_cli *cli = carrying->cli;
    const size_t all = waiting;
    double said = gt_clock_s();
    int rc = GT_OK;

    while (waiting && !rc) {
        struct gt_compiled compiled;
        struct gt_carry_row *row;
        int got = gt_compile_pool_collect(pool, COLLECT_MS, &compiled, err);

        if (got < 0)
            return got;
        if (*cli->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command goes on");
        if (!got)
            continue;
        waiting--;
        row = &carrying->row[compiled.id / GT_CARRY_TEXTS];
        gt_carry_compiled(row, (int)(compiled.id % GT_CARRY_TEXTS), &compiled);
        if (row->verdict == GT_CARRY_OPEN && *row->key[GT_CARRY_OLDER] && *row->key[GT_CARRY_TODAY])
            rc = gt_carry_code(row, cache_dir, err);
        if (!cli->quiet && gt_clock_s() - said > SAY_SECONDS) {
            said = gt_clock_s();
            fprintf(cli->log, "%zu of %zu cubins\n", all - waiting, all);
        }
    }
    return rc;
}

/* Compiles what is open, by both texts, and compares. */
static int compare(struct gt_carrying *carrying, struct gt_err *err)
{
    struct gt_compile_pool_options wanted = {.jobs = carrying->options->jobs};
    struct gt_compile_pool *pool = NULL;
    char *cache_dir = NULL;
    size_t open = 0, waiting = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < carrying->rows; i++)
        open += carrying->row[i].verdict == GT_CARRY_OPEN;
    if (!open)
        return GT_OK;
    rc = gt_session_cache(&cache_dir, err);
    wanted.cache_dir = cache_dir;
    GT_STEP(rc, gt_compile_pool_open(&pool, &wanted, err));
    GT_STEP(rc, submit(carrying, pool, &waiting, err));
    GT_STEP(rc, collect(carrying, pool, waiting, cache_dir, err));
    gt_compile_pool_close(pool);
    free(cache_dir);
    return rc;
}

/* ---- the report ---- */

static void print_text(const struct gt_carrying *carrying)
{
    const struct gt_cli *cli = carrying->cli;
    const size_t *tally = carrying->tally;

    for (size_t i = 0; i < carrying->rows; i++) {
        const struct gt_carry_row *row = &carrying->row[i];

        if (row->verdict != GT_CARRY_OTHER && row->verdict != GT_CARRY_UNFIT)
            continue;
        fprintf(cli->out, "%-34s %-7s ", row->text, verdict_names[row->verdict]);
        gt_columns_put(cli->out, row->kernel);
        fputc(' ', cli->out);
        gt_columns_put(cli->out, row->point);
        fprintf(cli->out, "\n%-34s ", "");
        gt_columns_put(cli->out, row->detail);
        fputc('\n', cli->out);
    }
    fprintf(cli->out, "%zu carried over, %zu differ, %zu unfit, %zu current\n",
            tally[GT_CARRY_SAME], tally[GT_CARRY_OTHER], tally[GT_CARRY_UNFIT],
            tally[GT_CARRY_CURRENT]);
}

static int print_json(const struct gt_carrying *carrying, struct gt_err *err)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *rows = NULL;

    cJSON_AddStringToObject(json, "format", "gemmtune same code 1");
    rows = cJSON_AddArrayToObject(json, "winners");
    for (size_t i = 0; i < carrying->rows; i++) {
        const struct gt_carry_row *row = &carrying->row[i];
        cJSON *item = row->verdict == GT_CARRY_CURRENT ? NULL : cJSON_CreateObject();

        if (!item)
            continue;
        cJSON_AddItemToArray(rows, item);
        cJSON_AddStringToObject(item, "device", row->device);
        cJSON_AddStringToObject(item, "problem", row->text);
        cJSON_AddStringToObject(item, "verdict", verdict_names[row->verdict]);
        cJSON_AddStringToObject(item, "kernel", row->kernel);
        cJSON_AddStringToObject(item, "point", row->point);
        if (*row->detail)
            cJSON_AddStringToObject(item, "detail", row->detail);
    }
    for (int i = GT_CARRY_CURRENT; i < GT_CARRY_COUNT; i++)
        cJSON_AddNumberToObject(json, verdict_names[i], (double)carrying->tally[i]);
    return gt_cmd_print_json(carrying->cli, json, err);
}

/* Exit code 8: a row stays behind. */
static int conclude(struct gt_carrying *carrying, struct gt_err *err)
{
    size_t bad;
    int rc = GT_OK;

    for (size_t i = 0; i < carrying->rows; i++)
        carrying->tally[carrying->row[i].verdict]++;
    carrying->tally[GT_CARRY_CURRENT] += carrying->current;
    bad = carrying->tally[GT_CARRY_OTHER] + carrying->tally[GT_CARRY_UNFIT];
    if (carrying->cli->json)
        rc = print_json(carrying, err);
    else
        print_text(carrying);
    if (!rc && bad)
        rc = gt_err_set(err, GT_EXIT_LOST, "%zu of the winners %s not of today's text", bad,
                        bad > 1 ? "are" : "is");
    return rc;
}

/* ---- the command ---- */

static int check_options(const struct gt_carry_options *options, struct gt_err *err)
{
    if (options->table && !options->output)
        return gt_err_set(err, GT_ESYNTAX,
                          "--same-code with --system-db writes the table again: --output FILE says "
                          "where, and may name the same file");
    if (options->output && !options->table)
        return gt_err_set(err, GT_ESYNTAX,
                          "--output is for the table that --system-db names; the rows of a "
                          "database go into that database");
    return options->output ? gt_cmd_may_write(options->output, err) : GT_OK;
}

static int load_kernels(struct gt_carrying *carrying, struct gt_err *err)
{
    const struct gt_carry_options *options = carrying->options;
    int rc = gt_kernels_load(&carrying->kernels[GT_CARRY_TODAY], carrying->cli->data_dir,
                             options->kernels_dir, options->include_dirs, err);

    if (rc)
        return rc;
    rc = gt_kernels_load(&carrying->kernels[GT_CARRY_OLDER], options->older, NULL, NULL, err);
    return rc ? gt_err_prefix(err, rc, "--same-code takes a folder with templates/ and configs/")
              : GT_OK;
}

static int carry_rows(struct gt_carrying *carrying, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < carrying->rows && !rc; i++)
        rc = gt_carry_fit(carrying, &carrying->row[i], err);
    return rc ? rc : compare(carrying, err);
}

static int carry_table(struct gt_carrying *carrying, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_carry_read_table(carrying, &text, err);

    GT_STEP(rc, carry_rows(carrying, err));
    GT_STEP(rc, gt_carry_write_table(carrying, text.text, err));
    gt_strbuf_release(&text);
    return rc;
}

/* Where nothing measured is to be carried: what is predicted never is. */
static void tell_predicted(const struct gt_carrying *carrying, struct gt_store *store)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_PREDICTED};
    struct gt_older older = {0};

    if (!carrying->cli->quiet &&
        !gt_older_count(&older, store, &carrying->kernels[GT_CARRY_TODAY], &filter, NULL, 0, NULL))
        gt_older_tell(carrying->cli->log, &older, "not carried over, because nothing was measured");
}

static int carry_store(struct gt_carrying *carrying, struct gt_err *err)
{
    const char *path = NULL;
    struct gt_store *store = NULL;
    int rc = gt_session_database(&path, carrying->cli, carrying->options->db, true, err);

    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_WRITE, err));
    GT_STEP(rc, gt_carry_read_store(carrying, store, err));
    if (!rc && !carrying->rows)
        tell_predicted(carrying, store);
    GT_STEP(rc, carry_rows(carrying, err));
    GT_STEP(rc, gt_carry_write_store(carrying, store, err));
    gt_store_close(store);
    return rc;
}

static void release(struct gt_carrying *carrying)
{
    for (size_t i = 0; i < carrying->rows; i++)
        free(carrying->row[i].memory);
    free(carrying->row);
    for (int i = 0; i < GT_CARRY_TEXTS; i++)
        gt_kernels_release(&carrying->kernels[i]);
}

int gt_carry(struct gt_cli *cli, const struct gt_carry_options *options, struct gt_err *err)
{
    struct gt_carrying carrying = {.cli = cli, .options = options};
    int rc = check_options(options, err);

    GT_STEP(rc, load_kernels(&carrying, err));
    GT_STEP(rc, options->table ? carry_table(&carrying, err) : carry_store(&carrying, err));
    GT_STEP(rc, conclude(&carrying, err));
    release(&carrying);
    return rc;
}
