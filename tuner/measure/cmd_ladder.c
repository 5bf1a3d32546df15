/* cmd_ladder.c - tune ladder: tunes every rung of the textbook ladder, naive to warp tile and
 * beyond, briefly and one by one, and prints each rung's time beside cuBLAS and beside figures that
 * others reported. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "session/cmd_report.h"
#include "session/cmd_session.h"
#include "console/terminal.h"
#include "console/commands.h"

#define DEFAULT_SHAPE  "4096x4096x4096"
#define DEFAULT_TRIALS 64
#define LEAD           24 /* columns of a rung and its kernel */

static const struct gt_column figures[] = {
    {"measured us", 11, 0}, {"TFLOP/s", 9, 2}, {"of cuBLAS", 9, 1}};

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t trials;
};

static const struct gt_option option_table[] = {
    GT_INTEGER(options, trials, "trials", 't', "N", 1, 1000000,
               "candidates tried of each rung (default: 64)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_OPTIONS_END,
};

static const char csv_heading[] =
    "device,problem,rung,kernel,point,predicted,us,lo_us,hi_us,tflops,cublas_us,ratio,reported";

/* "82.0 % RTX 3090, 4096^3; 100.0 % A10": what others reported for the kernel. */
static void add_reported(struct gt_strbuf *buf, const struct gt_kernel *kernel,
                         const char *separator)
{
    for (size_t i = 0; i < kernel->reported_count; i++) {
        const struct gt_reported *reported = &kernel->reported[i];

        gt_strbuf_add(buf, i ? separator : "");
        if (reported->share > 0)
            gt_strbuf_addf(buf, "%.1f %% ", 100 * reported->share);
        if (reported->tflops > 0)
            gt_strbuf_addf(buf, "%.2f TFLOP/s ", reported->tflops);
        gt_strbuf_addf(buf, "%s", reported->source);
    }
}

static double tflops_of(const struct gt_sweep_result *result)
{
    return gt_problem_flops(result->problem) / result->row[0].trial.us * 1e-6;
}

/* The outputs that the rows go to. */
struct sink {
    struct gt_records problems; /* the document */
    struct gt_records rungs;    /* of the current problem; list NULL: a table is printed */
    struct gt_columns columns;
};

static void print_rung(const struct gt_session *session, const struct sink *sink,
                       const struct gt_kernel *kernel, const struct gt_sweep_result *result)
{
    const struct gt_sweep_row *best = &result->row[0];
    const double baseline = gt_if(result->have_baseline, result->baseline.us);
    struct gt_strbuf point = GT_STRBUF_INIT, reported = GT_STRBUF_INIT;
    char rung[16] = "-", lead[64], indent[64];

    gt_report_point(&point, session, kernel, &best->point);
    snprintf(indent, sizeof(indent), "\n%*sreported ", sink->columns.below ? 4 : LEAD + 2, "");
    add_reported(&reported, kernel, indent);
    if (kernel->rung)
        snprintf(rung, sizeof(rung), "%d", kernel->rung);
    snprintf(lead, sizeof(lead), "%4s  %s", rung, kernel->name);
    gt_columns_print(&sink->columns, session->cli->out, lead, point.text, "%.2f|%.2f|%.1f %%",
                     best->trial.us, tflops_of(result), 100 * baseline / best->trial.us);
    if (reported.length)
        fprintf(session->cli->out, "%s%s\n", indent + 1, reported.text);
    gt_strbuf_release(&reported);
    gt_strbuf_release(&point);
}

static void record_rung(const struct gt_session *session, const struct sink *sink,
                        const struct gt_kernel *kernel, const struct gt_sweep_result *result)
{
    const struct gt_trial *best = &result->row[0].trial;
    const bool measured = best->provenance != GT_PREDICTED;
    const double baseline = gt_if(result->have_baseline, result->baseline.us);
    struct gt_strbuf point = GT_STRBUF_INIT, reported = GT_STRBUF_INIT;
    char problem[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(result->problem, problem);
    gt_point_format(&point, kernel, &result->row[0].point);
    add_reported(&reported, kernel, "; ");
    gt_csv_text(sink->rungs.csv, session->evaluator->device.name);
    gt_csv_text(sink->rungs.csv, problem);
    gt_records_add(&sink->rungs,
                   "rung=%+d kernel=%s point=%s predicted=%i us=%.3f lo_us=%.3f hi_us=%.3f "
                   "tflops=%.3f baseline_us=%.3f ratio=%.4f reported=%s",
                   kernel->rung, kernel->name, point.text, !measured, best->us,
                   gt_if(measured, best->lo_us), gt_if(measured, best->hi_us), tflops_of(result),
                   baseline, baseline / best->us, reported.length ? reported.text : NULL);
    gt_strbuf_release(&reported);
    gt_strbuf_release(&point);
}

static void print_nothing(const struct gt_session *session, const struct sink *sink,
                          const struct gt_kernel *kernel, const char *why)
{
    if (sink->rungs.list)
        gt_json_append(sink->rungs.list, "rung=%+d kernel=%s nothing=%s", kernel->rung,
                       kernel->name, why);
    else
        fprintf(session->cli->out, "%4d  %-18s no figure: %s\n", kernel->rung, kernel->name, why);
}

/* Tunes one kernel for the problem and prints its row.  A kernel that does not serve the problem,
 * or has no valid point for it, gets a row without figures. */
static int climb(struct gt_session *session, const struct sink *sink,
                 const struct gt_kernel *kernel, const struct gt_problem *problem, int64_t trials,
                 size_t *done, struct gt_err *err)
{
    const struct gt_budget budget = {.trials = trials};
    struct gt_sweep_result result = {0};
    struct gt_err why = {0};
    char label[80];
    int rc;

    if (kernel->rung)
        snprintf(label, sizeof(label), "rung %d, %s: ", kernel->rung, kernel->name);
    else
        snprintf(label, sizeof(label), "%s: ", kernel->name);
    session->label = label;
    rc = gt_session_sweep(session, problem, 1, &kernel, 1, &budget, &result, &why);
    session->label = NULL;
    if ((rc == GT_OK || rc == GT_EINTERRUPTED) && result.rows) {
        if (!sink->rungs.list)
            print_rung(session, sink, kernel, &result);
        record_rung(session, sink, kernel, &result);
        (*done)++;
    } else if (rc == GT_OK || rc == GT_ERANGE || rc == GT_ENOTFOUND || rc == GT_ECONFIG) {
        print_nothing(session, sink, kernel,
                      rc                    ? why.msg
                      : result.nothing.code ? result.nothing.msg
                                            : "no candidate was valid");
        rc = GT_OK;
    }
    if (rc && err)
        *err = why;
    gt_sweep_result_release(&result);
    return rc;
}

/* Whether the kernel belongs to this pass: the rungs come first, then the kernels in production
 * that serve the problem, which the rungs lead up to. */
static bool its_turn(const struct gt_session *session, const struct gt_kernel *kernel,
                     const struct gt_problem *problem, int pass)
{
    if (pass == 0)
        return kernel->rung > 0;
    return kernel->rung == 0 && kernel->production &&
           gt_kernel_serves(kernel, problem, &session->evaluator->device);
}

static void print_heading(const struct gt_session *session, struct sink *sink, const char *text)
{
    if (sink->problems.list) {
        sink->rungs.list = cJSON_AddArrayToObject(
            gt_json_append(sink->problems.list, "problem=%s", text), "rungs");
        return;
    }
    fprintf(session->cli->out, "%s on ", text);
    gt_columns_put(session->cli->out, session->evaluator->device.name);
    fprintf(session->cli->out, " (sm_%d): %s\n", session->evaluator->device.cc,
            session->measures ? "measured" : "PREDICTED by a model, nothing was measured");
    gt_columns_choose(&sink->columns, figures, sizeof(figures) / sizeof(*figures), LEAD,
                      session->cli->raw ? 0 : gt_terminal_width());
    gt_columns_row(&sink->columns, session->cli->out, "rung  kernel",
                   (const char *const[]){session->measures ? figures[0].name : "predict. us",
                                         figures[1].name, figures[2].name},
                   "point (where not default)");
}

static int climb_all(struct gt_session *session, struct sink *sink,
                     const struct gt_problem *problem, int64_t trials, size_t *done,
                     struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = GT_OK;

    gt_problem_format(problem, text);
    print_heading(session, sink, text);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < session->kernels.count && !rc; i++) {
            const struct gt_kernel *kernel = session->kernels.kernel[i];

            if (its_turn(session, kernel, problem, pass))
                rc = climb(session, sink, kernel, problem, trials, done, err);
        }
    }
    if (!sink->rungs.list)
        fputc('\n', session->cli->out);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    struct gt_session session = {0};
    struct sink sink = {0};
    size_t problems = 0, done = 0;
    int rc;

    if (!asked.shape.count && !asked.shapes)
        asked.shape.text[asked.shape.count++] = DEFAULT_SHAPE;
    rc = gt_session_problems(cli, NULL, &problem, NULL, &problems, &asked, err);
    GT_STEP(rc, gt_session_no_replay(&options->session, err));
    GT_STEP(rc, gt_session_open(&session, cli, &options->session, err));
    session.alone = true; /* else the incumbent's time would be a rung's best, and give its points
                             up as slow */
    if (!rc && options->csv)
        rc = gt_csv_new(&sink.problems.csv, options->csv, csv_heading, err);
    if (!rc)
        gt_records_document(&sink.problems, cli, "problems", "format=%s device=%s cc=%d",
                            "gemmtune ladder 1", session.evaluator->device.name,
                            session.evaluator->device.cc);
    sink.rungs.csv = sink.problems.csv;
    for (size_t i = 0; i < problems && !rc; i++)
        rc = climb_all(&session, &sink, &problem[i],
                       options->trials ? options->trials : DEFAULT_TRIALS, &done, err);
    rc = gt_records_close(&sink.problems, cli, rc, err);
    gt_session_close(&session);
    free(problem);
    if (!rc && !done)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "no rung has a valid candidate; the table says why");
    return rc;
}

const struct gt_command gt_command_ladder = {
    .name = "ladder",
    .doc = "the textbook kernels, naive to warp tile and beyond, against cuBLAS",
    .usage = "ladder [--shape MxNxK] [--arch sm_86] [OPTION]...",
    .about = "Tunes every rung of the ladder briefly (default: at 4096x4096x4096) and prints its\n"
             "share of cuBLAS, timed in the same run, beside the shares others reported.\n"
             "\n"
             "  tune ladder --shape 4096x4096x4096 --csv ladder.csv\n"
             "  tune ladder --shape 4092x4092x4092 --beta 0.5 --trials 200\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem), NULL},
              {gt_session_option_table, offsetof(struct options, session), NULL},
              {gt_search_option_table, offsetof(struct options, session), NULL},
              {option_table, 0, NULL}},
    .size = sizeof(struct options),
    .finishes = true,
    .run = run,
};
