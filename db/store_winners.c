/* store_winners.c - reads the winners of a database that may be damaged or foreign.
 *
 * SQLite's pages carry no checksum: a flipped bit can change a value and still pass every check
 * (477 of 80,000 random flips changed an answer).  So an exported copy, and a database whose writer
 * closed it, hold a digest over the winners exactly as a reader receives them.  Whatever a damaged
 * byte does, either the winners are the same or the digest is not.  While a writer has a database
 * open, and after one was killed, there is no digest.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"
#include "base/plain_locale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a digest is of: `meta` names the kind by its key. */
enum kind {
    KIND_NONE,
    KIND_ROWS,  /* 'digest': the columns of `line`, in exported copies of version 0.1 and before */
    KIND_FACTS, /* 'winners': those and the facts of the device */
};

/* Where rows go on their way to the visitor. */
struct reading {
    struct gt_digest digest;
    enum kind kind;
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
    const bool algo = *row->algo; /* absent from the rows, and the digests, of earlier versions */

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        gt_digest_add(&reading->digest, texts[i], strlen(texts[i]));
    if (algo)
        gt_digest_add(&reading->digest, row->algo, strlen(row->algo));
    snprintf(numbers, sizeof(numbers),
             "%d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %d %d %d %d %a %a %a %a %a %a %d %d %d %" PRId64 " %" PRId64,
             row->cc, row->driver, row->nvrtc, row->m, row->n, row->k, row->batch, row->status,
             row->provenance, row->timing, row->deterministic, row->us, row->lo_us, row->hi_us,
             row->baseline_us, row->err_u, row->clock_mhz, row->registers, row->stage, row->ties,
             row->shared_bytes, row->workspace_bytes);
    gt_digest_add(&reading->digest, numbers, strlen(numbers));
    if (reading->kind == KIND_FACTS) {
        snprintf(numbers, sizeof(numbers), " %d %" PRId64, row->sms, row->l2_bytes);
        gt_digest_add(&reading->digest, numbers, strlen(numbers));
    }
    return reading->visit ? reading->visit(reading->context, row, err) : GT_OK;
}

/* Visits the winners; hex: the digest of what was visited. */
static int read_winners(struct gt_store *store, enum kind kind, gt_row_visit *visit, void *context,
                        char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    struct reading reading = {.kind = kind, .visit = visit, .context = context};
    locale_t before;
    int code;

    if (gt_digest_init(&reading.digest))
        return gt_err_nomem(err);
    before = gt_locale_enter(); /* the digest is of numbers as "%a" writes them with a point */
    code = gt_store_all_winners(store, digest_row, &reading, err);
    gt_locale_leave(before);
    gt_digest_final(&reading.digest, hex);
    return code;
}

int gt_store_winners_digest(struct gt_store *store, char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    return read_winners(store, KIND_FACTS, NULL, NULL, hex, err);
}

/* The digest that is stored. */
static int stored_digest(struct gt_store *store, enum kind *kind, char hex[GT_DIGEST_HEX],
                         struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read its digest",
                                 "SELECT key = 'winners', value FROM meta"
                                 " WHERE key IN ('digest', 'winners') ORDER BY key DESC",
                                 err);

    *kind = KIND_NONE;
    *hex = '\0';
    if (gt_query_row(&q)) {
        *kind = sqlite3_column_int(q.s, 0) ? KIND_FACTS : KIND_ROWS;
        snprintf(hex, GT_DIGEST_HEX, "%s", gt_store_text(q.s, 1));
        q.code = gt_store_whole(store, err);
    }
    return gt_query_end(&q);
}

/* Reads the winners and compares them with the digest, all in one transaction: a writer may change
 * both meanwhile.  Where there is no digest, every page is checked first: that takes 3 s where a
 * million trials are, and what a digest proves needs no other check. */
static int read_checked(struct gt_store *store, gt_row_visit *visit, void *context,
                        struct gt_err *err)
{
    char expected[GT_DIGEST_HEX], found[GT_DIGEST_HEX];
    enum kind kind = KIND_NONE;
    bool differ;
    int code = gt_store_exec(store, "SAVEPOINT reading", err);

    GT_STEP(code, stored_digest(store, &kind, expected, err));
    if (!code && !kind && visit)
        code = gt_store_check_pages(store, err);
    if (!code && (kind || visit))
        code = read_winners(store, kind, visit, context, found, err);
    differ = !code && kind && strcmp(expected, found) != 0;
    if (differ)
        code = gt_store_check_pages(store, err); /* which says what is damaged */
    if (!code && differ)
        code = gt_err_set(err, GT_EDB,
                          "%s is damaged, or another program changed it: its winners do not match "
                          "its digest; tune them again into another file, or take them as they are "
                          "with `sqlite3 FILE 'DELETE FROM meta'`",
                          store->path);
    sqlite3_exec(store->db, "RELEASE reading", NULL, NULL, NULL);
    return code;
}

int gt_store_check_digest(struct gt_store *store, struct gt_err *err)
{
    return read_checked(store, NULL, NULL, err);
}

int gt_store_winners(const char *path, gt_row_visit *visit, void *context, struct gt_err *err)
{
    struct gt_store *store;
    int code = gt_store_open_unchecked(&store, path, err);

    if (code)
        return code;
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
    code = read_checked(store, visit, context, err);
    gt_store_close(store);
    return code;
}
