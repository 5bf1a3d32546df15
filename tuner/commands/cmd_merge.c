/* cmd_merge.c - tune merge DB...: the union of databases, e.g. of several machines. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "console/cmd_json.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "console/options.h"

struct options {
    const char *db;
};

static const struct gt_option option_table[] = {
    {"db", 0, GT_OPTION_TEXT, offsetof(struct options, db), "FILE",
     "database to merge into, created if missing (default: as of a sweep)", NULL, 0, 0},
    GT_OPTIONS_END,
};

/* A source that cannot be read must not leave an empty target behind. */
static int check_sources(int argc, char **argv, struct gt_err *err)
{
    for (int i = 0; i < argc; i++)
        if (access(argv[i], R_OK) != 0)
            return gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", argv[i],
                              strerror(errno));
    return GT_OK;
}

static int add_item(cJSON *list, const char *from, const char *into, int64_t rows,
                    struct gt_err *err)
{
    cJSON *item = cJSON_CreateObject();

    if (cJSON_AddStringToObject(item, "from", from) &&
        cJSON_AddStringToObject(item, "into", into) &&
        cJSON_AddNumberToObject(item, "trials", (double)rows) && cJSON_AddItemToArray(list, item))
        return GT_OK;
    cJSON_Delete(item);
    return gt_err_nomem(err);
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    const char *into = NULL;
    struct gt_store *store = NULL;
    cJSON *list = cli->json ? cJSON_CreateArray() : NULL;
    int rc = cli->json && !list ? gt_err_nomem(err) : check_sources(argc, argv, err);

    GT_STEP(rc, gt_session_database(&into, cli, options->db, true, err));
    GT_STEP(rc, gt_session_store(&store, into, GT_STORE_WRITE, err));
    for (int i = 0; i < argc && !rc; i++) {
        int64_t rows = 0;

        rc = gt_store_merge(store, argv[i], &rows, err);
        if (!rc && !cli->quiet)
            fprintf(cli->log, "%s: %lld trial%s taken into %s\n", argv[i], (long long)rows,
                    rows == 1 ? "" : "s", into);
        if (!rc && list)
            rc = add_item(list, argv[i], into, rows, err);
    }
    gt_store_close(store);
    if (cli->json && !rc)
        return gt_cmd_print_json(cli, list, err);
    cJSON_Delete(list);
    return rc;
}

const struct gt_command gt_command_merge = {
    .name = "merge",
    .doc = "take the trials of other databases into one",
    .usage = "merge DB... [--db FILE]",
    .about =
        "Takes every trial of other databases into one; where both have the same candidate,\n"
        "the one with the later timing stage stays, and of equal ones the newer. Each DB is all\n"
        "or nothing.\n"
        "\n"
        "  tune merge node1.db node2.db --db gemmtune.db\n",
    .group = {{option_table, 0}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 4096,
    .run = run,
};
