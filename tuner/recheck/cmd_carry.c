/* cmd_carry.c - tune recheck --adopt --same-code: reads the rows, has both texts of each row's
 * candidate compiled, compares the results and writes the rows that are the same. */
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "console/terminal.h"
#include "cuda/cache.h"
#include "db/store.h"
#include "exchange/export_format.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "problem/trial.h"
#include "recheck/cmd_recheck.h"
#include "session/older.h"
#include "workers/compile_pool.h"

/* The verdict on a row: it belongs to today's text; it was carried over; its code or launches
 * differ today; there is no such point today; or there is nothing to compare with. */
enum verdict { OPEN, CURRENT, SAME_CODE, OTHER, UNFIT, VERDICTS };

static const char *const verdict_names[VERDICTS] = {"open", "current", "carried", "differs",
                                                    "unfit"};

enum { OLDER, TODAY, TEXTS };

static const char *const text_names[TEXTS] = {"the older text", "today's text"};

/* A row that is being carried over. */
struct carry_row {
    struct gt_row stored; /* the device, the candidate and how it was timed; sms 0: not known */
    char *memory;         /* of the texts of the stored row, malloc'ed */
    struct gt_problem problem;
    struct gt_device on; /* the device as the expressions of the description see it */
    struct gt_candidate candidate[TEXTS];
    char key[TEXTS][GT_DIGEST_HEX]; /* of the cubin; "": not compiled yet */
    enum verdict verdict;
    char detail[512]; /* why the row was not carried over */
};

struct carrying {
    struct gt_cli *cli;
    const struct gt_recheck_options *options;
    struct gt_kernels kernels[TEXTS];
    struct carry_row *row; /* rows; for a table in the order of its lines */
    size_t rows, capacity;
    size_t tally[VERDICTS];
    size_t current; /* rows of a database that are not listed because they belong to today's text */
};

/* Is a row's candidate the same by the older text and by today's?  Launches, tensor maps and
 * compile options are compared as numbers for the row's own problem and device, the machine code as
 * bytes. */

__attribute__((format(printf, 3, 4))) static void judge(struct carry_row *row, enum verdict verdict,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(row->detail, sizeof(row->detail), format, args);
    va_end(args);
    row->verdict = verdict;
}

/* ---- the two candidates ---- */

/* Whether the profile describes the named device, as "H200 (profile)" describes an "NVIDIA
 * H200". */
static bool describes(const struct gt_device *profile, const char *device)
{
    const char *end = strstr(profile->name, " (profile)");
    char name[sizeof(profile->name)];

    snprintf(name, sizeof(name), "%.*s", end ? (int)(end - profile->name) : (int)sizeof(name) - 1,
             profile->name);
    return strstr(device, name) != NULL;
}

/* The device that the row was timed on, as far as expressions can tell. */
static int find_device(const struct carrying *carrying, struct carry_row *row, struct gt_err *err)
{
    int rc = gt_device_profile_of(&row->on, carrying->cli->data_dir, row->stored.cc,
                                  row->stored.device, err);

    if (rc)
        return rc;
    row->on.chained = row->stored.timing == GT_TIMING_GRAPH;
    if (row->stored.sms > 0) {
        row->on.sms = row->stored.sms;
        row->on.l2_bytes = row->stored.l2_bytes;
    } else if (!describes(&row->on, row->stored.device)) {
        judge(row, UNFIT, "no profile has the figures of %s, on which launches depend",
              row->stored.device);
    }
    return GT_OK;
}

/* Makes the candidate of one text; false: there is no such candidate, and the row has its
 * verdict. */
static bool fit_text(const struct carrying *carrying, struct carry_row *row, int which,
                     struct gt_geometry *geometry)
{
    struct gt_err why = {0};

    row->candidate[which] = (struct gt_candidate){.problem = &row->problem, .device = &row->on};
    if (!gt_recheck_fit(&row->candidate[which], &carrying->kernels[which], row->stored.kernel,
                        row->stored.point, geometry, &why))
        return true;
    judge(row, UNFIT, "by %s: %s", text_names[which], why.msg);
    return false;
}

/* ---- the comparison ---- */

#define SAME(x, y, field) (memcmp(&(x)->field, &(y)->field, sizeof((x)->field)) == 0)

static bool same_launches(const struct gt_geometry *x, const struct gt_geometry *y)
{
    if (x->launches != y->launches)
        return false;
    for (size_t i = 0; i < x->launches; i++) {
        const struct gt_launch_geometry *a = &x->launch[i], *b = &y->launch[i];

        if (strcmp(a->entry, b->entry) != 0 || !SAME(a, b, grid) || !SAME(a, b, block) ||
            !SAME(a, b, cluster) || a->shared_bytes != b->shared_bytes ||
            a->carveout != b->carveout || a->pdl != b->pdl || a->maps != b->maps)
            return false;
    }
    return true;
}

/* Whether two maps are the same.  A map that only one text defines is the same if it is not
 * used. */
static bool same_maps(const struct gt_geometry *x, const struct gt_geometry *y)
{
    const size_t most = x->maps > y->maps ? x->maps : y->maps;

    for (size_t i = 0; i < most; i++) {
        const struct gt_map_geometry *a = &x->map[i], *b = &y->map[i];

        if (a->used != b->used || a->operand != b->operand || a->element != b->element ||
            a->offset != b->offset || a->rank != b->rank || !SAME(a, b, dims) ||
            !SAME(a, b, strides) || !SAME(a, b, box) || a->swizzle != b->swizzle ||
            a->promotion != b->promotion)
            return false;
    }
    return true;
}

/* Whether the older text's launch parameters have the same places and values today.  A further
 * launch parameter of today's text does not matter, because the same machine code cannot read
 * it. */
static bool same_launch_params(const struct gt_kernel *older, const struct gt_geometry *x,
                               const struct gt_geometry *y)
{
    size_t count = 0;

    for (size_t i = 0; i < older->params; i++)
        count += older->param[i].launch;
    return memcmp(x->launch_param, y->launch_param, count * sizeof(*x->launch_param)) == 0;
}

/* The difference in words; NULL: there is none. */
static const char *difference(const struct gt_kernel *older, const struct gt_geometry *x,
                              const struct gt_geometry *y)
{
    return !same_launches(x, y)               ? "its launches are others by today's text"
           : !same_maps(x, y)                 ? "its tensor maps are others by today's text"
           : !same_launch_params(older, x, y) ? "its launch parameters are others by today's text"
           : x->workspace_bytes != y->workspace_bytes ? "its workspace is another by today's text"
           : x->deterministic != y->deterministic
               ? "its results vary by one text and not by the other"
           : x->max_registers != y->max_registers || x->code_arch != y->code_arch ||
                   x->arch_features != y->arch_features || x->code_ptx != y->code_ptx
               ? "it is compiled with other options by today's text"
               : NULL;
}

/* Fits a row to both texts and compares everything but the code; the verdict stays OPEN if all is
 * equal. */
static int fit(const struct carrying *carrying, struct carry_row *row, struct gt_err *err)
{
    struct gt_geometry geometry[TEXTS];
    const struct gt_kernel *today =
        gt_kernels_find(&carrying->kernels[TODAY], row->stored.kernel, NULL);
    const struct gt_kernel *older =
        gt_kernels_find(&carrying->kernels[OLDER], row->stored.kernel, NULL);
    const char *what;
    int rc;

    if (today && strcmp(today->signature, row->stored.signature) == 0) {
        row->verdict = CURRENT;
        return GT_OK;
    }
    if (older && strcmp(older->signature, row->stored.signature) != 0) {
        judge(row, UNFIT, "%s has another text of %s than the row's", carrying->options->same_code,
              row->stored.kernel);
        return GT_OK;
    }
    rc = find_device(carrying, row, err);
    if (rc || row->verdict != OPEN)
        return rc;
    for (int i = 0; i < TEXTS; i++)
        if (!fit_text(carrying, row, i, &geometry[i]))
            return GT_OK;
    what = difference(older, &geometry[OLDER], &geometry[TODAY]);
    if (what)
        judge(row, OTHER, "%s", what);
    return GT_OK;
}

/* ---- machine code ---- */

/* Takes the outcome of compiling a cubin of the row.  A cubin that was not compiled gives the row
 * its verdict. */
static void take_cubin(struct carry_row *row, int which, const struct gt_compiled *compiled)
{
    snprintf(row->key[which], sizeof(row->key[which]), "%s", compiled->key);
    if (compiled->status != GT_STATUS_OK && row->verdict == OPEN)
        judge(row, OTHER, "by %s: %s: %.*s", text_names[which], gt_status_name(compiled->status),
              (int)strcspn(compiled->detail, "\n"), compiled->detail);
}

/* Compares the cubins of both texts, which the cache holds. */
static int compare_code(struct carry_row *row, const char *cache_dir, struct gt_err *err)
{
    struct gt_binary code[TEXTS] = {{0}};
    int rc = GT_OK;

    for (int i = 0; i < TEXTS && !rc; i++) {
        rc = gt_cache_load(cache_dir, row->key[i], &code[i], err);
        if (rc && gt_cache_spill_load(getpid(), row->key[i], &code[i], NULL) == GT_OK)
            rc = GT_OK;
    }
    if (!rc && code[0].size == code[1].size &&
        memcmp(code[0].image, code[1].image, code[0].size) == 0)
        row->verdict = SAME_CODE;
    else if (!rc)
        judge(row, OTHER, "its machine code is another by today's text");
    for (int i = 0; i < TEXTS; i++)
        gt_binary_release(&code[i]);
    return rc;
}

/* The source and destination of the rows: a text table, which is written again line by line, or a
 * database, which gets more rows. */

static int add_row(void *context, const struct gt_row *from, struct gt_err *err)
{
    struct carrying *carrying = context;
    struct carry_row *row;
    int rc = GT_ARRAY_RESERVE(&carrying->row, carrying->rows + 1, &carrying->capacity, err);

    if (rc)
        return rc;
    row = &carrying->row[carrying->rows++];
    *row = (struct carry_row){.memory = NULL};
    rc = gt_recheck_keep(&row->stored, &row->memory, from, err);
    return rc ? rc : gt_problem_parse(&row->problem, row->stored.problem, err);
}

/* ---- a text table ---- */

/* *text receives the text of the table. */
static int read_table(struct carrying *carrying, struct gt_strbuf *text, struct gt_err *err)
{
    const char *path = carrying->options->system_db;
    struct gt_table table = {0};
    int rc = gt_strbuf_add_file(text, path, err);

    if (!rc && strncmp(text->text, GT_TABLE_MAGIC, strlen(GT_TABLE_MAGIC)) != 0)
        return gt_err_set(err, GT_EDB,
                          "%s is no text table; --same-code takes a database by --db, and a text "
                          "table of `tune export --format shipped` by --system-db",
                          path);
    GT_STEP(rc, gt_table_parse(&table, path, text->text, text->length, err));
    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_row row = gt_table_line(&table.row[i]);

        rc = add_row(carrying, &row, err);
    }
    gt_table_release(&table);
    return rc;
}

/* Adds a row's line with today's digest and point; the rest of the line does not change. */
static int add_line(struct gt_strbuf *to, const struct carry_row *row, const char *line,
                    size_t length, struct gt_err *err)
{
    const struct gt_candidate *candidate = &row->candidate[TODAY];
    struct gt_strbuf before = GT_STRBUF_INIT, point = GT_STRBUF_INIT;
    const char *at;
    int rc;

    gt_strbuf_addf(&before, ",%s,", row->stored.signature);
    gt_export_field(&before, row->stored.point, false);
    gt_strbuf_add_char(&before, ',');
    gt_point_format(&point, candidate->kernel, &candidate->point);
    rc = gt_strbuf_check(&before, err);
    GT_STEP(rc, gt_strbuf_check(&point, err));
    at = rc ? NULL : memmem(line, length, before.text, before.length);
    if (!rc && !at)
        rc = gt_err_set(err, GT_EDB, "the line of %s is not quoted as `tune export` does it",
                        row->stored.problem);
    if (!rc) {
        const char *rest = at + before.length;

        gt_strbuf_add_bytes(to, line, (size_t)(at - line));
        gt_strbuf_addf(to, ",%s,", candidate->kernel->signature);
        gt_export_field(to, point.text, false);
        gt_strbuf_add_char(to, ',');
        gt_strbuf_add_bytes(to, rest, (size_t)(line + length - rest));
    }
    gt_strbuf_release(&before);
    gt_strbuf_release(&point);
    return rc;
}

static int write_text(void *context, FILE *file, struct gt_err *err)
{
    const struct gt_strbuf *text = context;

    if (fwrite(text->text, 1, text->length, file) != text->length)
        return gt_err_set(err, GT_EIO, "cannot write the table");
    return GT_OK;
}

/* Checks that the written file is a table that programs can open. */
static int check_text(void *context, const char *path, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, path, err);

    (void)context;
    gt_table_release(&table);
    return rc;
}

static int write_table(const struct carrying *carrying, const char *text, struct gt_err *err)
{
    struct gt_strbuf to = GT_STRBUF_INIT;
    const struct gt_cmd_writing file = {write_text, check_text, &to, 0666};
    const char *line = strchr(text, '\n') + 1;
    const bool more = gt_table_has_contest(line);
    int rc = GT_OK;

    line = strchr(line, '\n') + 1;
    gt_strbuf_add(&to, GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n");
    for (size_t i = 0; i < carrying->rows && !rc; i++) {
        const struct carry_row *row = &carrying->row[i];
        const size_t length = strcspn(line, "\n");

        if (row->verdict == SAME_CODE)
            rc = add_line(&to, row, line, length, err);
        else
            gt_strbuf_add_bytes(&to, line, length);
        gt_strbuf_add(&to, more ? "\n" : ",,\n");
        line += length + 1;
    }
    GT_STEP(rc, gt_export_shipped_seal(&to, err));
    GT_STEP(rc, gt_cmd_write_file(carrying->options->output, &file, err));
    gt_strbuf_release(&to);
    return rc;
}

/* ---- a database ---- */

static int count_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct carrying *carrying = context;

    (void)row;
    (void)err;
    carrying->current++;
    return GT_OK;
}

static int read_store(struct carrying *carrying, struct gt_store *store, struct gt_err *err)
{
    const struct gt_row_filter older = {.older = true,
                                        .kernels = &carrying->kernels[TODAY],
                                        .provenance = 1u << GT_MEASURED,
                                        .limit = 1};
    const struct gt_row_filter current = {.winners_only = true,
                                          .kernels = &carrying->kernels[TODAY],
                                          .provenance = 1u << GT_MEASURED};
    int rc = gt_store_rows(store, &older, add_row, carrying, err);

    return rc ? rc : gt_store_rows(store, &current, count_row, carrying, err);
}

static int write_row(struct gt_store *store, const struct carry_row *row, int64_t sweep,
                     struct gt_err *err)
{
    const struct gt_candidate *candidate = &row->candidate[TODAY];
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key to = {.sweep = sweep};
    int rc;

    gt_point_format(&point, candidate->kernel, &candidate->point);
    rc = gt_strbuf_check(&point, err);
    to.point = point.text;
    GT_STEP(rc, gt_store_kernel(store, candidate->kernel, &to.kernel, err));
    GT_STEP(rc, gt_store_carry(store, &row->stored, &to, err));
    gt_strbuf_release(&point);
    return rc;
}

static int write_store(const struct carrying *carrying, struct gt_store *store, struct gt_err *err)
{
    const struct gt_store_sweep_stats none = {0};
    int64_t sweep;
    int code, rc = gt_store_sweep_begin(store, carrying->cli->words, &sweep, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < carrying->rows && !rc; i++)
        if (carrying->row[i].verdict == SAME_CODE)
            rc = write_row(store, &carrying->row[i], sweep, err);
    code = gt_store_sweep_end(store, sweep, rc ? "failed" : "finished", &none, rc ? NULL : err);
    return rc ? rc : code;
}

#define COLLECT_MS  1000 /* longest single wait for a cubin */
#define SAY_SECONDS 10   /* between two progress lines */

/* ---- compiling ---- */

/* Submits both texts of every open row; *waiting: the number of cubins submitted. */
static int submit(struct carrying *carrying, struct gt_compile_pool *pool, size_t *waiting,
                  struct gt_err *err)
{
    struct gt_prepared prepared;
    int rc = GT_OK;

    *waiting = 0;
    for (size_t i = 0; i < carrying->rows && !rc; i++)
        for (int which = 0; which < TEXTS && !rc; which++)
            if (carrying->row[i].verdict == OPEN) {
                rc = gt_compile_pool_prepare(pool, &carrying->row[i].candidate[which], &prepared,
                                             err);
                GT_STEP(rc,
                        gt_compile_pool_submit(pool, i * TEXTS + (size_t)which, &prepared, err));
                *waiting += !rc;
            }
    return rc;
}

static int collect(struct carrying *carrying, struct gt_compile_pool *pool, size_t waiting,
                   const char *cache_dir, struct gt_err *err)
{
    const struct gt_cli *cli = carrying->cli;
    const size_t all = waiting;
    double said = gt_clock_s();
    int rc = GT_OK;

    while (waiting && !rc) {
        struct gt_compiled compiled;
        struct carry_row *row;
        int got = gt_compile_pool_collect(pool, COLLECT_MS, &compiled, err);

        if (got < 0)
            return got;
        if (*cli->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command goes on");
        if (!got)
            continue;
        waiting--;
        row = &carrying->row[compiled.id / TEXTS];
        take_cubin(row, (int)(compiled.id % TEXTS), &compiled);
        if (row->verdict == OPEN && *row->key[OLDER] && *row->key[TODAY])
            rc = compare_code(row, cache_dir, err);
        if (!cli->quiet && gt_clock_s() - said > SAY_SECONDS) {
            said = gt_clock_s();
            fprintf(cli->log, "%zu of %zu cubins\n", all - waiting, all);
        }
    }
    return rc;
}

/* Compiles both texts of every open row, and compares the cubins. */
static int compare(struct carrying *carrying, struct gt_err *err)
{
    struct gt_compile_pool_options wanted = {.jobs = (int)carrying->options->session.jobs};
    struct gt_compile_pool *pool = NULL;
    char *cache_dir = NULL;
    size_t open = 0, waiting = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < carrying->rows; i++)
        open += carrying->row[i].verdict == OPEN;
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

/* Lists the rows that were not carried over, in JSON those that were, too. */
static void list_rows(const struct carrying *carrying, const struct gt_records *records)
{
    for (size_t i = 0; i < carrying->rows; i++) {
        const struct carry_row *row = &carrying->row[i];

        if (row->verdict == CURRENT || (records->out && row->verdict == SAME_CODE))
            continue;
        gt_records_add(records,
                       ".device=%s problem=%-34s verdict=%-7s kernel=%s point=%s .detail=%s",
                       row->stored.device, row->stored.problem, verdict_names[row->verdict],
                       row->stored.kernel, row->stored.point, *row->detail ? row->detail : NULL);
        if (!records->out)
            continue;
        fprintf(records->out, "%-34s ", "");
        gt_columns_put(records->out, row->detail);
        fputc('\n', records->out);
    }
}

/* Exit code 8: a row was not carried over. */
static int conclude(struct carrying *carrying, struct gt_err *err)
{
    size_t *tally = carrying->tally;
    struct gt_records records = {0};
    int rc;

    for (size_t i = 0; i < carrying->rows; i++)
        tally[carrying->row[i].verdict]++;
    tally[CURRENT] += carrying->current;
    gt_records_document(&records, carrying->cli, "winners", "format=%s", "gemmtune same code 1");
    list_rows(carrying, &records);
    for (int i = CURRENT; i < VERDICTS && records.root; i++)
        cJSON_AddNumberToObject(records.root, verdict_names[i], (double)tally[i]);
    if (records.out)
        fprintf(records.out, "%zu carried over, %zu differ, %zu unfit, %zu current\n",
                tally[SAME_CODE], tally[OTHER], tally[UNFIT], tally[CURRENT]);
    rc = gt_records_close(&records, carrying->cli, GT_OK, err);
    return rc ? rc : gt_recheck_bad(tally[OTHER] + tally[UNFIT], "not of today's text", err);
}

/* ---- the command ---- */

static int check_options(const struct gt_recheck_options *options, struct gt_err *err)
{
    if (options->system_db && !options->output)
        return gt_err_set(err, GT_ESYNTAX,
                          "--same-code with --system-db writes the table again: --output FILE says "
                          "where, and may name the same file");
    if (options->output && !options->system_db)
        return gt_err_set(err, GT_ESYNTAX,
                          "--output is for the table that --system-db names; the rows of a "
                          "database go into that database");
    return options->output ? gt_cmd_may_write(options->output, err) : GT_OK;
}

static int load_kernels(struct carrying *carrying, struct gt_err *err)
{
    const struct gt_recheck_options *options = carrying->options;
    int rc = gt_kernels_load(&carrying->kernels[TODAY], carrying->cli->data_dir,
                             options->session.kernels_dir, options->session.include_dirs, err);

    if (rc)
        return rc;
    rc = gt_kernels_load(&carrying->kernels[OLDER], options->same_code, NULL, NULL, err);
    return rc ? gt_err_prefix(err, rc, "--same-code takes a folder with templates/ and configs/")
              : GT_OK;
}

static int carry_rows(struct carrying *carrying, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < carrying->rows && !rc; i++)
        rc = fit(carrying, &carrying->row[i], err);
    return rc ? rc : compare(carrying, err);
}

static int carry_table(struct carrying *carrying, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = read_table(carrying, &text, err);

    GT_STEP(rc, carry_rows(carrying, err));
    GT_STEP(rc, write_table(carrying, text.text, err));
    gt_strbuf_release(&text);
    return rc;
}

/* Tells of older predicted winners if there is no measured row to carry over; predicted rows are
 * never carried over. */
static void tell_predicted(const struct carrying *carrying, struct gt_store *store)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_PREDICTED};
    struct gt_older older = {0};

    if (!carrying->cli->quiet &&
        !gt_older_count(&older, store, &carrying->kernels[TODAY], &filter, NULL, 0, NULL))
        gt_older_tell(carrying->cli->log, &older, "not carried over, because nothing was measured");
}

static int carry_store(struct carrying *carrying, struct gt_err *err)
{
    const char *path = NULL;
    struct gt_store *store = NULL;
    int rc = gt_session_database(&path, carrying->cli, carrying->options->session.db, true, err);

    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_WRITE, err));
    GT_STEP(rc, read_store(carrying, store, err));
    if (!rc && !carrying->rows)
        tell_predicted(carrying, store);
    GT_STEP(rc, carry_rows(carrying, err));
    GT_STEP(rc, write_store(carrying, store, err));
    gt_store_close(store);
    return rc;
}

int gt_carry(struct gt_cli *cli, const struct gt_recheck_options *options, struct gt_err *err)
{
    struct carrying carrying = {.cli = cli, .options = options};
    int rc = check_options(options, err);

    GT_STEP(rc, load_kernels(&carrying, err));
    GT_STEP(rc, options->system_db ? carry_table(&carrying, err) : carry_store(&carrying, err));
    GT_STEP(rc, conclude(&carrying, err));
    for (size_t i = 0; i < carrying.rows; i++)
        free(carrying.row[i].memory);
    free(carrying.row);
    for (int i = 0; i < TEXTS; i++)
        gt_kernels_release(&carrying.kernels[i]);
    return rc;
}
