/* cmd_merge.c - tune merge DB...: the union of databases, e.g. of several machines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "cluster/queue.h"
#include "console/cmd_record.h"
#include "session/cmd_session.h"
#include "console/commands.h"
#include "console/options.h"

struct options {
    const char *db;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, db, "db", 0, "FILE",
            "database to merge into, created if missing (default: as of a sweep)"),
    GT_OPTIONS_END,
};

/* Checks the sources before a target is made, so that a refused source leaves no empty target
 * behind. */
static int check_sources(const struct gt_queue_copy *from, int count, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < count && !rc; i++) {
        struct gt_store *store = NULL;

        rc = gt_store_open(&store, from[i].path, GT_STORE_READ, err);
        gt_store_close(store);
    }
    return rc;
}

/* Opens all sources first, so that an unreadable source is reported before any source is merged. */
static int open_sources(struct gt_queue_copy *from, struct gt_cli *cli, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < cli->arguments && !rc; i++) {
        rc = gt_queue_copy_open(&from[i], cli, cli->argument[i], err);
        if (!rc && access(from[i].path, R_OK) != 0)
            rc = gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", cli->argument[i],
                            strerror(errno));
    }
    return rc;
}

static void report(struct gt_cli *cli, const struct gt_records *records,
                   const struct gt_store *store, const char *from, const char *into, int64_t rows)
{
    int64_t refused, dated;

    gt_store_merge_doubts(store, &refused, &dated);
    if (!cli->quiet)
        fprintf(cli->log, "%s: %lld trial%s taken into %s\n", from, (long long)rows,
                rows == 1 ? "" : "s", into);
    gt_session_doubts(cli, from, refused, dated);
    gt_records_add(records, "from=%s into=%s trials=%lld refused=%lld dated=%lld", from, into,
                   (long long)rows, (long long)refused, (long long)dated);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *into = NULL;
    struct gt_store *store = NULL;
    struct gt_records records = {0};
    struct gt_queue_copy *from = calloc((size_t)cli->arguments, sizeof(*from));
    int rc = from ? open_sources(from, cli, err) : gt_err_nomem(err);

    gt_records_open(&records, cli, NULL);
    records.out = NULL; /* the lines about the databases are remarks, on cli->log */
    GT_STEP(rc, gt_session_database(&into, cli, options->db, true, err));
    if (!rc && access(into, F_OK) != 0)
        rc = check_sources(from, cli->arguments, err);
    GT_STEP(rc, gt_session_store(&store, into, GT_STORE_WRITE, err));
    for (int i = 0; i < cli->arguments && !rc; i++) {
        int64_t rows = 0;

        rc = gt_store_merge(store, from[i].path, &rows, err);
        if (!rc)
            report(cli, &records, store, cli->argument[i], into, rows);
    }
    gt_store_close(store);
    for (int i = 0; i < cli->arguments && from; i++)
        gt_queue_copy_close(&from[i], err);
    free(from);
    return gt_records_close(&records, cli, rc, err);
}

const struct gt_command gt_command_merge = {
    .name = "merge",
    .doc = "take the trials of other databases into one",
    .usage = "merge DB... [--db FILE]",
    .about =
        "Takes every trial of other databases into one; where both have the same candidate,\n"
        "the one with the later timing stage stays, and of equal ones the newer. Each DB is all\n"
        "or nothing. Left out, and told of, are times in which no device computes the problem; a\n"
        "date in the future becomes that of today. A DB is a file, or postgresql://HOST/DATABASE:\n"
        "what the workers of a queue have found.\n"
        "\n"
        "  tune merge node1.db node2.db --db gemmtune.db\n",
    .group = {{option_table, 0, NULL}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 4096,
    .run = run,
};
