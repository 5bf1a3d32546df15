/* cmd_recheck.c - tune recheck: are the stored winners still the fastest?  Each measured winner is
 * timed again against the best other candidates of its problem, in a process that shares nothing
 * with the run that chose it. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "recheck/cmd_adopt.h"
#include "recheck/cmd_carry.h"
#include "recheck/cmd_recheck_report.h"
#include "session/cmd_session.h"
#include "console/commands.h"
#include "sweep/progress.h"

#define DEFAULT_LIMIT   50
#define DEFAULT_RUNNERS 3

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv, *system_db, *same_code, *output;
    int64_t limit, runners, rounds;
    bool adopt;
};

static const struct gt_option option_table[] = {
    GT_ARCH(options, session.arch, "GPU architecture that the GPU must have, e.g. sm_86"),
    GT_TEXT(options, session.device, "device", 'd', "DEVICE",
            "cuda or cuda:N: the GPU to measure on (default: cuda)"),
    GT_INTEGER(options, limit, "limit", 'n', "N", 1, 100000,
               "winners timed again, spread over the list if there are more (default: 50; with "
               "--adopt: all)"),
    GT_INTEGER(options, runners, "runners-up", 0, "N", 1, GT_RECHECK_RUNNERS,
               "others timed beside each winner (default: 3)"),
    GT_INTEGER(options, rounds, "rounds", 0, "N", 5, GT_MAX_SAMPLES,
               "paired rounds of a contest (default: as many as take about 2 s, 61 to 512; with "
               "--adopt 0.3 s, 21 to 101)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_FLAG(options, adopt, "adopt", 0,
            "prove and time winners of older texts of their kernels with today's, and store them"),
    GT_TEXT(options, system_db, "system-db", 0, "FILE",
            "with --adopt: a table or database whose winners are adopted too, of whatever text"),
    GT_TEXT(
        options, same_code, "same-code", 0, "DIR",
        "with --adopt, without a GPU: take over the winners whose machine code and launches are "
        "those of the templates/ and configs/ in this folder"),
    GT_TEXT(options, output, "output", 'o', "FILE",
            "with --same-code: where the table of --system-db goes, rows that stay included"),
    GT_OPTIONS_END,
};

struct recheck {
    struct gt_session session;
    const struct options *options;
    struct gt_recheck_report report;
    int timing;                           /* enum gt_timing */
    char (*problem)[GT_PROBLEM_TEXT_MAX]; /* with a winner, in the order of an export */
    size_t problems, capacity;
};

/* ---- stored winners ---- */

/* The row's kernel if the row is of this session's device, L2 mode and template text; else NULL. */
static const struct gt_kernel *kernel_of(const struct recheck *recheck, const struct gt_row *row)
{
    const struct gt_session *session = &recheck->session;
    const struct gt_kernel *kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);

    if (!kernel || strcmp(kernel->signature, row->signature) != 0 ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->timing != recheck->timing || row->status != GT_STATUS_OK)
        return NULL;
    return kernel;
}

static int take_problem(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct recheck *recheck = context;

    if (!kernel_of(recheck, row))
        return GT_OK;
    if (GT_ARRAY_RESERVE(&recheck->problem, recheck->problems + 1, &recheck->capacity, err))
        return GT_ENOMEM;
    snprintf(recheck->problem[recheck->problems++], GT_PROBLEM_TEXT_MAX, "%s", row->problem);
    return GT_OK;
}

/* Lists the problems with winners: those asked for, or all. */
static int find_problems(struct recheck *recheck, struct gt_err *err)
{
    const struct gt_problem_options *asked = &recheck->options->problem;
    struct gt_row_filter filter = {.winners_only = true, .provenance = 1u << GT_MEASURED};
    struct gt_problem *problem = NULL;
    char text[GT_PROBLEM_TEXT_MAX];
    size_t count = 0;
    int rc;

    filter.cc = recheck->session.evaluator->device.cc;
    if (!asked->shape.count && !asked->shapes && asked->shard)
        return gt_err_set(err, GT_ESYNTAX, "--shard takes a part of a list: name it with --shapes");
    if (!asked->shape.count && !asked->shapes)
        return gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    rc = gt_session_problems(recheck->session.cli, &recheck->session, &problem, NULL, &count, asked,
                             err);
    for (size_t i = 0; i < count && !rc; i++) {
        gt_problem_format(&problem[i], text);
        filter.problem = text;
        rc = gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    }
    free(problem);
    return rc;
}

struct collecting {
    const struct recheck *recheck;
    struct gt_contest *contest;
};

/* Rows come best first; one point may have a row for each driver it was timed with. */
static int take_candidate(void *context, const struct gt_row *row, struct gt_err *err)
{
    const struct collecting *collecting = context;
    struct gt_contest *contest = collecting->contest;
    const struct gt_kernel *kernel = kernel_of(collecting->recheck, row);
    struct gt_candidate *to = &contest->candidate[contest->count];
    int rc;

    if (!kernel || contest->count == contest->wanted)
        return GT_OK;
    *to = (struct gt_candidate){.kernel = kernel,
                                .problem = &contest->problem,
                                .device = &collecting->recheck->session.evaluator->device};
    rc = gt_point_parse(&to->point, kernel, row->point, err);
    for (size_t i = 0; i < contest->count && !rc; i++)
        if (contest->candidate[i].kernel == kernel &&
            !memcmp(&contest->candidate[i].point, &to->point, sizeof(to->point)))
            return GT_OK;
    if (rc)
        return rc;
    if (!contest->count)
        contest->stored_us = row->us;
    contest->count++;
    return GT_OK;
}

static int find_candidates(const struct recheck *recheck, struct gt_contest *contest,
                           struct gt_err *err)
{
    const struct gt_row_filter filter = {.problem = contest->text,
                                         .provenance = 1u << GT_MEASURED,
                                         .cc = recheck->session.evaluator->device.cc};
    struct collecting collecting = {recheck, contest};

    return gt_store_rows(recheck->session.store, &filter, take_candidate, &collecting, err);
}

/* ---- the command ---- */

static int recheck_problem(struct recheck *recheck, const char *text, struct gt_err *err)
{
    const struct options *options = recheck->options;
    struct gt_contest *contest = calloc(1, sizeof(*contest));
    struct gt_err why = {0};
    int rc;

    if (!contest)
        return gt_err_nomem(err);
    snprintf(contest->text, sizeof(contest->text), "%s", text);
    contest->wanted = 1 + (size_t)(options->runners ? options->runners : DEFAULT_RUNNERS);
    gt_progress_now(recheck->session.progress, text);
    rc = gt_problem_parse(&contest->problem, text, err);
    GT_STEP(rc, find_candidates(recheck, contest, err));
    GT_STEP(rc,
            gt_recheck_contest(contest, recheck->session.evaluator, (int)options->rounds, &why));
    gt_progress_clear(recheck->session.progress);
    GT_STEP(rc, gt_recheck_report_row(&recheck->report, contest, err));
    free(contest);
    if (why.code == GT_ETOOBIG) { /* another program holds the memory; other problems may fit */
        fprintf(recheck->session.cli->log, "%s: not timed: %s\n", text, why.msg);
        return GT_OK;
    }
    if (why.code && err)
        *err = why;
    return rc;
}

static int recheck_all(struct recheck *recheck, struct gt_err *err)
{
    const struct gt_session *session = &recheck->session;
    size_t limit = (size_t)(recheck->options->limit ? recheck->options->limit : DEFAULT_LIMIT);
    size_t count = recheck->problems < limit ? recheck->problems : limit;
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++) {
        const char *text = recheck->problem[i * recheck->problems / count];

        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu winners", i, count);
        else
            rc = recheck_problem(recheck, text, err);
    }
    return rc;
}

/* Exit codes 4 and 8. */
static int conclude(const struct recheck *recheck, struct gt_err *err)
{
    const char *named = recheck->options->session.db;
    size_t bad = recheck->report.tally[GT_LOST] + recheck->report.tally[GT_FAILED];

    if (!recheck->problems)
        return gt_err_set(err, GT_EXIT_NOTHING, "%s has no measured winner of this device%s",
                          named ? named : recheck->session.cli->database,
                          recheck->options->problem.shape.count ? " for these problems" : "");
    if (bad)
        return gt_err_set(err, GT_EXIT_LOST, "%zu of the winners %s not the fastest any more", bad,
                          bad > 1 ? "are" : "is");
    return GT_OK;
}

static int adopt(struct recheck *recheck, struct gt_err *err)
{
    const struct options *options = recheck->options;
    const struct gt_adopt_options adopting = {
        .problem = &options->problem,
        .table = options->system_db,
        .csv = options->csv,
        .limit = (size_t)options->limit,
        .rounds = (int)options->rounds,
        .timing = recheck->timing,
    };

    if (options->runners)
        return gt_err_set(err, GT_ESYNTAX, "--runners-up does not go with --adopt");
    return gt_adopt(&recheck->session, &adopting, err);
}

/* Rechecks the stored winners; the session is open. */
static int recheck_stored(struct recheck *recheck, struct gt_cli *cli, struct gt_err *err)
{
    int rc;

    if (recheck->options->system_db)
        return gt_err_set(err, GT_ESYNTAX, "--system-db goes with --adopt only");
    rc = find_problems(recheck, err);
    if (!rc && recheck->problems)
        rc = gt_recheck_report_open(&recheck->report, cli, &recheck->session.evaluator->device,
                                    recheck->timing, recheck->options->csv, err);
    GT_STEP(rc, recheck_all(recheck, err));
    rc = gt_recheck_report_close(&recheck->report, rc, err);
    return rc ? rc : conclude(recheck, err);
}

/* Takes rows over without timing anything. */
static int carry(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const struct gt_problem_options *problem = &options->problem;
    const struct gt_carry_options carrying = {
        .older = options->same_code,
        .table = options->system_db,
        .output = options->output,
        .db = options->session.db,
        .kernels_dir = options->session.kernels_dir,
        .include_dirs = options->session.include_dirs,
        .jobs = (int)options->session.jobs,
    };

    if (!options->adopt)
        return gt_err_set(err, GT_ESYNTAX, "--same-code goes with --adopt only");
    if (problem->shape.count || problem->shapes || options->csv || options->limit ||
        options->rounds || options->runners)
        return gt_err_set(err, GT_ESYNTAX,
                          "--same-code takes every winner over that it can and times none: not "
                          "with --shape, --shapes, --csv, --limit, --rounds or --runners-up");
    return gt_carry(cli, &carrying, err);
}

/* A slip in the problems is told of before a GPU is looked for. */
static int check_problems(const struct gt_cli *cli, const struct gt_problem_options *asked,
                          struct gt_err *err)
{
    struct gt_problem *problem = NULL;
    size_t count;
    int rc = GT_OK;

    if (asked->shape.count || asked->shapes)
        rc = gt_session_problems(cli, NULL, &problem, NULL, &count, asked, err);
    free(problem);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct recheck recheck = {
        .options = options,
        .timing = gt_session_timing(&options->session),
    };
    struct gt_session_options session = options->session;
    int rc;

    if (options->same_code)
        return carry(cli, options, err);
    if (options->output)
        return gt_err_set(err, GT_ESYNTAX, "--output goes with --same-code only");
    session.measure = true;
    session.stored = !options->adopt;
    rc = gt_session_no_replay(&options->session, err);
    GT_STEP(rc, check_problems(cli, &options->problem, err));
    GT_STEP(rc, gt_session_open(&recheck.session, cli, &session, err));
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "recheck times winners again, which takes a GPU");
    if (!rc && !recheck.session.measures)
        rc = gt_err_set(err, GT_ENOGPU,
                        "recheck times winners again, which takes a GPU; --device %s "
                        "only predicts",
                        options->session.device);
    GT_STEP(rc, options->adopt ? adopt(&recheck, err) : recheck_stored(&recheck, cli, err));
    gt_session_close(&recheck.session);
    free(recheck.problem);
    return rc;
}

const struct gt_command gt_command_recheck = {
    .name = "recheck",
    .doc = "stored winners against their runners-up, timed again",
    .usage = "recheck [--adopt] [--shape MxNxK]... [OPTION]...",
    .about =
        "Times each measured winner of this device and the best others of its problem against\n"
        "each other again, and proves them again. The margin is what the best other takes longer\n"
        "than the winner, the median over the rounds. Where that is below -1 % and its 95 %\n"
        "interval below 0, the pair is timed once more in a new process: a winner has lost if\n"
        "the same other beats it so again. The database is not changed. Exit code 8: a winner\n"
        "has lost, or its proof fails.\n"
        "\n"
        "With --adopt, winners that hang on an older text of their kernel, and those of\n"
        "--system-db that the database has no trial of today's text of (an empty one: all), are\n"
        "compiled, proved and timed with today's text, beside cuBLASLt's best answer where there\n"
        "is one, and stored as measured trials; older rows stay. The same command again goes on\n"
        "where it stopped. What is not possible today (a parameter that is gone, a constraint),\n"
        "or not right, is listed with the reason (exit code 8).\n"
        "\n"
        "With --same-code, a winner of an older text is taken over without a GPU if it compiles "
        "to\n"
        "the same machine code by both texts, and has the same launches; all others stay as they\n"
        "are and are listed (exit code 8). DIR holds the templates/ and configs/ of the older "
        "text.\n"
        "\n"
        "  tune recheck --limit 50 --csv recheck.csv\n"
        "  tune recheck --shape 4096x4096x4096 --runners-up 8\n"
        "  tune recheck --adopt --system-db db/shipped/h200.csv --db adopted.db\n"
        "  tune recheck --adopt --same-code older --db mine.db\n"
        "  tune recheck --adopt --same-code older --system-db table.csv -o table.csv\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem)},
              {gt_session_option_table + GT_SESSION_DEVICE_OPTIONS,
               offsetof(struct options, session)},
              {option_table, 0}},
    .size = sizeof(struct options),
    .finishes = true,
    .run = run,
};
