/* cmd_forget.c - tune forget: removes trials of a kernel, a problem or a device, or predictions. */
#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/terminal.h"
#include "console/commands.h"
#include "console/options.h"
#include "db/store.h"
#include "problem/problem.h"
#include "session/cmd_session.h"

struct options {
    const char *db, *device;
    struct gt_texts kernel, problem;
    bool predicted, dry_run;
};

static const struct gt_option option_table[] = {
    GT_TEXTS(options, kernel, "kernel", 'k', "KERNEL",
             "trials of this kernel, a name or a pattern such as 'simt*'; may be repeated"),
    GT_TEXTS(options, problem, "problem", 'p', "TEXT",
             "trials of this problem; may be repeated, which adds"),
    GT_TEXT(options, device, "device", 'd', "NAME",
            "trials of this device, by its name as tune export prints it, or its uuid"),
    GT_FLAG(options, predicted, "predicted", 0, "predictions, and nothing that was measured"),
    GT_FLAG(options, dry_run, "dry-run", 'n', "say what would go, and change nothing"),
    GT_TEXT(options, db, "db", 0, "FILE", "database (default: as of a sweep)"),
    GT_OPTIONS_END,
};

/* The list of the selected trials. */
struct listing {
    struct gt_records records;
    int64_t trials;
};

static int list_selected(void *context, const struct gt_selected *selected, struct gt_err *err)
{
    struct listing *listing = context;
    const double trials = (double)selected->trials;

    (void)err;
    listing->trials += selected->trials;
    gt_records_add(&listing->records,
                   "=%8.0f  device=%s  problem=%s  kernel=%s  result=%s .trials=%.0f", trials,
                   selected->device, selected->problem, selected->kernel, selected->result, trials);
    return GT_OK;
}

/* The names of one kind in a database, each once. */
struct names {
    struct gt_strbuf device, kernel;
};

static void add_name(struct gt_strbuf *names, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names->text; at && (at = strstr(at, name)); at += length)
        if (at[length] == '"' && at > names->text && at[-1] == '"')
            return;
    gt_strbuf_addf(names, "%s\"%s\"", names->length ? ", " : "", name);
}

static int take_names(void *context, const struct gt_selected *selected, struct gt_err *err)
{
    struct names *names = context;

    add_name(&names->device, selected->device);
    add_name(&names->kernel, selected->kernel);
    return gt_strbuf_check(&names->device, err) ? GT_ENOMEM : gt_strbuf_check(&names->kernel, err);
}

/* Says which names there are, if nothing is selected. */
static int say_names(struct gt_cli *cli, struct gt_store *store, struct gt_err *err)
{
    struct names names = {GT_STRBUF_INIT, GT_STRBUF_INIT};
    int rc = gt_store_select(store, &(struct gt_selection){0}, take_names, &names, err);

    if (!rc && !cli->quiet && names.device.length) {
        fputs("it has trials of the devices ", cli->log);
        gt_columns_put(cli->log, names.device.text);
        fputs(" and of the kernels ", cli->log);
        gt_columns_put(cli->log, names.kernel.text);
        fputc('\n', cli->log);
    }
    gt_strbuf_release(&names.device);
    gt_strbuf_release(&names.kernel);
    return rc;
}

/* Opens an existing database for reading, or for reading and writing. */
static int open_database(struct gt_store **store, struct gt_cli *cli, const struct options *options,
                         struct gt_err *err)
{
    const char *path = NULL;
    int rc = gt_session_database(&path, cli, options->db, false, err);
    const bool reads = options->dry_run || (!rc && access(path, F_OK) != 0);

    return rc ? rc : gt_session_store(store, path, reads ? GT_STORE_READ : GT_STORE_WRITE, err);
}

static int forget(struct gt_cli *cli, const struct options *options,
                  const struct gt_selection *which, struct gt_err *err)
{
    struct listing listing = {.trials = 0};
    struct gt_store *store = NULL;
    int rc = open_database(&store, cli, options, err);

    gt_records_document(&listing.records, cli, "forgotten", "format=%s dry_run=%i",
                        "gemmtune forget 1", options->dry_run);
    GT_STEP(rc, gt_store_select(store, which, list_selected, &listing, err));
    if (!rc && !options->dry_run)
        rc = gt_store_forget(store, which, err);
    if (!rc && !listing.trials)
        rc = say_names(cli, store, err);
    gt_store_close(store);
    if (!rc && !cli->json)
        fprintf(cli->out, "%lld trial%s %s\n", (long long)listing.trials,
                listing.trials == 1 ? "" : "s",
                options->dry_run ? "would be forgotten" : "forgotten");
    gt_json_add(listing.records.root, "trials=%lld", (long long)listing.trials);
    return gt_records_close(&listing.records, cli, rc, err);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    char(*text)[GT_PROBLEM_TEXT_MAX] = calloc(options->problem.count + 1, sizeof(*text));
    const char *problem[GT_MAX_TEXTS];
    struct gt_selection which = {
        .device = options->device,
        .kernel = options->kernel.text,
        .problem = problem,
        .kernels = options->kernel.count,
        .problems = options->problem.count,
        .predicted = options->predicted,
    };
    int rc = text ? GT_OK : gt_err_nomem(err);

    if (!rc && !which.device && !which.kernels && !which.problems && !which.predicted)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "nothing says what to forget: --kernel, --problem, --device or "
                        "--predicted; a whole database is a file to remove");
    for (size_t i = 0; i < which.problems && !rc; i++) {
        struct gt_problem parsed;

        rc = gt_problem_parse(&parsed, options->problem.text[i], err);
        if (!rc)
            gt_problem_format(&parsed, text[i]);
        problem[i] = text[i];
    }
    GT_STEP(rc, forget(cli, options, &which, err));
    free(text);
    return rc;
}

const struct gt_command gt_command_forget = {
    .name = "forget",
    .doc = "remove trials of a kernel, a problem or a device, or predictions",
    .usage = "forget [--kernel KERNEL]... [--problem TEXT]... [--device NAME] [--predicted] "
             "[--dry-run]",
    .about =
        "Removes trials from a database, and what hangs on them alone: launches that did not end,\n"
        "ties, comparisons and energies, and the baseline and the turns of a problem without a\n"
        "trial. Several conditions narrow; at least one is needed. What goes is listed by device,\n"
        "problem and kernel, with the number of trials.\n"
        "\n"
        "  tune forget --kernel mykernel --dry-run\n"
        "  tune forget --predicted\n"
        "  tune forget --device \"NVIDIA H200\" --problem 4096x4096x4096:f16:nt\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .needs_no_data = true,
    .run = run,
};
