/* cmd_capture.c - tune capture: runs a program and writes down its products, as a set of problems
 * for --shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "commands/cmd_serve.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "console/options.h"
#include "session/coverage.h"

#define EXIT_NOT_WRITTEN 1 /* the exit code where the program ended well */

struct options {
    const char *output, *accuracy, *library;
    bool merge;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, output, "output", 'o', "FILE",
            "the set of problems to write (default: shapes.txt)"),
    GT_CHOICE(options, accuracy, "accuracy", 0, "CLASS", "strict|f32|tf32",
              "what FP32 products are to be tuned and served with (default: strict)"),
    GT_FLAG(options, merge, "merge", 0, "run nothing: add up sets that were captured before"),
    GT_TEXT(options, library, "library", 0, "FILE",
            "libgemmtune_cublas.so, if it is not beside this program"),
    GT_OPTIONS_END,
};

/* The captured problems, each once, with its sums. */
struct sum {
    struct gt_problem_entry *entry;
    size_t count;
    FILE *log; /* for remarks */
};

static int add_entry(struct sum *sum, const struct gt_problem_entry *from, struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_problem_entry *entry;

    gt_problem_format(&from->problem, text);
    for (size_t i = 0; i < sum->count; i++)
        if (strcmp(sum->entry[i].text, text) == 0) {
            sum->entry[i].weight += from->weight;
            sum->entry[i].count += from->count;
            return GT_OK;
        }
    entry = realloc(sum->entry, (sum->count + 1) * sizeof(*entry));
    if (!entry)
        return gt_err_nomem(err);
    sum->entry = entry;
    entry += sum->count;
    *entry = (struct gt_problem_entry){
        .text = strdup(text), .weight = from->weight, .count = from->count};
    if (!entry->text)
        return gt_err_nomem(err);
    sum->count++;
    return GT_OK;
}

/* Adds a file of problems.  The file of a process without products is empty and adds nothing. */
static int add_file(void *context, const char *path, struct gt_err *err)
{
    struct gt_problemset set;
    int rc = gt_problemset_load(&set, path, err);

    if (rc)
        return rc;
    if (set.remark)
        fprintf(((const struct sum *)context)->log, "%s\n", set.remark);
    for (size_t i = 0; !rc && i < set.count; i++)
        rc = add_entry(context, &set.entry[i], err);
    gt_problemset_release(&set);
    return rc;
}

static int add_captured(void *context, const char *path, struct gt_err *err)
{
    FILE *file = fopen(path, "re");
    bool empty = file && getc(file) == EOF;

    if (file)
        fclose(file);
    return empty ? GT_OK : add_file(context, path, err);
}

static int heavier(const void *x, const void *y)
{
    const struct gt_problem_entry *a = x, *b = y;

    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return strcmp(a->text, b->text);
}

static int print_set(void *context, FILE *file, struct gt_err *err)
{
    const struct sum *sum = context;

    (void)err;
    for (size_t i = 0; i < sum->count; i++)
        if (sum->entry[i].count > 0)
            fprintf(file, "%s count=%.0f weight=%.6g\n", sum->entry[i].text, sum->entry[i].count,
                    sum->entry[i].weight);
        else /* a list without numbers of calls */
            fprintf(file, "%s weight=%.6g\n", sum->entry[i].text, sum->entry[i].weight);
    return GT_OK;
}

/* Adds the problems that earlier captures wrote into the file.  `sum` NULL: only checks that the
 * file is a set of problems, before a program runs for hours. */
static int add_earlier(struct sum *sum, const char *path, struct gt_err *err)
{
    struct gt_problemset set = {0};
    struct stat file;
    int rc;

    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || !file.st_size)
        return GT_OK;
    rc = sum ? add_file(sum, path, err) : gt_problemset_load(&set, path, err);
    gt_problemset_release(&set);
    return rc ? gt_err_prefix(err, rc,
                              "-o %s is there and is no set of problems to which a capture could "
                              "be added",
                              path)
              : GT_OK;
}

static int write_set(struct sum *sum, const char *path, struct gt_err *err)
{
    const struct gt_cmd_writing writing = {.write = print_set, .context = sum, .mode = 0666};

    if (sum->count)
        qsort(sum->entry, sum->count, sizeof(*sum->entry), heavier);
    return gt_cmd_write_file(path, &writing, err);
}

/* Prints the set if it could not be written, so that a full disk does not lose the problems of a
 * long run. */
static void print_instead(const struct gt_cli *cli, struct sum *sum, const struct gt_err *why)
{
    fprintf(cli->log, "tune: %s; this is what was captured:\n", why->msg);
    print_set(sum, cli->log, NULL);
}

/* Says how much of the captured time is tuned, if there is a database. */
static int say_coverage(struct gt_cli *cli, const struct sum *sum, struct gt_err *err)
{
    struct gt_problem *problem = calloc(sum->count, sizeof(*problem));
    double *weight = calloc(sum->count, sizeof(*weight));
    struct gt_store *store = NULL;
    struct gt_coverage coverage;
    const char *path = NULL;
    int rc = problem && weight ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < sum->count && !rc; i++) {
        rc = gt_problem_parse(&problem[i], sum->entry[i].text, err);
        weight[i] = sum->entry[i].weight;
    }
    GT_STEP(rc, gt_session_database(&path, cli, NULL, false, err));
    if (!rc && access(path, F_OK) == 0) {
        rc = gt_session_store(&store, path, GT_STORE_READ, err);
        GT_STEP(rc, gt_coverage_find(&coverage, NULL, store, problem, weight, sum->count, err));
        if (!rc)
            gt_coverage_print(&coverage, cli->log);
        gt_store_close(store);
    }
    free(weight);
    free(problem);
    return rc;
}

/* Writes the set and reports how many problems and calls it holds. */
static int finish(struct gt_cli *cli, struct sum *sum, const char *path, struct gt_err *err)
{
    double calls = 0;
    int rc;

    if (!sum->count) {
        fprintf(cli->log,
                "tune: no product of cuBLAS was seen that gemmtune has a name for; %s is not "
                "written; tune doctor --program -- COMMAND says what was seen\n",
                path);
        return GT_OK;
    }
    rc = write_set(sum, path, err);
    for (size_t i = 0; i < sum->count; i++)
        calls += sum->entry[i].count;
    if (!rc && !cli->quiet)
        fprintf(cli->log, "%s: %zu problem%s, %.0f calls\n", path, sum->count,
                sum->count == 1 ? "" : "s", calls);
    if (!rc && !cli->quiet)
        say_coverage(cli, sum, NULL); /* the set is written, whatever the database is */
    return rc;
}

/* Runs the command; each of its processes writes a file of its own. */
static int capture(struct sum *sum, const struct options *options, char **argv, int *status,
                   struct gt_err *err)
{
    struct gt_scratch folder = {0};
    int rc = gt_preload(options->library, err);

    GT_STEP(rc, gt_preload_folder(&folder, "GEMMTUNE_CAPTURE", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_ACCURACY", options->accuracy, err));
    GT_STEP(rc, gt_preload_run(argv, status, err));
    GT_STEP(rc, gt_preload_files(folder.path, add_captured, sum, err));
    gt_scratch_remove(&folder);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *output = options->output ? options->output : "shapes.txt";
    struct sum sum = {.log = cli->log};
    int rc = GT_OK, status = 0;

    if (options->merge)
        for (int i = 0; !rc && i < cli->arguments; i++)
            rc = add_file(&sum, cli->argument[i], err);
    else
        rc = gt_cmd_may_write(output, err);
    if (!rc && !options->merge)
        rc = add_earlier(NULL, output, err);
    if (!rc && !options->merge)
        rc = capture(&sum, options, cli->argument, &status, err);
    if (!rc && !options->merge && sum.count)
        rc = add_earlier(&sum, output, err);
    GT_STEP(rc, finish(cli, &sum, output, err));
    if (rc && sum.count && !options->merge) {
        print_instead(cli, &sum, err);
        rc = GT_OK;
        status = status ? status : W_EXITCODE(EXIT_NOT_WRITTEN, 0);
    }
    for (size_t i = 0; i < sum.count; i++)
        free(sum.entry[i].text);
    free(sum.entry);
    return rc || options->merge ? rc : gt_preload_end(status);
}

const struct gt_command gt_command_capture = {
    .name = "capture",
    .doc = "run a program and write down what it multiplies, for --shapes",
    .usage = "capture [-o FILE] [--accuracy CLASS] -- COMMAND [ARGUMENT]... | --merge FILE...",
    .about =
        "Runs COMMAND with libgemmtune_cublas.so before its cuBLAS, which computes everything as\n"
        "always, and writes the set of problems that it and its children asked for: each with its\n"
        "number of calls and its weight, the time that they may take (an estimate). If there is a\n"
        "database, it says how much of that time has a tuned answer. Exit code and signals are\n"
        "those of COMMAND. A FILE that is there is added to, so that several runs make one set.\n"
        "--merge adds up sets instead, also files and logs of other programs that --shapes reads.\n"
        "\n"
        "  tune capture -o shapes.txt -- python3 train.py\n"
        "  tune --shapes shapes.txt --budget 30m\n"
        "  tune serve -- python3 train.py\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .argument = "FILE",
    .min_args = 1,
    .max_args = GT_WORDS_OF_A_PROGRAM,
    .needs_no_data = true,
    .run = run,
};
