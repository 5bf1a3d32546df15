/* store_internal.h - declarations that the files db/store*.c share.  Only these files and their
 * tests include it. */
#ifndef GT_STORE_INTERNAL_H
#define GT_STORE_INTERNAL_H

#include "db/store.h"

#include "base/digest.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>

#define GT_STORE_APPLICATION 0x47454d4d /* "GEMM", at offset 68 of the file */
#define GT_STORE_VERSION     11         /* version of schema.sql, at offset 60 of the file */

/* SQL: a row of `line`, or a row with its columns, is not ok or has a possible time.  The schema
 * alone lets every number above zero pass. */
#define GT_STORE_TIMED "(status <> 'ok' OR us >= 1e-6)" /* GT_LEAST_US */

/* Statements of the hot path, prepared once (their text stands in store.c). */
enum gt_store_statement {
    GT_STORE_BEGIN,
    GT_STORE_COMMIT,
    GT_STORE_ROLLBACK,
    GT_STORE_ATTEMPT,
    GT_STORE_TRIAL,
    GT_STORE_CLOSE_ATTEMPT,
    GT_STORE_STATEMENTS
};

/* The kind of a record's field says how the SQL column and the C member, which have the same name,
 * are bound and read.  Lists of X(kind, name) make the SQL and the table of fields, so that both
 * have the same order. */
enum gt_field_kind {
    GT_FIELD_TEXT, /* const char *; "" for NULL */
    GT_FIELD_INT,
    GT_FIELD_INT64,
    GT_FIELD_BOOL,
    GT_FIELD_TIME, /* a double from 1e-6 to 1e12; any other value is stored, and read, as 0 */
    GT_FIELD_ERROR /* a double; NaN and infinity are stored, and read, as the largest number */
};
struct gt_field {
    enum gt_field_kind kind;
    size_t offset;
};
/* clang-format off */
#define GT_FIELD(record, kind, name) {GT_FIELD_##kind, offsetof(struct record, name)}
/* clang-format on */
#define GT_COLUMN(kind, name)   ", " #name
#define GT_COLUMN_T(kind, name) ", t." #name
#define GT_REPLACED(kind, name) ", " #name " = excluded." #name

/* SQL: the text of kernel `k` was not replaced by a later one. */
#define GT_STORE_CURRENT                                                  \
    "NOT EXISTS (SELECT 1 FROM kernel AS later WHERE later.name = k.name" \
    " AND (later.seen, later.id) > (k.seen, k.id))"

/* Columns of the other records, after their keys. */
/* clang-format off */
#define GT_STORE_BASELINE_FIELDS(X) \
    X(INT, answers) X(INT, best) X(TIME, us) X(TIME, lo_us) X(TIME, hi_us) X(TIME, first_us) \
    X(ERROR, err_u)
#define GT_STORE_WITH_FIELDS(X) /* fields of a comparison that a row lacks */ \
    X(TIME, copy_gbps) X(TIME, move_us) X(ERROR, baseline_err_u) X(TIME, best_us) \
    X(TEXT, untuned) X(TIME, untuned_us) X(BOOL, worse)
#define GT_STORE_COMPARISON_FIELDS(X) \
    X(TIME, us) X(TIME, lo_us) X(TIME, hi_us) X(ERROR, err_u) X(TIME, baseline_us) \
    GT_STORE_WITH_FIELDS(X)
#define GT_STORE_TURN_FIELDS(X) \
    X(TEXT, kernels) X(TEXT, strategy) X(INT64, seed) X(INT64, known) X(INT64, trials) \
    X(TIME, seconds) X(TIME, race_s) X(TIME, busy_s) X(TIME, us) X(TIME, baseline_us)
/* clang-format on */
#define GT_STORE_BASELINE_COLUMNS   GT_STORE_BASELINE_FIELDS(GT_COLUMN)
#define GT_STORE_WITH_COLUMNS       GT_STORE_WITH_FIELDS(GT_COLUMN)
#define GT_STORE_COMPARISON_COLUMNS GT_STORE_COMPARISON_FIELDS(GT_COLUMN)
#define GT_STORE_TURN_COLUMNS       GT_STORE_TURN_FIELDS(GT_COLUMN)

/* gt_store_bind_fields binds the fields of a record to the parameters from ?first on;
 * gt_store_read_fields reads them from the columns from `first` on. */
void gt_store_bind_fields(sqlite3_stmt *s, int first, const struct gt_field *field, size_t fields,
                          const void *record);
void gt_store_read_fields(sqlite3_stmt *s, int first, const struct gt_field *field, size_t fields,
                          void *record);

/* Columns of a trial after its key, sweep and date, and the part of an INSERT for a key that
 * exists. */
/* clang-format off */
#define GT_STORE_TRIAL_FIELDS(X) \
    X(INT, stage) X(TIME, us) X(TIME, lo_us) X(TIME, hi_us) X(ERROR, err_u) X(INT, registers) \
    X(INT, spill_bytes) X(INT, static_shared) X(INT64, shared_bytes) X(INT64, workspace_bytes) \
    X(TIME, clock_mhz) X(TIME, compile_ms) X(TIME, prove_ms) X(TIME, time_ms) X(BOOL, varies)
/* clang-format on */
#define GT_STORE_TRIAL_COLUMNS \
    " provenance, status" GT_STORE_TRIAL_FIELDS(GT_COLUMN) ", detail, samples"
#define GT_STORE_TRIAL_UPDATE                                                                    \
    " ON CONFLICT (device, toolchain, kernel, problem, timing, provenance, point) DO UPDATE SET" \
    " sweep = excluded.sweep, at = excluded.at, status = excluded.status" GT_STORE_TRIAL_FIELDS( \
        GT_REPLACED) ", detail = excluded.detail, samples = excluded.samples"
#define GT_STORE_TRIAL_FIELD_COUNT 15
extern const struct gt_field gt_store_trial_fields[GT_STORE_TRIAL_FIELD_COUNT];

/* The columns of a query that gt_store_read_trial reads, after point and count. */
#define GT_STORE_RESUME_COLUMNS \
    "t.status, t.provenance" GT_STORE_TRIAL_FIELDS(GT_COLUMN_T) ", t.detail, t.samples"
#define GT_STORE_RESUME_COLUMN_COUNT (GT_STORE_TRIAL_FIELD_COUNT + 4)

/* The columns of `line` that gt_store_read_row reads, in this order. */
/* clang-format off */
#define GT_STORE_ROW_FIELDS(X) \
    X(TEXT, uuid) X(TEXT, dtype) X(TEXT, accuracy) X(TEXT, layout) X(TEXT, problem) \
    X(TEXT, kernel) X(TEXT, signature) X(TEXT, point) X(INT, cc) X(INT, driver) X(INT, nvrtc) \
    X(INT64, m) X(INT64, n) X(INT64, k) X(INT64, batch) X(INT, timing) X(TIME, us) \
    X(TIME, lo_us) X(TIME, hi_us) X(TIME, baseline_us) X(ERROR, err_u) X(TIME, clock_mhz) \
    X(INT, registers) X(INT, stage) X(INT, ties) X(INT64, shared_bytes) \
    X(INT64, workspace_bytes) X(TEXT, baseline) X(TEXT, date) X(TEXT, detail) X(TEXT, algo)
#define GT_STORE_ROW_COLUMNS \
    "device" GT_STORE_ROW_FIELDS(GT_COLUMN) ", status, provenance, varies"
/* clang-format on */
#define GT_STORE_ROW_COLUMN_COUNT 35

/* Statuses that prove a kernel faulty: such evidence outranks any time. */
#define GT_STORE_FAULTY "('wrong', 'oob_write', 'nondeterministic', 'fault')"

struct gt_store {
    sqlite3 *db;
    const volatile sig_atomic_t
        *signals; /* used while the store is opened, see gt_store_open_watched; or NULL */
    char *path;
    char *lock_path; /* path of the writer's lock; NULL: the store only reads */
    int lock;        /* descriptor of the lock file, or -1 */
    bool immutable;  /* nobody writes the file: no locks, no log */
    int forwarded;   /* `db` is a copy in memory of an older file of this schema, brought forward;
                        0: it is no copy */
    bool moved;      /* the writer's file is not at `path` any more */
    bool shared;     /* the store is one of several writers: GT_STORE_SHARED */
    char *saved;     /* file to which a moved database was saved; NULL: it could not be saved */
    unsigned mode;   /* mode of the writer's file: who may read and write it */
    uint64_t log_device, log_inode;  /* device and inode of the writer's "<path>-wal"; 0: not
                                        known */
    int64_t refused, dated;          /* counts of the last merge: gt_store_merge_doubts */
    void (*seal)(struct gt_store *); /* the writer's: runs before the database is closed */
    sqlite3_stmt *statement[GT_STORE_STATEMENTS];
};

/* The sentence for SQLite's last error on `db`; doing: "write a trial". */
int gt_store_fail(sqlite3 *db, const char *path, const char *doing, struct gt_err *err);

/* Prepares a statement that the caller finalises. */
int gt_store_prepare(struct gt_store *store, sqlite3_stmt **statement, const char *sql,
                     struct gt_err *err);

/* Runs a prepared statement to its end and makes it ready for the next use; doing as above. */
int gt_store_run(struct gt_store *store, sqlite3_stmt *statement, const char *doing,
                 struct gt_err *err);

/* One statement, whose first error sticks: afterwards nothing is run or read, and gt_query_end
 * returns the error.  (SQLite refuses to bind to a statement that is NULL, and does nothing.) */
struct gt_query {
    struct gt_store *store;
    sqlite3_stmt *s;
    const char *doing; /* as above */
    struct gt_err *err;
    int code;
};
struct gt_query gt_query(struct gt_store *store, const char *doing, const char *sql,
                         struct gt_err *err);
struct gt_query gt_query_built(struct gt_store *store, const char *doing, struct gt_strbuf *sql,
                               struct gt_err *err); /* releases sql */
bool gt_query_row(struct gt_query *query); /* takes the next row; false: none, or an error */
void gt_query_run(struct gt_query *query); /* as gt_store_run */
int gt_query_end(struct gt_query *query);  /* finalises the statement */

/* Binds values to the parameters from ?first on, told as printf is told them: %s a text (as
 * gt_store_bind), %d an int, %ld an int64_t, %g a double. */
__attribute__((format(printf, 3, 4))) void gt_query_bind(struct gt_query *query, int first,
                                                         const char *format, ...);

void gt_query_bind_list(struct gt_query *query, int first, const char *format, va_list values);

/* Runs one statement with values as in gt_query_bind. */
__attribute__((format(printf, 5, 6))) int gt_store_do(struct gt_store *store, const char *doing,
                                                      const char *sql, struct gt_err *err,
                                                      const char *format, ...);

/* gt_store_insert runs an INSERT, UPDATE or DELETE in a transaction of its own; id: the value that
 * it returns (RETURNING id), or NULL. gt_query_insert does so for a query whose values are bound,
 * and ends the query. */
__attribute__((format(printf, 6, 7))) int gt_store_insert(struct gt_store *store, int64_t *id,
                                                          const char *doing, const char *sql,
                                                          struct gt_err *err, const char *format,
                                                          ...);
int gt_query_insert(struct gt_query *query, int64_t *id);

/* The text of a column of the row at hand; "" for NULL. */
const char *gt_store_text(sqlite3_stmt *statement, int i);

/* After the texts of a row were read: GT_ENOMEM if a text is missing for want of memory. */
int gt_store_whole(struct gt_store *store, struct gt_err *err);

/* Binds a text, which must stay until the statement was run; NULL is bound as "". */
void gt_store_bind(sqlite3_stmt *statement, int i, const char *value);

/* Binds the place of a trial: ?1 device, ?2 problem, ?3 timing. */
void gt_store_bind_place(sqlite3_stmt *statement, const struct gt_trial_key *key);

/* Binds a candidate: ?1 device, ?2 toolchain, ?3 kernel, ?4 problem, ?5 point, ?6 timing. */
void gt_store_bind_candidate(sqlite3_stmt *statement, const struct gt_trial_key *key);

/* Runs statements without results. */
int gt_store_exec(struct gt_store *store, const char *sql, struct gt_err *err);

/* gt_store_begin commits pending trials (gt_store_trial_later), because a failure of the new
 * transaction must not undo them; then it runs BEGIN IMMEDIATE.  gt_store_finish runs COMMIT if
 * code is GT_OK, else ROLLBACK, and returns code, or why the commit failed. */
int gt_store_begin(struct gt_store *store, struct gt_err *err);
int gt_store_finish(struct gt_store *store, int code, struct gt_err *err);

/* Reads a row that begins with point, count and GT_STORE_RESUME_COLUMNS; a NULL status is an
 * attempt without a trial.  A trial that is ok but has an impossible time gets GT_STATUS_NONE: it
 * is read as if it was never made. */
int gt_store_read_trial(struct gt_store *store, sqlite3_stmt *s, struct gt_trial *trial,
                        struct gt_err *err);

/* Reads a row that begins with GT_STORE_ROW_COLUMNS. */
int gt_store_read_row(struct gt_store *store, sqlite3_stmt *s, struct gt_row *row,
                      struct gt_err *err);

/* gt_store_add_filter appends the conditions of a filter on a row of `line`: problem as ?1, kernel
 * as ?2, cc as ?3.  The row's kernel must have a text of filter->kernels or, without these, a text
 * that was not replaced.  gt_store_bind_filter binds the parameters. */
void gt_store_add_filter(struct gt_strbuf *sql, const struct gt_row_filter *filter);
void gt_store_add_current(struct gt_strbuf *sql, const struct gt_row_filter *filter);
void gt_store_bind_filter(sqlite3_stmt *statement, const struct gt_row_filter *filter);

/* Brings a database from its user_version to GT_STORE_VERSION in one transaction, after a backup to
 * "<path>-v<from>.backup" (or, if that is there already, "....backup.2" and so on) unless the
 * database is in memory.  A migration that fails leaves neither a change nor a backup.  A new,
 * empty database gets the schema. */
int gt_store_migrate(struct gt_store *store, struct gt_err *err);

/* Makes an empty database in memory ("main" or an attached `schema` of `to`) a copy of another. */
int gt_store_fill(sqlite3 *to, const char *schema, sqlite3 *from, const char *path,
                  struct gt_err *err);

/* "file:PATH?QUERY" with the special characters of PATH escaped; malloc'ed, NULL without memory. */
char *gt_store_uri(const char *path, const char *query);

/* Steps of opening, for store_open.c (readers) and store_writer.c (the writer).  gt_store_new
 * allocates a handle without a database and refuses a path that is no file.  gt_store_check finds
 * out whether the file is a database of gemmtune (*fresh: the file is empty and may become one;
 * *version: its schema's).  gt_store_check_pages finds out whether the file is sound, and reads all
 * of it.  gt_store_open_unchecked leaves that check to its caller. */
int gt_store_new(struct gt_store **store, const char *path, struct gt_err *err);
int gt_store_open_file(struct gt_store *store, bool write, struct gt_err *err);
int gt_store_open_memory(struct gt_store *store, struct gt_err *err); /* an empty database */
int gt_store_set_up(struct gt_store *store, bool write, struct gt_err *err);
int gt_store_check(struct gt_store *store, bool *fresh, int64_t *version, struct gt_err *err);
int gt_store_check_pages(struct gt_store *store, struct gt_err *err);
int gt_store_open_unchecked(struct gt_store **store, const char *path, struct gt_err *err);
int gt_store_open_read(struct gt_store **store, const char *path, struct gt_err *err);

/* Checks that the schema is this program's, letter by letter.  Before a migration, when the schema
 * is an older one, checks that there are no triggers.  GT_EDB: there is foreign code. */
int gt_store_check_schema(struct gt_store *store, struct gt_err *err);

/* Writes the digest of the winners into `meta`; the next writer removes it. */
int gt_store_seal(struct gt_store *store, struct gt_err *err);

/* Whether the file is still where it was opened: GT_EDB with a sentence if it was moved, removed or
 * replaced.  The database is then saved beside its path, once. */
int gt_store_check_moved(struct gt_store *store, struct gt_err *err);

/* Computes the digest of the winners, exactly as a reader receives them. */
int gt_store_winners_digest(struct gt_store *store, char hex[GT_DIGEST_HEX], struct gt_err *err);

/* Checks the winners of a database against its digest: GT_EDB if they differ.  A database without a
 * digest passes. */
int gt_store_check_digest(struct gt_store *store, struct gt_err *err);

/* Whether the held lock file still has its name.  Its folder may have been moved, and another
 * writer's lock may have the name now. */
bool gt_store_lock_is_named(const struct gt_store *store, int lock);

/* The name of a network file system by the f_type of statfs, or by its type in the mount table if
 * it is a FUSE; NULL for any other. */
const char *gt_store_network(long f_type);
const char *gt_store_network_fuse(const char *type);

/* Reads one integer from a PRAGMA or a query. */
int gt_store_integer(struct gt_store *store, const char *sql, int64_t *value, struct gt_err *err);

#endif
