/* store_winners.c - reads the winners of a database that may be damaged or foreign.
 *
 * SQLite's pages carry no checksum: a flipped bit can change a value and still pass every check.
 * So an exported copy holds a digest over its winners exactly as a reader receives them; whatever a
 * damaged byte does, either the winners are the same or the digest is not.  Part of the store: see
 * store.h. */
#include "db/store_internal.h"

#include "base/err.h"
#include "base/plain_locale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct gt_row_filter winners = {.winners_only = true};

/* Where rows go on their way to the visitor. */
struct reading {
    struct gt_digest digest;
    gt_row_visit *visit; /* NULL: only the digest is wanted */
    void *context;
};

static int digest_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct reading *reading = context;
    const char *const texts[] = {row->device, row->uuid,     row->dtype,  row->accuracy,
                                 row->layout, row->problem,  row->kernel, row->signature,
                                 row->point,  row->baseline, row->date,   row->detail};
    char numbers[640];

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        gt_digest_add(&reading->digest, texts[i], strlen(texts[i]));
    snprintf(numbers, sizeof(numbers),
             "%d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %d %d %d %d %a %a %a %a %a %a %d %d %d %" PRId64 " %" PRId64,
             row->cc, row->driver, row->nvrtc, row->m, row->n, row->k, row->batch, row->status,
             row->provenance, row->warm_l2, row->deterministic, row->us, row->lo_us, row->hi_us,
             row->baseline_us, row->err_u, row->clock_mhz, row->registers, row->stage, row->ties,
             row->shared_bytes, row->workspace_bytes);
    gt_digest_add(&reading->digest, numbers, strlen(numbers));
    return reading->visit ? reading->visit(reading->context, row, err) : GT_OK;
}

/* Visits the winners; hex: the digest of what was visited. */
static int read_winners(struct gt_store *store, gt_row_visit *visit, void *context,
                        char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    struct reading reading = {.visit = visit, .context = context};
    locale_t before;
    int code;

    if (gt_digest_init(&reading.digest))
        return gt_err_nomem(err);
    before = gt_locale_enter(); /* the digest is of numbers as "%a" writes them with a point */
    code = gt_store_rows(store, &winners, digest_row, &reading, err);
    gt_locale_leave(before);
    gt_digest_final(&reading.digest, hex);
    return code;
}

int gt_store_winners_digest(struct gt_store *store, char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    return read_winners(store, NULL, NULL, hex, err);
}

/* What the schema of a sound database says, one object a line. */
static int describe_schema(sqlite3 *db, const char *path, struct gt_strbuf *text,
                           struct gt_err *err)
{
    sqlite3_stmt *statement;
    int result;

    if (sqlite3_prepare_v2(db,
                           "SELECT type || ' ' || name || ' ' || coalesce(sql, '')"
                           " FROM sqlite_schema ORDER BY type, name",
                           -1, &statement, NULL) != SQLITE_OK)
        return gt_store_fail(db, path, "read it", err);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        gt_strbuf_addf(text, "%s\n", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? gt_strbuf_check(text, err)
                                 : gt_store_fail(db, path, "read it", err);
}

/* Views and triggers are code: only those this program would have made itself are run. */
static int check_schema(struct gt_store *store, struct gt_err *err)
{
    struct gt_strbuf theirs = GT_STRBUF_INIT, ours = GT_STRBUF_INIT;
    sqlite3 *model = NULL;
    int code = GT_OK;

    if (sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(model, gt_store_schema(), NULL, NULL, NULL) != SQLITE_OK)
        code = model ? gt_store_fail(model, "the schema", "compare", err) : gt_err_nomem(err);
    if (!code)
        code = describe_schema(model, "the schema", &ours, err);
    if (!code)
        code = describe_schema(store->db, store->path, &theirs, err);
    if (!code && strcmp(ours.text, theirs.text) != 0)
        code = gt_err_set(err, GT_EDB,
                          "%s does not have the tables of a gemmtune database; it was changed or "
                          "damaged",
                          store->path);
    sqlite3_close_v2(model);
    gt_strbuf_release(&ours);
    gt_strbuf_release(&theirs);
    return code;
}

/* The digest stored in an exported copy; "" if there is none: a live database. */
static int stored_digest(struct gt_store *store, char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    sqlite3_stmt *statement;
    int result, code = gt_store_prepare(store, &statement,
                                        "SELECT value FROM meta WHERE key = 'digest'", err);

    *hex = '\0';
    if (code)
        return code;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        snprintf(hex, GT_DIGEST_HEX, "%s", (const char *)sqlite3_column_text(statement, 0));
    else if (result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, "read its digest", err);
    sqlite3_finalize(statement);
    return code;
}

static int check_winners(const struct gt_store *store, const char *expected, const char *found,
                         struct gt_err *err)
{
    if (!*expected || strcmp(expected, found) == 0)
        return GT_OK;
    return gt_err_set(err, GT_EDB,
                      "%s is damaged: its winners do not match its digest; export it again",
                      store->path);
}

int gt_store_check_digest(struct gt_store *store, struct gt_err *err)
{
    char expected[GT_DIGEST_HEX], found[GT_DIGEST_HEX];
    int code = stored_digest(store, expected, err);

    if (code || !*expected)
        return code;
    code = check_schema(store, err);
    if (!code)
        code = read_winners(store, NULL, NULL, found, err);
    return code ? code : check_winners(store, expected, found, err);
}

int gt_store_winners(const char *path, gt_row_visit *visit, void *context, struct gt_err *err)
{
    char expected[GT_DIGEST_HEX], found[GT_DIGEST_HEX];
    struct gt_store *store;
    int code = gt_store_open_read(&store, path, err);

    if (code)
        return code;
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
    code = check_schema(store, err);
    if (!code)
        code = stored_digest(store, expected, err);
    if (!code)
        code = read_winners(store, visit, context, found, err);
    if (!code)
        code = check_winners(store, expected, found, err);
    gt_store_close(store);
    return code;
}
