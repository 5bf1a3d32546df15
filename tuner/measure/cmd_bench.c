/* cmd_bench.c - tune bench FILE: times the stored winner of each problem of a set side by side with
 * the untuned answer and cuBLAS; with --budget it tunes the problems first. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/terminal.h"
#include "exchange/export.h"
#include "lookup/table.h"
#include "measure/cmd_bench_summary.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "session/cmd_session.h"
#include "sweep/progress.h"

/* A benchmark run: the session and other open objects, and the results so far. */
struct bench {
    struct gt_session session;
    const struct gt_kernel **kernel; /* the kernels that are tuned */
    size_t kernels;
    bool named; /* --kernels names `kernel`: only winners of these kernels are timed, other winners
                   as incumbents */
    struct gt_snapshot untuned; /* gives the answers that a program without this database gets */
    int rounds;                 /* rounds of a contest; 0: as many as take about 2 s */
    int timing;                 /* enum gt_timing */
    double copy_gbps;           /* bandwidth of a copy in this run; 0: not measured */
    struct gt_records report;   /* list NULL: a table is printed */
    size_t done;
    struct gt_bench_summary summary;
    struct gt_columns columns;
};

/* The winner of all kernels, if the row is the winner of the kernels that --kernels names. */
struct incumbent {
    const struct gt_kernel *kernel; /* NULL: --kernels names this kernel, too, or no other winner is
                                       stored */
    struct gt_point point;
    double us; /* time in the same rounds, or predicted time; 0: the incumbent could not be timed */
};

/* The stored winner of a problem on this device, and the answers that it is compared with: the
 * untuned answer, which a program gets without this winner, and cuBLASLt's best answer. */
struct winner {
    struct bench *bench;
    const struct gt_problem *problem;
    double weight;
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool vendor; /* the sweep found cuBLASLt's answer faster, and this answer is a candidate */
    struct gt_resolved untuned;
    struct incumbent incumbent;
    struct gt_comparison with; /* as stored; its time and error are the trial's */
};

/* ---- the report ---- */

#define PROBLEM 34 /* columns of a problem's text */

/* The figures of a row. */
enum { US, UNTUNED_US, CUBLAS_US, RATIO, UNTUNED, BEST, ERROR, MEMORY, MOVED, FIGURES };

static const struct gt_column figures[] = {
    [US] = {"measured us", 11, 0},
    [UNTUNED_US] = {"untuned us", 10, 3},
    [CUBLAS_US] = {"cuBLAS us", 10, 2},
    [RATIO] = {"x cuBLAS", 8, 1},
    [UNTUNED] = {"untuned", 7, 4},
    [BEST] = {"best", 7, 6},
    [ERROR] = {"err u, cuBLAS's", 15, 7},
    [MEMORY] = {"memory", 6, 5},
    [MOVED] = {"moved", 6, 8},
};

/* Writes the row in the form of a database's export. */
static void csv_row(const struct bench *bench, const struct winner *winner, const char *problem,
                    const char *point)
{
    const struct gt_evaluator *evaluator = bench->session.evaluator;
    const struct gt_problem *p = winner->problem;
    struct gt_strbuf text = GT_STRBUF_INIT;
    const time_t now = time(NULL);
    char date[32];
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_export_bench_fields(&text,
                           &(struct gt_row){.device = evaluator->device.name,
                                            .dtype = gt_dtype_name(p->type),
                                            .accuracy = gt_accuracy_name(p->accuracy),
                                            .layout = gt_layout_name(gt_problem_layout(p)),
                                            .m = p->m,
                                            .n = p->n,
                                            .k = p->k,
                                            .batch = p->batch,
                                            .kernel = winner->kernel->name,
                                            .point = point,
                                            .provenance = winner->trial.provenance,
                                            .us = winner->trial.us,
                                            .lo_us = winner->trial.lo_us,
                                            .hi_us = winner->trial.hi_us,
                                            .baseline_us = winner->with.baseline_us,
                                            .err_u = winner->trial.err_u,
                                            .timing = bench->timing,
                                            .driver = evaluator->device.driver,
                                            .nvrtc = evaluator->nvrtc_version,
                                            .date = date,
                                            .problem = problem},
                           p, &winner->with);
    gt_csv_line(bench->report.csv, text.text);
    gt_strbuf_release(&text);
}

/* The ratio of two times; NAN: one of them is not known. */
static double ratio(double over, double under)
{
    return gt_if(over > 0 && under > 0, over / under);
}

static void json_row(const struct bench *bench, const struct winner *winner, const char *problem,
                     const char *point)
{
    const struct gt_trial *trial = &winner->trial;
    const struct gt_comparison *with = &winner->with;
    const struct incumbent *incumbent = &winner->incumbent;
    const double bound_us = gt_export_bound_us(winner->problem, with, bench->timing);
    const double base = with->baseline_us;
    const bool measured = trial->provenance == GT_MEASURED;
    struct gt_strbuf other = GT_STRBUF_INIT;
    cJSON *row =
        gt_json_append(bench->report.list,
                       "problem=%s weight=%g kernel=%s point=%s us=%g lo_us=%g hi_us=%g err_u=%g "
                       "baseline_us=%+g ratio=%g",
                       problem, winner->weight, winner->kernel->name, point, trial->us,
                       gt_if(measured, trial->lo_us), gt_if(measured, trial->hi_us),
                       gt_if(measured, trial->err_u), base, ratio(base, trial->us));

    if (with->baseline_err_u > 0)
        gt_json_add(row, "baseline_err_u=%g err_above=%i", with->baseline_err_u,
                    gt_export_err_above(trial->err_u, with->baseline_err_u));
    gt_json_add(row, "best_us=%+g best_ratio=%g", with->best_us, ratio(base, with->best_us));
    if (with->untuned_us > 0)
        gt_json_add(row, "untuned=%s untuned_us=%g untuned_ratio=%g worse_by_tuning=%i",
                    with->untuned, with->untuned_us, ratio(base, with->untuned_us), with->worse);
    gt_json_add(row, "bound_us=%+g memory=%g move_us=%+g moved=%g", bound_us,
                ratio(bound_us, trial->us), with->move_us, ratio(with->move_us, trial->us));
    if (!incumbent->kernel)
        return;
    gt_point_format(&other, incumbent->kernel, &incumbent->point);
    gt_json_object(row, "incumbent", "kernel=%s point=%s us=%+g ratio=%g", incumbent->kernel->name,
                   other.text, incumbent->us, ratio(base, incumbent->us));
    gt_strbuf_release(&other);
}

__attribute__((format(printf, 3, 4))) static void
report_nothing(const struct bench *bench, const char *problem, const char *format, ...)
{
    char why[1100];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (bench->report.list) {
        gt_json_append(bench->report.list, "problem=%s nothing=%s", problem, why);
        return;
    }
    gt_progress_clear(bench->session.progress);
    fprintf(bench->session.cli->out, "%-*s %s\n", PROBLEM, problem, why);
}

/* The incumbent on a line of its own. */
static void print_incumbent(const struct bench *bench, const struct winner *winner)
{
    const struct incumbent *incumbent = &winner->incumbent;
    struct gt_strbuf tail = GT_STRBUF_INIT;

    gt_strbuf_addf(&tail, "%s ", incumbent->kernel->name);
    gt_report_point(&tail, &bench->session, incumbent->kernel, &incumbent->point);
    gt_columns_print(&bench->columns, bench->session.cli->out, "  incumbent, of all kernels",
                     tail.text, "%+.2f|%s|%s|%.3f|%s|%s|%s|%s|%s", incumbent->us, "", "",
                     ratio(winner->with.baseline_us, incumbent->us), "", "", "", "", "");
    gt_strbuf_release(&tail);
}

static void print_line(const struct bench *bench, const struct winner *winner, const char *problem)
{
    const struct gt_comparison *with = &winner->with;
    struct gt_strbuf tail = GT_STRBUF_INIT;
    FILE *out = bench->session.cli->out;
    const double us = winner->trial.us, base = with->baseline_us;
    char errors[32];

    snprintf(errors, sizeof(errors), "%.3g/%.3g", winner->trial.err_u, with->baseline_err_u);
    gt_strbuf_addf(&tail, "%s ", winner->kernel->name);
    gt_report_point(&tail, &bench->session, winner->kernel, &winner->point);
    if (gt_export_err_above(winner->trial.err_u, with->baseline_err_u))
        gt_strbuf_add(&tail, " [error above 1.25 x cuBLAS's]");
    if (with->worse)
        gt_strbuf_add(&tail, " [slower than untuned]");
    gt_progress_clear(bench->session.progress);
    gt_columns_print(&bench->columns, out, problem, tail.text,
                     "%+.2f|%+.2f|%+.2f|%.3f|%.3f|%.3f|%s|%.2f|%.2f", us, with->untuned_us, base,
                     ratio(base, us), ratio(base, with->untuned_us), ratio(base, with->best_us),
                     with->baseline_err_u > 0 ? errors : NULL,
                     ratio(gt_export_bound_us(winner->problem, with, bench->timing), us),
                     ratio(with->move_us, us));
    if (winner->incumbent.kernel)
        print_incumbent(bench, winner);
    fflush(out);
    gt_strbuf_release(&tail);
}

static int add_figures(struct bench *bench, const struct winner *winner, struct gt_err *err)
{
    const struct gt_comparison *with = &winner->with;
    const double us = winner->trial.us, known = fmin(us, with->untuned_us);

    return gt_bench_summary_add(
        &bench->summary, winner->problem,
        &(struct gt_bench_figures){
            .weight = winner->weight,
            .ratio = with->baseline_us / us,
            .best_ratio = with->best_us > 0 ? with->baseline_us / with->best_us : 0,
            .loss = with->untuned_us > 0 ? with->untuned_us / known : 0,
            .worse = with->worse,
            .err_above = gt_export_err_above(winner->trial.err_u, with->baseline_err_u)},
        err);
}

static int report_row(struct bench *bench, const struct winner *winner, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(winner->problem, text);
    gt_point_format(&point, winner->kernel, &winner->point);
    if (bench->report.list)
        json_row(bench, winner, text, point.text);
    else
        print_line(bench, winner, text);
    csv_row(bench, winner, text, point.text);
    bench->done++;
    gt_strbuf_release(&point);
    return add_figures(bench, winner, err);
}

static void print_heading(struct bench *bench)
{
    const struct gt_session *session = &bench->session;
    FILE *out = session->cli->out;
    const char *name[FIGURES];

    gt_progress_clear(bench->session.progress);
    gt_columns_put(out, session->evaluator->device.name);
    fprintf(out, " (sm_%d), L2 %s: %s\n", session->evaluator->device.cc,
            gt_timing_name(bench->timing),
            session->measures ? "measured, paired with cuBLASLt"
                              : "PREDICTED by a model, nothing was measured");
    gt_columns_choose(&bench->columns, figures, FIGURES, PROBLEM,
                      session->cli->raw ? 0 : gt_terminal_width());
    if (bench->copy_gbps > 0 && bench->columns.shown[MEMORY])
        fprintf(out,
                "memory: share of the bound by a large copy of this run, %.0f GB/s; moved: by a "
                "kernel that only moves the problem's bytes\n",
                bench->copy_gbps);
    for (size_t i = 0; i < FIGURES; i++)
        name[i] = figures[i].name;
    if (!session->measures)
        name[US] = "predict. us";
    gt_columns_row(&bench->columns, out, "problem", name, "winner");
}

static int report_open(struct bench *bench, const char *csv, struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    const struct gt_device *device = &session->evaluator->device;
    struct gt_strbuf heading = GT_STRBUF_INIT;
    int rc = GT_OK;

    if (csv && session->measures) {
        gt_export_bench_heading(&heading);
        rc = gt_strbuf_check(&heading, err);
        GT_STEP(rc, gt_csv_new(&bench->report.csv, csv, heading.text, err));
        gt_strbuf_release(&heading);
    } else if (csv)
        rc = gt_err_set(err, GT_ENOGPU, "--csv holds measured times, but there is no GPU here");
    if (!rc)
        gt_records_document(&bench->report, session->cli, "problems",
                            "format=%s device=%s cc=%d l2=%s predicted=%i copy_gbps=%+g",
                            "gemmtune bench 1", device->name, device->cc,
                            gt_timing_name(bench->timing), !session->measures, bench->copy_gbps);
    if (!rc && !session->cli->json)
        print_heading(bench);
    return rc;
}

static void print_means(FILE *out, const char *of, const struct gt_bench_means *means)
{
    if (means->problems)
        fprintf(out,
                "%s: %zu compared: geometric mean %.3f x cuBLAS, worst %.3f; %zu below 1, %zu with "
                "an error above 1.25 x cuBLAS's\n",
                of, means->problems, means->ratio, means->worst, means->below, means->err_above);
    if (means->best_ratio > 0)
        fprintf(out, "%s: best of everything: geometric mean %.3f x cuBLAS, worst %.3f\n", of,
                means->best_ratio, means->best_worst);
    if (means->untuned)
        fprintf(out,
                "%s: %zu untuned: %.3f times the best known, p90 %.3f, worst %.3f; %zu slower by "
                "tuning\n",
                of, means->untuned, means->loss, means->loss_p90, means->loss_worst, means->worse);
}

static void json_means(cJSON *to, const struct gt_bench_means *means)
{
    gt_json_add(to,
                "compared=%zu mean_ratio=%g worst_ratio=%g below_1=%zu best_mean_ratio=%g "
                "best_worst_ratio=%g err_above=%zu untuned=%zu untuned_loss=%g untuned_p90=%g "
                "untuned_worst=%g worse_by_tuning=%zu",
                means->problems, means->ratio, means->worst, means->below, means->best_ratio,
                means->best_worst, means->err_above, means->untuned, means->loss, means->loss_p90,
                means->loss_worst, means->worse);
}

/* Prints the means of each type and, if there are several types, the means of all problems. */
static void finish(const struct bench *bench)
{
    const struct gt_bench_summary *summary = &bench->summary;
    const struct gt_bench_means all = gt_bench_summary_means(summary, NULL);
    cJSON *json = bench->report.root, *types = json ? cJSON_AddObjectToObject(json, "types") : NULL;
    size_t kinds = 0;

    for (size_t i = 0; i < summary->count; i++) {
        const char *type = summary->figures[i].type;
        const struct gt_bench_means means = gt_bench_summary_means(summary, type);

        if (!gt_bench_summary_first(summary, i))
            continue;
        kinds++;
        if (types)
            json_means(cJSON_AddObjectToObject(types, type), &means);
        else
            print_means(bench->session.cli->out, type, &means);
    }
    if (json && all.problems)
        json_means(json, &all);
    else if (!json && kinds > 1)
        print_means(bench->session.cli->out, "all", &all);
}

/* ---- one problem: the winner in turns with the untuned answer and with cuBLASLt ---- */

static const struct gt_rounds default_rounds = {41, 200, 2e6};

/* A winner counts as slower than the untuned answer if the 95 % interval of the paired ratio lies
 * above this: gaps scatter by 0.2 to 0.6 % from contest to contest (db/measured/README.md). */
#define NOISE 1.01

static int take_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct winner *winner = context;
    const struct gt_session *session = &winner->bench->session;
    const struct gt_kernel *kernel;

    if (winner->kernel || row->timing != winner->bench->timing ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->provenance != session->evaluator->ops->provenance)
        return GT_OK;
    kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);
    if (!kernel || strcmp(kernel->signature, row->signature) != 0)
        return GT_OK; /* the row was measured with another text of the template */
    winner->kernel = kernel;
    winner->vendor = *row->algo && row->baseline_us > 0 && row->baseline_us < row->us;
    winner->trial = (struct gt_trial){.status = row->status,
                                      .provenance = row->provenance,
                                      .us = row->us,
                                      .lo_us = row->lo_us,
                                      .hi_us = row->hi_us,
                                      .err_u = row->err_u};
    return gt_point_parse(&winner->point, kernel, row->point, err);
}

static bool is_named(const struct bench *bench, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < bench->kernels; i++)
        if (bench->kernel[i] == kernel)
            return true;
    return false;
}

/* Finds the winner and, where times are measured, the untuned answer.  winner->kernel stays NULL if
 * no winner belongs to today's text of a kernel. */
static int find_winner(struct winner *winner, struct gt_err *err)
{
    const struct bench *bench = winner->bench;
    const struct gt_session *session = &bench->session;
    struct winner best = {.bench = winner->bench}; /* of all kernels, with --kernels */
    const struct gt_kernels named = {(struct gt_kernel **)bench->kernel, bench->kernels};
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true,
                                   .problem = text,
                                   .cc = session->evaluator->device.cc,
                                   .kernels = bench->named ? &named : NULL};
    int rc;

    gt_problem_format(winner->problem, text);
    rc = gt_store_rows(session->store, &filter, take_winner, winner, err);
    filter.kernels = NULL;
    if (!rc && winner->kernel && bench->named)
        rc = gt_store_rows(session->store, &filter, take_winner, &best, err);
    if (!rc && best.kernel && !is_named(bench, best.kernel))
        winner->incumbent = (struct incumbent){best.kernel, best.point, best.trial.us};
    if (!rc && winner->kernel && session->measures)
        rc = gt_snapshot_lookup(&bench->untuned, &session->evaluator->device, winner->problem,
                                &winner->untuned, err);
    return rc;
}

/* Judges the untuned answer by the rounds of the contest. */
static void judge_untuned(struct winner *winner, const struct gt_trial *untuned)
{
    const struct gt_trial *tuned = &winner->trial;
    double lo, hi;

    winner->with.untuned_us = untuned->us;
    if (untuned == tuned)
        return;
    gt_paired_interval(tuned->sample, untuned->sample,
                       tuned->samples < untuned->samples ? tuned->samples : untuned->samples, &lo,
                       &hi);
    winner->with.worse = lo > NOISE;
}

/* Says why a candidate (NULL: cuBLASLt's best answer) has no time in a contest; the table then has
 * an empty field. */
static void note_lost(const struct winner *winner, const char *who,
                      const struct gt_candidate *candidate, const struct gt_trial *trial)
{
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_problem_format(winner->problem, problem);
    gt_strbuf_addf(&sentence, "%s: %s", problem, who);
    if (candidate) {
        gt_strbuf_addf(&sentence, ", %s ", candidate->kernel->name);
        gt_point_format(&sentence, candidate->kernel, &candidate->point);
        gt_strbuf_add(&sentence, ",");
    }
    gt_strbuf_addf(&sentence, " has no time: %s%s%s", gt_status_name(trial->status),
                   *trial->detail ? ": " : "", trial->detail);
    gt_progress_note(winner->bench->session.progress, sentence.text);
    gt_strbuf_release(&sentence);
}

/* Adds a candidate to a contest. */
static void enter(struct gt_candidate *candidate, size_t *count, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_candidate *like)
{
    candidate[*count] = *like;
    candidate[*count].kernel = kernel;
    candidate[(*count)++].point = *point;
}

/* Times the winner, the untuned answer, the incumbent and cuBLASLt's best answer in turns. */
static int hold_contest(struct winner *winner, bool baseline, struct gt_err *err)
{
    const struct bench *bench = winner->bench;
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_comparison *with = &winner->with;
    const struct gt_resolved *untuned = &winner->untuned;
    const bool both =
        untuned->kernel && (untuned->kernel != winner->kernel ||
                            !gt_point_same(winner->kernel, &untuned->point, &winner->point));
    struct incumbent *incumbent = &winner->incumbent;
    struct gt_candidate candidate[3] = {
        {winner->kernel, winner->problem, &evaluator->device, winner->point}};
    struct gt_trial trial[3] = {winner->trial}, vendor = {0};
    size_t count = 1;
    double round_us;
    int rounds, rc;

    if (both)
        enter(candidate, &count, untuned->kernel, &untuned->point, candidate);
    if (incumbent->kernel)
        enter(candidate, &count, incumbent->kernel, &incumbent->point, candidate);
    round_us = (double)(count + baseline) * winner->trial.us;
    rounds = bench->rounds ? bench->rounds : gt_rounds_for(&default_rounds, 2, round_us);
    rc = evaluator->ops->final(evaluator, candidate, count, rounds, trial,
                               baseline ? &vendor : NULL, err);
    if (rc)
        return rc;
    if (incumbent->kernel)
        incumbent->us = trial[count - 1].status == GT_STATUS_OK ? trial[count - 1].us : 0;
    if (incumbent->kernel && !(incumbent->us > 0))
        note_lost(winner, "the incumbent", &candidate[count - 1], &trial[count - 1]);
    winner->trial = trial[0];
    if (trial[0].status != GT_STATUS_OK) {
        note_lost(winner, "the winner", &candidate[0], &trial[0]);
        return GT_OK;
    }
    if (both && trial[1].status == GT_STATUS_OK)
        judge_untuned(winner, &trial[1]);
    else if (both)
        note_lost(winner, "the untuned answer", &candidate[1], &trial[1]);
    else if (untuned->kernel)
        judge_untuned(winner, &winner->trial);
    if (vendor.status == GT_STATUS_OK && vendor.us > 0) {
        with->baseline_us = vendor.us;
        with->baseline_err_u = vendor.err_u;
        with->best_us = winner->vendor ? vendor.us : trial[0].us;
    } else if (baseline) {
        note_lost(winner, "cuBLASLt's answer", NULL, &vendor);
    }
    return GT_OK;
}

/* Compares the winner with the other answers, after timing the move of the data alone. */
static int compare(struct winner *winner, struct gt_err *err)
{
    const struct bench *bench = winner->bench;
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_comparison *with = &winner->with;
    struct gt_move move = {0};
    struct gt_baseline best;
    int rc = evaluator->ops->open_problem(evaluator, winner->problem, err);

    if (!rc && bench->timing == GT_TIMING_COLD)
        rc = evaluator->ops->move(evaluator, &move, err);
    if (rc)
        return rc;
    with->move_us = move.us;
    rc = evaluator->ops->baseline(evaluator, &best, err);
    if (rc && rc != GT_ENOLIB && rc != GT_ENOTFOUND)
        return rc;
    if (rc && err)
        gt_progress_note(bench->session.progress, err->msg); /* says why there is no baseline */
    rc = hold_contest(winner, !rc, err);
    with->us = winner->trial.us;
    with->lo_us = winner->trial.lo_us;
    with->hi_us = winner->trial.hi_us;
    with->err_u = winner->trial.err_u;
    return rc;
}

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t rounds;
    bool list;
};

/* A line as --shapes reads it.  A weight other than 1 is written so that the same number is
 * read. */
static void list_line(FILE *out, const char *text, double weight)
{
    char number[32];

    snprintf(number, sizeof(number), "%.15g", weight);
    if (strtod(number, NULL) < weight || strtod(number, NULL) > weight)
        snprintf(number, sizeof(number), "%.17g", weight);
    if (strcmp(number, "1") == 0)
        fprintf(out, "%s\n", text);
    else
        fprintf(out, "%s weight=%s\n", text, number);
}

/* Prints the set in the two forms that --shapes reads: lines, or a list in JSON. */
static int list(const struct gt_cli *cli, const struct gt_problem *problem, const double *weight,
                size_t problems, struct gt_err *err)
{
    struct gt_records records = {0};
    char text[GT_PROBLEM_TEXT_MAX];

    gt_records_open(&records, cli, NULL);
    for (size_t i = 0; i < problems; i++) {
        gt_problem_format(&problem[i], text);
        if (records.list)
            gt_json_append(records.list, "problem=%s weight=%g", text, weight[i]);
        else
            list_line(cli->out, text, weight[i]);
    }
    if (cli->json)
        return gt_records_close(&records, cli, GT_OK, err);
    return ferror(cli->out) ? gt_err_set(err, GT_EIO, "cannot write the list") : GT_OK;
}

static const struct gt_option option_table[] = {
    GT_TEXT(
        options, session.kernels, "kernels", 'k', "KERNELS",
        "kernels whose winners are timed, with the winner of all beside them, and which --budget "
        "tunes, names or patterns joined by commas (default: the winner of all is timed, and "
        "those in production are tuned)"),
    GT_TEXT(options, session.budget, "budget", 'b', "BUDGET",
            "tune first, that long or that many trials for each problem, in one sweep over all of "
            "them: 10s, 500 (default: not at all)"),
    GT_INTEGER(
        options, rounds, "rounds", 0, "N", 5, GT_MAX_SAMPLES,
        "paired rounds of winner and cuBLAS (default: as many as take about 2 s, 41 to 200)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_FLAG(options, list, "list", 0, "only print the problems, a file for --shapes"),
    GT_OPTIONS_END,
};

/* Stores the figures in the database, from which `tune export --format bench` makes the same table.
 */
static int remember(const struct winner *winner, struct gt_err *err)
{
    const struct bench *bench = winner->bench;
    const struct gt_session *session = &bench->session;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {.timing = bench->timing};
    int rc = gt_store_device(session->store, &session->evaluator->device, &key.device, err);

    gt_point_format(&point, winner->kernel, &winner->point);
    key.point = point.text;
    GT_STEP(rc, gt_strbuf_check(&point, err));
    GT_STEP(rc, gt_store_toolchain(session->store, session->evaluator->nvrtc_version,
                                   &key.toolchain, err));
    GT_STEP(rc, gt_store_kernel(session->store, winner->kernel, &key.kernel, err));
    GT_STEP(rc, gt_store_problem(session->store, winner->problem, &key.problem, err));
    GT_STEP(rc, gt_store_put_comparison(session->store, &key, &winner->with, err));
    gt_strbuf_release(&point);
    return rc;
}

/* Measures the winner's row and adds it to the report. */
static int report_winner(struct winner *winner, const char *text, struct gt_err *err)
{
    struct bench *bench = winner->bench;
    struct gt_strbuf untuned = GT_STRBUF_INIT;
    int rc = GT_OK;

    if (winner->untuned.kernel)
        gt_strbuf_addf(&untuned, "%s %s", winner->untuned.kernel->name,
                       winner->untuned.answer.point);
    rc = gt_strbuf_check(&untuned, err);
    if (!rc && bench->session.measures) {
        gt_progress_now(bench->session.progress, text);
        rc = compare(winner, err);
    }
    if (winner->with.untuned_us > 0)
        winner->with.untuned = untuned.text;
    if (!rc && winner->trial.status != GT_STATUS_OK) {
        report_nothing(bench, text, "winner failed: %s %s", gt_status_name(winner->trial.status),
                       winner->trial.detail);
    } else if (!rc) {
        if (bench->session.measures && !winner->incumbent.kernel) /* else this row is not the
                                                                     winner */
            rc = remember(winner, err);
        GT_STEP(rc, report_row(bench, winner, err));
    }
    gt_strbuf_release(&untuned);
    return rc;
}

/* swept: the sweep's result for the problem; NULL if there was no sweep. */
static int bench_problem(struct bench *bench, const struct gt_problem *problem, double weight,
                         const struct gt_sweep_result *swept, struct gt_err *err)
{
    struct winner winner = {.bench = bench,
                            .problem = problem,
                            .weight = weight,
                            .with = {.copy_gbps = bench->copy_gbps}};
    char text[GT_PROBLEM_TEXT_MAX], unserved[GT_UNSERVED_MAX];
    struct gt_err why = {0};
    int rc = GT_OK;

    gt_problem_format(problem, text);
    if (swept && swept->nothing.code) {
        why = swept->nothing;
        rc = why.code;
    }
    GT_STEP(rc, find_winner(&winner, &why));
    if (!rc && winner.kernel)
        rc = report_winner(&winner, text, &why);
    else if (!rc &&
             gt_unserved(unserved, NULL,
                         (const struct gt_kernel *const *)bench->session.kernels.kernel,
                         bench->session.kernels.count, problem, &bench->session.evaluator->device))
        report_nothing(bench, text, "no kernel serves it: %s", unserved);
    else if (!rc)
        report_nothing(bench, text, "has no winner%s here; tune it, or give --budget",
                       bench->named ? " of these kernels" : "");
    gt_resolved_release(&winner.untuned);
    if (rc == GT_ETOOBIG || rc == GT_ENOTFOUND || rc == GT_ERANGE || rc == GT_ECONFIG) {
        /* the rest of the set can still be compared */
        report_nothing(bench, text, "not compared: %s", why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* Tunes all problems in one sweep, so that the compilers work for the next problems while one
 * problem is timed. */
static int tune_all(struct bench *bench, const struct gt_problem *problem, const double *weight,
                    size_t problems, const char *budget_text, struct gt_sweep_result *result,
                    struct gt_err *err)
{
    struct gt_budget budget;
    int rc = gt_budget_parse(&budget, budget_text, err);

    if (rc)
        return rc;
    budget.each = true;
    bench->session.weight = weight;
    rc = gt_session_sweep(&bench->session, problem, problems, bench->kernel, bench->kernels,
                          &budget, result, err);
    return problems == 1 && result[0].nothing.code ? GT_OK : rc; /* reported with its row */
}

static int bench_all(struct bench *bench, const struct gt_problem *problem, const double *weight,
                     size_t problems, const char *budget, struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    struct gt_sweep_result *result = calloc(problems, sizeof(*result));
    int rc = result ? GT_OK : gt_err_nomem(err);

    if (!rc && budget)
        rc = tune_all(bench, problem, weight, problems, budget, result, err);
    for (size_t i = 0; i < problems && !rc; i++) {
        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu problems", i,
                            problems);
        else
            rc = bench_problem(bench, &problem[i], weight[i], &result[i], err);
    }
    if (!rc && budget)
        gt_report_failures(session, result, problems);
    for (size_t i = 0; i < problems && result; i++)
        gt_sweep_result_release(&result[i]);
    free(result);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_session_options session = options->session;
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    const char *budget = options->session.budget;
    struct bench bench = {.rounds = (int)options->rounds};
    struct gt_calibration copy;
    struct gt_budget checked;
    double *weight = NULL;
    size_t problems = 0;
    int rc = GT_OK;

    bench.timing = gt_session_timing(&options->session);
    if (cli->arguments)
        rc = gt_session_argument(&asked, cli->argument[0], err);
    asked.seed = options->session.seed;
    GT_STEP(rc, gt_session_problems(cli, NULL, &problem, &weight, &problems, &asked, err));
    if (options->list) {
        rc = rc ? rc : list(cli, problem, weight, problems, err);
        free(weight);
        free(problem);
        return rc;
    }
    if (!rc && budget)
        rc = gt_budget_parse(&checked, budget, err); /* reported before any work */
    GT_STEP(rc, gt_session_no_replay(&options->session, err));
    session.stored = !budget;
    GT_STEP(rc, gt_session_open(&bench.session, cli, &session, err));
    bench.named = session.kernels != NULL;
    if (!rc && (budget || bench.named))
        rc = gt_session_kernels(&bench.kernel, &bench.kernels, &bench.session.kernels,
                                options->session.kernels, err);
    bench.session.fallbacks = !options->session.kernels;
    if (!rc && bench.session.measures) {
        rc = bench.session.evaluator->ops->calibrate(bench.session.evaluator, true, &copy, err);
        bench.copy_gbps = rc ? 0 : copy.value[GT_CALIBRATION_MEMORY_COPY];
    }
    GT_STEP(rc, gt_snapshot_take(&bench.untuned, &bench.session.kernels, NULL,
                                 &bench.session.shipped, err));
    GT_STEP(rc, report_open(&bench, options->csv, err));
    GT_STEP(rc, bench_all(&bench, problem, weight, problems, budget, err));
    if (!rc)
        finish(&bench);
    gt_bench_summary_release(&bench.summary);
    rc = gt_records_close(&bench.report, cli, rc, err);
    gt_snapshot_release(&bench.untuned);
    gt_session_close(&bench.session);
    free(bench.kernel);
    free(weight);
    free(problem);
    if (!rc && !bench.done)
        rc = gt_err_set(err, GT_EXIT_NOTHING,
                        "no problem has a winner for this device; tune them, or give --budget");
    return rc;
}

const struct gt_command gt_command_bench = {
    .name = "bench",
    .doc = "stored winners against cuBLAS over a set of problems, paired",
    .usage = "bench [FILE|MxNxK] [--shape MxNxK]... [OPTION]...",
    .about =
        "Times the winner of each problem (of FILE, of --shape, drawn by --random), what look-up\n"
        "hands out to a program without this database (untuned), and cuBLASLt's best answer in\n"
        "alternation. Ratios are cuBLASLt's time over another one: above 1 the other is faster.\n"
        "Best is the faster of winner and cuBLASLt's answer, as the sweep chose. Errors stand\n"
        "beside cuBLASLt's, and one above 1.25 times that is flagged. The column memory is\n"
        "what reading A and B (and C) and writing D takes at the bandwidth of a copy, measured\n"
        "in the same run, over the winner's time: thin products cannot get far above 1. A copy\n"
        "of a few megabytes does not reach that bandwidth, so the column moved has what a kernel\n"
        "takes that only reads A and B (and C) and writes D, the best of several. With --budget\n"
        "the problems are tuned first, in one sweep that has so much time for each of them.\n"
        "--dtype and --accuracy replace those of FILE's problems. With --kernels the row is the "
        "best\n"
        "of those, and the winner of all kernels stands below it.\n"
        "\n"
        "  tune bench bench.json --csv h200-f32.csv\n"
        "  tune bench bench.json --dtype bf16 --csv h200-bf16.csv\n"
        "  tune bench bench.json --budget 60s\n"
        "  tune bench --random 200 --seed 1 --list >problems.txt\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem), NULL},
              {gt_draw_option_table, offsetof(struct options, problem), NULL},
              {gt_session_option_table, offsetof(struct options, session), NULL},
              {gt_search_option_table, offsetof(struct options, session), NULL},
              {option_table, 0, NULL}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
