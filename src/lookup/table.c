/* table.c - reads deployed tables into memory, for look-ups and the tuner.  See table.h. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/quiet.h"
#include "base/strbuf.h"
#include "db/store.h"
#include "lookup/lookup_impl.h"
#include "lookup/table.h"
#include "problem/problem.h"

#define GT_TABLE_FIELDS 16 /* names in GT_TABLE_COLUMNS */
#define GT_TABLE_MORE   2  /* names in GT_TABLE_CONTEST */
#define GT_STAGE_FINAL  3

/* The texts of one row. */
struct gt_table_chunk {
    struct gt_table_chunk *next;
    char bytes[];
};

/* The table being loaded, and the place that error sentences name. */
struct loading {
    struct gt_table *table;
    const char *path;
    int line; /* line of a text table; 0: a database */
};

static int fail(const struct loading *loading, const char *what, const char *value,
                struct gt_err *err)
{
    if (loading->line)
        return gt_err_set(err, GT_EDB, "%s:%d: %s \"%s\"", loading->path, loading->line, what,
                          value);
    return gt_err_set(err, GT_EDB, "%s: %s \"%s\"", loading->path, what, value);
}

/* Gives the row copies of its texts that lie one behind another and belong to the table. */
static int keep_texts(struct gt_table *table, struct gt_table_row *row, struct gt_err *err)
{
    const char **const text[] = {&row->text,      &row->device, &row->kernel,
                                 &row->signature, &row->point,  &row->algo};
    const size_t texts = sizeof(text) / sizeof(*text);
    struct gt_table_chunk *chunk;
    size_t size = 0;
    char *at;

    for (size_t i = 0; i < texts; i++)
        size += strlen(*text[i]) + 1;
    chunk = malloc(sizeof(*chunk) + size);
    if (!chunk)
        return gt_err_nomem(err);
    at = chunk->bytes;
    for (size_t i = 0; i < texts; i++) {
        size = strlen(*text[i]) + 1;
        *text[i] = memcpy(at, *text[i], size);
        at += size;
    }
    chunk->next = table->chunk;
    table->chunk = chunk;
    return GT_OK;
}

/* Checks the row, whose texts are the file's, reads its problem and adds it. */
static int add(struct loading *loading, struct gt_table_row *row, struct gt_err *err)
{
    struct gt_table *table = loading->table;
    struct gt_err why = {0};
    int code;

    if (!isfinite(row->us) || row->us <= 0)
        return fail(loading, "a time that is not above zero, of", row->text, err);
    if (!(row->baseline_us >= 0 && isfinite(row->baseline_us)))
        return fail(loading, "a baseline of less than nothing, of", row->text, err);
    if (row->sms < 0 || row->l2_bytes < 0)
        return fail(loading, "a device of less than nothing, of", row->text, err);
    if (row->cc < 10 || row->cc > 999)
        return fail(loading, "no such arch, of", row->text, err);
    code = gt_problem_parse(&row->problem, row->text, &why);
    GT_STEP(code, gt_problem_check(&row->problem, &why));
    if (code == GT_ENOMEM)
        return gt_err_nomem(err);
    if (code == GT_ERANGE && !loading->line)
        return GT_OK; /* a database's winner of a problem that an earlier version allowed */
    if (code)
        return loading->line
                   ? gt_err_set(err, GT_EDB, "%s:%d: %s", loading->path, loading->line, why.msg)
                   : gt_err_set(err, GT_EDB, "%s: %s", loading->path, why.msg);
    code = GT_ARRAY_RESERVE(&table->row, table->rows + 1, &table->capacity, err);
    GT_STEP(code, keep_texts(table, row, err));
    if (!code)
        table->row[table->rows++] = *row;
    return code;
}

/* The size of a table before rows are added. */
struct mark {
    size_t rows, rankings;
    const struct gt_table_chunk *chunk;
};

static struct mark mark_of(const struct gt_table *table)
{
    return (struct mark){table->rows, table->rankings, table->chunk};
}

/* Removes everything that was added after the mark. */
static void roll_back(struct gt_table *table, const struct mark *mark)
{
    while (table->chunk != mark->chunk) {
        struct gt_table_chunk *next = table->chunk->next;

        free(table->chunk);
        table->chunk = next;
    }
    table->rows = mark->rows;
    while (table->rankings > mark->rankings)
        free(table->ranking[--table->rankings]);
}

void gt_table_release(struct gt_table *table)
{
    roll_back(table, &(struct mark){.rows = 0});
    free(table->row);
    free(table->ranking);
    memset(table, 0, sizeof(*table));
}

static int add_store_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    const bool predicted = row->provenance == GT_PREDICTED;
    struct gt_table_row winner = {.text = row->problem,
                                  .device = row->device,
                                  .kernel = row->kernel,
                                  .signature = row->signature,
                                  .point = row->point,
                                  .cc = row->cc,
                                  .predicted = predicted,
                                  .timing = row->timing,
                                  .us = row->us,
                                  .baseline_us = row->baseline_us,
                                  .algo = row->algo ? row->algo : "",
                                  .limited = strstr(row->uuid, " W") != NULL,
                                  .sms = row->sms,
                                  .l2_bytes = row->l2_bytes,
                                  .contested = predicted || row->stage >= GT_STAGE_FINAL,
                                  .trials = row->trials};

    if (!gt_row_serves(row))
        return GT_OK; /* a recording, or timed with unusual operands (--dist) */
    return add(context, &winner, err);
}

/* Adds the winners of a store that is open.  On failure the table is as it was. */
static int add_stored(struct gt_table *table, struct gt_store *store, struct gt_err *err)
{
    struct loading loading = {table, "the database", 0};
    const struct mark mark = mark_of(table);
    int code = gt_store_all_winners(store, add_store_row, &loading, err);

    if (code)
        roll_back(table, &mark);
    return code;
}

/* Cuts off one record at *at and splits it into fields in place, without quotes.  Returns the
 * number of fields, or 0 if the record is malformed. */
static int cut_record(char **at, char *field[GT_TABLE_FIELDS + GT_TABLE_MORE])
{
    char *in = *at;
    int count = 0;

    for (;;) {
        bool quoted = *in == '"';
        char *out = in += quoted;

        if (count == GT_TABLE_FIELDS + GT_TABLE_MORE)
            return 0;
        field[count++] = out;
        while (*in && (quoted ? *in != '"' || in[1] == '"' : !strchr(",\n\"", *in))) {
            in += quoted && *in == '"';
            *out++ = *in++;
        }
        if (quoted && *in++ != '"')
            return 0;
        if (*in != ',' && *in != '\n')
            return 0;
        *at = in + 1;
        if (*in == '\n') {
            *out = '\0';
            return count;
        }
        *out = '\0';
        in++;
    }
}

/* Reads a finite number. */
static bool read_real(const char *text, double *value)
{
    const locale_t before = gt_locale_enter();
    char *end;

    *value = strtod(text, &end);
    gt_locale_leave(before);
    return end != text && *end == '\0' && isfinite(*value);
}

/* Reads a whole number from 0 to 999,999,999; an empty field leaves *value unchanged. */
static bool read_count(const char *text, int64_t *value)
{
    const size_t digits = strspn(text, "0123456789");

    if (text[digits] || digits > 9)
        return false;
    if (digits)
        *value = strtoll(text, NULL, 10);
    return true;
}

/* Adds a record, whose fields are those of GT_TABLE_COLUMNS and, if there are more, of
 * GT_TABLE_CONTEST. */
static int add_record(struct loading *loading, char *const *field, bool more, struct gt_err *err)
{
    int64_t stage = GT_STAGE_FINAL;
    struct gt_table_row row = {.text = field[3],
                               .device = field[2],
                               .kernel = field[4],
                               .signature = field[5],
                               .point = field[6],
                               .algo = ""};
    double number;

    if (!read_real(field[0], &number) || !(fabs(number) < 1e6) || number != (int)number)
        return fail(loading, "no arch:", field[0], err);
    row.cc = (int)number;
    row.predicted = strcmp(field[1], "predicted") == 0;
    if (!row.predicted && strcmp(field[1], "measured") != 0)
        return fail(loading, "neither measured nor predicted:", field[1], err);
    if (!gt_timing_parse(&row.timing, field[7]))
        return fail(loading, "no way of timing:", field[7], err);
    for (int i = 8; i < 15; i++)
        if (!read_real(field[i], &number))
            return fail(loading, "no number:", field[i], err);
    read_real(field[8], &row.us);
    read_real(field[11], &row.baseline_us);
    for (int i = 16; i < 18 && more; i++)
        if (!read_count(field[i], i == 16 ? &stage : &row.trials))
            return fail(loading, "no count:", field[i], err);
    row.contested = row.predicted || stage >= GT_STAGE_FINAL;
    return add(loading, &row, err);
}

static const struct gt_digested kind = {
    GT_TABLE_MAGIC, "is neither a gemmtune database nor a text table of this version",
    "export it again with `tune export --format shipped`"};

bool gt_table_has_contest(const char *body)
{
    static const char columns[] = GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n";

    return strncmp(body, columns, strlen(columns)) == 0;
}

/* Parses the body, which is NUL-terminated and is cut up in place. */
static int parse_body(struct loading *loading, char *body, struct gt_err *err)
{
    const size_t columns = strlen(GT_TABLE_COLUMNS);
    char *field[GT_TABLE_FIELDS + GT_TABLE_MORE], *at = body;
    const bool more = gt_table_has_contest(body);
    const int fields = GT_TABLE_FIELDS + (more ? GT_TABLE_MORE : 0);
    int code = GT_OK;

    if (!more && strncmp(at, GT_TABLE_COLUMNS "\n", columns + 1) != 0)
        return gt_err_set(err, GT_ESTALE, "%s:2: the columns should be %s", loading->path,
                          GT_TABLE_COLUMNS GT_TABLE_CONTEST);
    at += columns + (more ? strlen(GT_TABLE_CONTEST) : 0) + 1;
    for (loading->line = 3; !code && *at; loading->line++) {
        if (cut_record(&at, field) == fields)
            code = add_record(loading, field, more, err);
        else
            code = gt_err_set(err, GT_EDB, "%s:%d: not %d comma-separated fields", loading->path,
                              loading->line, fields);
    }
    return code;
}

int gt_table_parse(struct gt_table *table, const char *path, const char *text, size_t length,
                   struct gt_err *err)
{
    struct loading loading = {table, path, 0};
    const struct mark mark = mark_of(table);
    char *body = NULL;
    int code = gt_digest_body(&body, &kind, path, text, length, err);

    if (code)
        return code;
    code = parse_body(&loading, body, err);
    free(body);
    if (code)
        roll_back(table, &mark);
    return code;
}

/* Files that SQLite makes beside the database may be too large for this process. */
static int load_database(struct loading *loading, struct gt_err *err)
{
    const struct mark mark = mark_of(loading->table);
    struct gt_quiet quiet;
    int code;

    gt_quiet_begin(&quiet);
    code = gt_store_winners(loading->path, add_store_row, loading, err);
    gt_quiet_end(&quiet, true);
    if (code)
        roll_back(loading->table, &mark);
    return code;
}

static int load_file(struct gt_table *table, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct loading loading = {table, path, 0};
    char magic[16] = "";
    struct stat status;
    FILE *file;
    int code;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) /* a pipe might never be written to */
        return gt_err_set(err, GT_EDB, "%s: neither a file nor a folder of tables", path);
    file = fopen(path, "re");
    if (!file)
        return gt_err_set(err, GT_EIO, "%s: cannot open the table: %s", path, strerror(errno));
    if (fread(magic, 1, sizeof(magic), file) < sizeof(magic))
        magic[0] = '\0';
    fclose(file);
    if (memcmp(magic, "SQLite format 3", sizeof(magic)) == 0)
        return load_database(&loading, err);
    code = gt_strbuf_add_file(&text, path, err);
    GT_STEP(code, gt_table_parse(table, path, text.text, text.length, err));
    gt_strbuf_release(&text);
    return code;
}

#define RANKING ".ranking"

static bool ends_with(const char *name, const char *end)
{
    const char *dot = strrchr(name, '.');

    return dot && strcmp(dot, end) == 0;
}

static int is_of_use(const struct dirent *entry)
{
    const char *name = entry->d_name;

    return *name != '.' &&
           (ends_with(name, ".csv") || ends_with(name, ".db") || ends_with(name, RANKING));
}

/* Loads one file of a folder.  For a ranking only the path is kept, which then belongs to the
 * table. */
static int load_entry(struct gt_table *table, char **path, struct gt_err *err)
{
    int code;

    if (!ends_with(*path, RANKING))
        return load_file(table, *path, err);
    code = GT_ARRAY_RESERVE(&table->ranking, table->rankings + 1, &table->ranking_capacity, err);
    if (!code) {
        table->ranking[table->rankings++] = *path;
        *path = NULL;
    }
    return code;
}

static int load_folder(struct gt_table *table, const char *path, struct gt_err *err)
{
    const struct mark mark = mark_of(table);
    struct dirent **entry;
    int code = GT_OK, entries = scandir(path, &entry, is_of_use, alphasort);

    if (entries < 0)
        return gt_err_set(err, GT_EIO, "%s: cannot read the folder: %s", path, strerror(errno));
    for (int i = 0; i < entries; i++) {
        char *name = NULL;

        if (!code && asprintf(&name, "%s/%s", path, entry[i]->d_name) < 0) {
            name = NULL;
            code = gt_err_nomem(err);
        }
        GT_STEP(code, load_entry(table, &name, err));
        free(name);
        free(entry[i]);
    }
    free(entry);
    if (code)
        roll_back(table, &mark);
    return code;
}

int gt_table_load(struct gt_table *table, const char *path, struct gt_err *err)
{
    struct stat status;

    if (stat(path, &status) != 0) {
        if (strpbrk(path, "@=")) /* an address's password is not repeated */
            path = "the database";
        return gt_err_set(err, GT_EDB, "%s: cannot open the table: %s", path, strerror(errno));
    }
    if (S_ISDIR(status.st_mode))
        return load_folder(table, path, err);
    return load_file(table, path, err);
}

struct gt_row gt_table_line(const struct gt_table_row *row)
{
    return (struct gt_row){
        .device = row->device,
        .uuid = "",
        .problem = row->text,
        .kernel = row->kernel,
        .signature = row->signature,
        .point = row->point,
        .dtype = gt_dtype_name(row->problem.type),
        .accuracy = gt_accuracy_name(row->problem.accuracy),
        .layout = gt_layout_name(gt_problem_layout(&row->problem)),
        .m = row->problem.m,
        .n = row->problem.n,
        .k = row->problem.k,
        .batch = row->problem.batch,
        .cc = row->cc,
        .status = GT_STATUS_OK,
        .provenance = row->predicted ? GT_PREDICTED : GT_MEASURED,
        .timing = row->timing,
        .us = row->us,
    };
}

/* ---- snapshots ---- */

/* Copies the rows; their texts still belong to the other table. */
static int add_rows(struct gt_table *table, const struct gt_table *from, struct gt_err *err)
{
    int code = GT_ARRAY_RESERVE(&table->row, table->rows + from->rows, &table->capacity, err);

    if (code || !from->rows)
        return code;
    memcpy(table->row + table->rows, from->row, from->rows * sizeof(*from->row));
    table->rows += from->rows;
    return GT_OK;
}

int gt_snapshot_take(struct gt_snapshot *snapshot, const struct gt_kernels *kernels,
                     struct gt_store *store, const struct gt_table *shipped, struct gt_err *err)
{
    int code;

    *snapshot = (struct gt_snapshot){.kernels = kernels};
    code = store ? add_stored(&snapshot->table, store, err) : GT_OK;
    snapshot->user_rows = snapshot->table.rows;
    if (!code && shipped)
        code = add_rows(&snapshot->table, shipped, err);
    if (!code && shipped)
        code =
            gt_rankings_add(&snapshot->rankings, kernels, shipped->ranking, shipped->rankings, err);
    return code;
}

void gt_snapshot_release(struct gt_snapshot *snapshot)
{
    gt_table_release(&snapshot->table);
    gt_rankings_release(&snapshot->rankings);
    memset(snapshot, 0, sizeof(*snapshot));
}

int gt_snapshot_lookup(const struct gt_snapshot *snapshot, const struct gt_device *device,
                       const struct gt_problem *problem, struct gt_resolved *resolved,
                       struct gt_err *err)
{
    const struct gt_sources sources = {*snapshot->kernels, snapshot->table, snapshot->user_rows,
                                       snapshot->rankings};
    int code;

    *resolved = (struct gt_resolved){.problem = *problem, .device = *device};
    resolved->device.chained = false; /* as for a program, whose launches are its own */
    code = gt_lookup_resolve(&sources, device->profile ? NULL : device->name, resolved, err);
    if (code)
        gt_resolved_release(resolved);
    return code;
}
