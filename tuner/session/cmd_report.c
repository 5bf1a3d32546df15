/* cmd_report.c - the results of a sweep: a ranked table for people, a document for programs. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/terminal.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "session/model_error.h"
#include "sweep/progress.h"

static void add_bound(cJSON *json, const char *key, const struct gt_trial *trial, double us)
{
    cJSON_AddItemToObject(json, key,
                          gt_interval_known(trial->provenance, trial->lo_us, trial->hi_us)
                              ? cJSON_CreateNumber(us)
                              : cJSON_CreateNull());
}

/* The part of the peak of the device's units that a prediction expects. */
static void add_peak(cJSON *json, const struct gt_device *device, const struct gt_sweep_row *row,
                     const struct gt_problem *problem)
{
    const double peak = gt_model_peak(device, problem, row->kernel);

    if (peak > 0)
        cJSON_AddNumberToObject(json, "peak_percent",
                                gt_problem_flops(problem) / row->trial.us * 1e-4 / peak);
}

static cJSON *row_json(const struct gt_sweep_row *row, const struct gt_sweep_result *result,
                       const struct gt_device *device)
{
    const struct gt_trial *trial = &row->trial;
    struct gt_strbuf point = GT_STRBUF_INIT;
    cJSON *json = cJSON_CreateObject();

    gt_point_format(&point, row->kernel, &row->point);
    gt_json_add(json, "kernel=%s point=%s predicted=%i result=%s us=%g tie=%i", row->kernel->name,
                point.text, trial->provenance == GT_PREDICTED,
                gt_provenance_name(trial->provenance), trial->us, row->tie);
    if (trial->provenance != GT_PREDICTED) {
        add_bound(json, "lo_us", trial, trial->lo_us);
        add_bound(json, "hi_us", trial, trial->hi_us);
        gt_json_add(json, "err_u=%g clock_mhz=%g comparable=%i", trial->err_u, trial->clock_mhz,
                    !row->apart);
        if (result->have_baseline)
            cJSON_AddNumberToObject(json, "ratio", result->baseline.us / trial->us);
    }
    cJSON_AddNumberToObject(json, "tflops", gt_problem_flops(result->problem) / trial->us * 1e-6);
    if (trial->provenance == GT_PREDICTED)
        add_peak(json, device, row, result->problem);
    gt_json_add(json, "registers=%d shared_bytes=%g workspace_bytes=%g", trial->registers,
                (double)trial->shared_bytes, (double)trial->workspace_bytes);
    gt_strbuf_release(&point);
    return json;
}

static cJSON *result_json(const struct gt_sweep_result *result, const struct gt_device *device)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *statuses = cJSON_AddObjectToObject(json, "trials");
    cJSON *rows = cJSON_AddArrayToObject(json, "candidates");
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(result->problem, text);
    cJSON_AddStringToObject(json, "problem", text);
    for (int status = GT_STATUS_NONE + 1; status < GT_STATUS_COUNT; status++)
        if (result->status[status])
            cJSON_AddNumberToObject(statuses, gt_status_name((enum gt_status)status),
                                    (double)result->status[status]);
    gt_json_add(json, "new=%g resumed=%g valid_points=%g wall_s=%g interrupted=%i",
                (double)result->fresh, (double)result->resumed, result->points, result->wall_s,
                result->interrupted);
    if (result->have_baseline) {
        gt_json_add(json, "baseline=%s baseline_us=%g", result->baseline.name, result->baseline.us);
    }
    if (result->nothing.code) {
        gt_json_add(json, "nothing=%s why=%s", result->nothing.msg, result->nothing.msg);
    }
    if (result->incumbent.kernel) {
        cJSON *incumbent = row_json(&result->incumbent, result, device);

        cJSON_AddBoolToObject(incumbent, "stays", result->stays);
        cJSON_AddItemToObject(json, "incumbent", incumbent);
    }
    for (size_t i = 0; i < result->rows; i++)
        cJSON_AddItemToArray(rows, row_json(&result->row[i], result, device));
    return json;
}

cJSON *gt_report_document(const struct gt_session *session, const struct gt_sweep_result *result,
                          size_t count)
{
    const struct gt_device *device = &session->evaluator->device;
    cJSON *root = cJSON_CreateObject();
    cJSON *list;

    gt_json_add(root, "format=%s device=%s cc=%d predicted=%i", "gemmtune sweep 1", device->name,
                device->cc, !session->measures);
    list = cJSON_AddArrayToObject(root, "problems");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, result_json(&result[i], device));
    return root;
}

static double tflops(const struct gt_problem *problem, double us)
{
    return us > 0 ? gt_problem_flops(problem) / us * 1e-6 : 0;
}

void gt_report_point(struct gt_strbuf *buf, const struct gt_session *session,
                     const struct gt_kernel *kernel, const struct gt_point *point)
{
    size_t before = buf->length;

    if (session && (session->replays || session->narrowed)) {
        gt_point_format(buf, kernel, point);
        return;
    }

    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];

        if (point->value[i] != param->value[param->standard])
            gt_strbuf_addf(buf, "%s%s=%lld", buf->length > before ? "," : "", param->name,
                           (long long)point->value[i]);
    }
    if (buf->length == before)
        gt_strbuf_add(buf, "(defaults)");
}

static void print_heading(const struct gt_session *session, const struct gt_sweep_result *result)
{
    const struct gt_device *device = &session->evaluator->device;
    const struct gt_cli *cli = session->cli;
    char text[GT_PROBLEM_TEXT_MAX], arch[16] = ""; /* empty: a recording does not name it */
    char name[sizeof(device->name)];

    gt_progress_clear(session->progress); /* else the table would begin behind the progress line */
    gt_problem_format(result->problem, text);
    if (device->cc)
        snprintf(arch, sizeof(arch), " (sm_%d)", device->cc);
    gt_copy_clean(name, sizeof(name), device->name);
    fprintf(cli->out, "%s%s on %s%s: %s%s\n", cli->colored ? "\033[1m" : "", text, name, arch,
            session->replays    ? "REPLAYED from a recording, nothing was measured"
            : session->measures ? "measured"
                                : "PREDICTED by a model, nothing was measured",
            cli->colored ? "\033[0m" : "");
}

static void print_baseline(const struct gt_session *session, const struct gt_sweep_result *result)
{
    const struct gt_baseline *baseline = &result->baseline;

    if (!result->have_baseline)
        return;
    fprintf(session->cli->out, "baseline %s: %.2f us", baseline->name, baseline->us);
    if (baseline->lo_us > 0) /* not known for a baseline that an earlier run measured */
        fprintf(session->cli->out, " [%.2f, %.2f]", baseline->lo_us, baseline->hi_us);
    fprintf(session->cli->out, ", %.2f TFLOP/s\n", tflops(result->problem, baseline->us));
}

/* The columns of the table that fit; on a narrow terminal less important columns are left out. */
struct columns {
    int name;             /* width of the kernel's name */
    bool ratio, rate;     /* x cuBLAS; TFLOP/s */
    bool interval, error; /* of the time; err u */
    bool facts, beside;   /* registers and shared memory; the point at the end of the row */
};

#define POINT_ROOM 24 /* columns; with fewer columns the point stands below its row */

static bool fits(int *left, int columns)
{
    const bool room = *left >= columns;

    *left -= room ? columns : 0;
    return room;
}

static void widen(int *name, const struct gt_sweep_row *row)
{
    const int length = row->kernel ? (int)strlen(row->kernel->name) : 0;

    *name = length > *name ? length : *name;
}

static struct columns choose_columns(const struct gt_session *session,
                                     const struct gt_sweep_result *result, size_t rows)
{
    const int width = session->cli->raw ? 0 : gt_terminal_width();
    const bool measures = session->measures, compares = measures && result->have_baseline;
    struct columns columns = {12, compares, true, measures, measures, true, true};
    int left;

    for (size_t i = 0; i < result->rows && i < rows; i++)
        widen(&columns.name, &result->row[i]);
    widen(&columns.name, &result->incumbent);
    left = width - 6 - columns.name;
    if (!width || !fits(&left, 12)) /* columns of the time, which is always there */
        return columns;
    columns.ratio = columns.ratio && fits(&left, 9);
    columns.rate = columns.rate && fits(&left, measures ? 9 : 18);
    columns.interval = columns.interval && fits(&left, 22);
    columns.error = columns.error && fits(&left, 7);
    columns.facts = columns.facts && fits(&left, 14);
    columns.beside = left >= POINT_ROOM;
    return columns;
}

static char mark_of(const struct gt_sweep_result *result, size_t i)
{
    const struct gt_sweep_row *row = &result->row[i];

    return i && row->tie ? '=' : row->apart ? '~' : ' ';
}

/* TFLOP/s.  For a prediction it has two digits, and per cent of the peak of the device's units are
 * added. */
static void print_rate(const struct gt_session *session, const struct gt_sweep_result *result,
                       const struct gt_sweep_row *row)
{
    const double rate = tflops(result->problem, row->trial.us);
    const double peak = gt_model_peak(&session->evaluator->device, result->problem, row->kernel);
    char text[GT_ROUGH_MAX];

    if (session->measures)
        fprintf(session->cli->out, " %8.2f", rate);
    else
        fprintf(session->cli->out, " %8s %6.0f %%", gt_rough(text, rate),
                peak > 0 ? 100 * rate / peak : 0);
}

/* Says how far the predictions may be believed, for each kind of kernel in the table. */
static void print_error(const struct gt_session *session, const struct gt_sweep_result *result,
                        size_t rows)
{
    bool kinds[GT_KIND_COUNT] = {false};
    const char *before = "the model's known error, on an H200: ";

    for (size_t i = 0; i < result->rows && i < rows; i++)
        kinds[gt_model_kind_of(result->row[i].kernel)] = true;
    for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
        if (!kinds[kind])
            continue;
        fprintf(session->cli->out, "%s%s", before, gt_model_error((enum gt_model_kind)kind));
        before = "; ";
    }
    fputc('\n', session->cli->out);
}

/* rank: the rank with its mark. */
static void print_row(const struct gt_session *session, const struct gt_sweep_result *result,
                      const struct columns *columns, const char *rank,
                      const struct gt_sweep_row *row, struct gt_strbuf *point)
{
    const struct gt_trial *trial = &row->trial;
    FILE *out = session->cli->out;
    char interval[64], name[80];

    gt_copy_clean(name, sizeof(name), row->kernel->name);
    gt_strbuf_reset(point);
    gt_report_point(point, session, row->kernel, &row->point);
    fprintf(out, "%5s %-*s", rank, columns->name, name);
    if (session->measures)
        fprintf(out, " %11.2f", trial->us);
    else
        fprintf(out, " %11s", gt_rough(interval, trial->us));
    snprintf(interval, sizeof(interval), "-"); /* a recording without samples */
    if (gt_interval_known(trial->provenance, trial->lo_us, trial->hi_us))
        snprintf(interval, sizeof(interval), "[%.2f, %.2f]", trial->lo_us, trial->hi_us);
    if (columns->interval)
        fprintf(out, "  %-20s", interval);
    if (columns->rate)
        print_rate(session, result, row);
    if (columns->ratio)
        fprintf(out, " %8.3f", result->baseline.us / trial->us);
    if (columns->error && session->replays)
        fprintf(out, " %6s", "-"); /* a recording has no proof figures */
    else if (columns->error)
        fprintf(out, " %6.1f", trial->err_u);
    if (columns->facts && trial->registers > 0)
        fprintf(out, " %5d", trial->registers);
    else if (columns->facts) /* PTX, which the driver compiles, or a recording that does not say */
        fprintf(out, " %5s", "-");
    if (columns->facts && session->replays && !trial->shared_bytes)
        fprintf(out, " %7s", "-");
    else if (columns->facts)
        fprintf(out, " %7lld", (long long)trial->shared_bytes);
    fprintf(out, "%s%s\n", columns->beside ? "  " : "\n      ", point->text);
}

static void print_names(const struct gt_session *session, const struct columns *columns)
{
    fprintf(session->cli->out, "rank  %-*s %11s%s%s%s%s%s%s\n", columns->name, "kernel",
            session->replays    ? "replayed us"
            : session->measures ? "measured us"
                                : "predict. us",
            columns->interval ? "  [95 % interval]     " : "",
            !columns->rate      ? ""
            : session->measures ? "  TFLOP/s"
                                : "  TFLOP/s  of peak",
            columns->ratio ? " x cuBLAS" : "", columns->error ? "  err u" : "",
            columns->facts ? "  regs  shared" : "",
            columns->beside ? "  point (where not default)" : "");
}

/* What take_reason searches for, and the reason that it found. */
struct reason {
    const struct gt_kernels *kernels;
    struct gt_strbuf text;
};

/* Keeps the reason of the first failed trial that belongs to today's text of the kernel. */
static int take_reason(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct reason *reason = context;
    const char *detail = row->detail ? row->detail : "";
    struct gt_err ignored;
    const struct gt_kernel *kernel = gt_kernels_find(reason->kernels, row->kernel, &ignored);

    if (!reason->text.length && row->status != GT_STATUS_OK && kernel &&
        strcmp(kernel->signature, row->signature) == 0)
        gt_strbuf_addf(&reason->text, "; %s %s: %s%s%.*s", row->kernel, row->point,
                       gt_status_name(row->status), *detail ? ": " : "", (int)strcspn(detail, "\n"),
                       detail);
    return gt_strbuf_check(&reason->text, err);
}

void gt_report_nothing(struct gt_strbuf *buf, const struct gt_session *session,
                       const struct gt_sweep_result *result)
{
    struct reason reason = {&session->kernels, GT_STRBUF_INIT};
    char text[GT_PROBLEM_TEXT_MAX];
    const struct gt_row_filter filter = {.problem = text, .cc = session->evaluator->device.cc};
    struct gt_err ignored;

    gt_problem_format(result->problem, text);
    gt_strbuf_addf(buf, "no valid candidate%s", result->interrupted ? " yet" : "");
    if (result->nothing.code)
        gt_strbuf_addf(buf, "; %s", result->nothing.msg);
    else if (gt_store_rows(session->store, &filter, take_reason, &reason, &ignored) == GT_OK)
        gt_strbuf_add(buf, reason.text.text);
    gt_strbuf_release(&reason.text);
}

/* The incumbent that was not searched, in a row of its own. */
static void print_incumbent(const struct gt_session *session, const struct gt_sweep_result *result,
                            const struct columns *columns, struct gt_strbuf *point)
{
    if (!result->incumbent.kernel)
        return;
    print_row(session, result, columns, "- ", &result->incumbent, point);
    fprintf(session->cli->out,
            "- the incumbent, what look-up hands out: timed beside the others, not searched%s\n",
            result->stays ? "; it stays" : "");
}

static void print_nothing(const struct gt_session *session, const struct gt_sweep_result *result)
{
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_report_nothing(&sentence, session, result);
    fprintf(session->cli->out, "%s\n\n", sentence.text);
    gt_strbuf_release(&sentence);
}

/* Whether a printed row has the mark, which must then be explained. */
static bool is_marked(const struct gt_sweep_result *result, size_t rows, char mark)
{
    for (size_t i = 0; i < result->rows && i < rows; i++)
        if (mark_of(result, i) == mark)
            return true;
    return false;
}

void gt_report_result(const struct gt_session *session, const struct gt_sweep_result *result,
                      size_t rows)
{
    const struct columns columns = choose_columns(session, result, rows);
    struct gt_strbuf point = GT_STRBUF_INIT;
    FILE *out = session->cli->out;
    char rank[24];

    print_heading(session, result);
    if (!result->rows)
        print_nothing(session, result);
    if (!result->rows && !result->incumbent.kernel)
        return;
    print_baseline(session, result);
    print_names(session, &columns);
    for (size_t i = 0; i < result->rows && i < rows; i++) {
        snprintf(rank, sizeof(rank), "%zu%c", i + 1, mark_of(result, i));
        print_row(session, result, &columns, rank, &result->row[i], &point);
    }
    print_incumbent(session, result, &columns, &point);
    if (is_marked(result, rows, '='))
        fprintf(out, session->measures
                         ? "= cannot be told apart from rank 1\n"
                         : "= cannot be told apart from rank 1: predicted ties, to be tried on the "
                           "GPU\n");
    if (!session->measures)
        print_error(session, result, rows);
    if (session->measures && is_marked(result, rows, '~'))
        fprintf(out, "~ timed on its own before the finals, when the GPU may have been cooler: not "
                     "comparable\n");
    fputc('\n', out);
    gt_strbuf_release(&point);
}

/* One line for each status that is the kernel's fault: why the first trial with this status
 * failed. */
struct failures {
    const struct gt_session *session;
    bool told[GT_STATUS_COUNT];
};

static bool is_kernels_fault(enum gt_status status)
{
    return status == GT_STATUS_COMPILE_ERROR || status == GT_STATUS_FAULT ||
           status == GT_STATUS_WRONG || status == GT_STATUS_OOB_WRITE ||
           status == GT_STATUS_NONDETERMINISTIC;
}

static int tell_failure(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct failures *failures = context;
    const struct gt_session *session = failures->session;
    const char *detail = row->detail ? row->detail : "";
    FILE *log = session->cli->log;

    (void)err;
    if (!is_kernels_fault(row->status) || failures->told[row->status] ||
        strcmp(row->device, session->evaluator->device.name) != 0)
        return GT_OK;
    failures->told[row->status] = true;
    fprintf(log, "the first %s: %s %s: %.*s\n", gt_status_name(row->status), row->kernel,
            row->point, (int)strcspn(detail, "\n"), detail);
    if (row->status == GT_STATUS_COMPILE_ERROR)
        fprintf(log,
                "  all that the compiler says: tune show %s %s --problem %s --arch sm_%d%s%s\n",
                row->kernel, row->point, row->problem, row->cc,
                session->kernels_dir ? " --kernels-dir " : "",
                session->kernels_dir ? session->kernels_dir : "");
    return GT_OK;
}

/* Tells the failures of one problem's trials that have not been told yet; false: there was nothing
 * to tell. */
static bool tell_failures(struct failures *failures, const struct gt_sweep_result *result)
{
    const struct gt_session *session = failures->session;
    char text[GT_PROBLEM_TEXT_MAX];
    const struct gt_row_filter filter = {
        .problem = text, .cc = session->evaluator->device.cc, .kernels = &session->kernels};
    struct gt_err ignored;
    bool any = false;

    for (int status = 0; status < GT_STATUS_COUNT; status++)
        any |= is_kernels_fault((enum gt_status)status) && result->status[status];
    if (!any || !result->rows || session->replays)
        return false; /* without a row the table says why */
    gt_problem_format(result->problem, text);
    return gt_store_rows(session->store, &filter, tell_failure, failures, &ignored) == GT_OK;
}

void gt_report_failures(const struct gt_session *session, const struct gt_sweep_result *result,
                        size_t count)
{
    struct failures failures = {.session = session};
    bool any = false;

    for (size_t i = 0; i < count && !session->cli->quiet; i++)
        any |= tell_failures(&failures, &result[i]);
    if (any)
        fprintf(session->cli->log,
                "  every trial with its reason: tune export --all --format json\n");
}

void gt_report_summary(const struct gt_session *session, const struct gt_sweep_result *result)
{
    FILE *log = session->cli->log;
    const char *separator = "";

    if (session->cli->quiet)
        return;
    fprintf(log,
            "%lld trial%s (%lld new, %lld from earlier runs) of %s%.*g valid points in %.1f s: ",
            (long long)(result->fresh + result->resumed),
            result->fresh + result->resumed == 1 ? "" : "s", (long long)result->fresh,
            (long long)result->resumed, result->points_estimated ? "about " : "",
            result->points_estimated ? 2 : 15, result->points, result->wall_s);
    for (int status = GT_STATUS_NONE + 1; status < GT_STATUS_COUNT; status++) {
        if (!result->status[status])
            continue;
        fprintf(log, "%s%lld %s", separator, (long long)result->status[status],
                gt_status_name((enum gt_status)status));
        separator = ", ";
    }
    fprintf(log, "%s\n", *separator ? "" : "none");
    fprintf(log, "%lld compiled, %lld from the cache", (long long)result->compiled,
            (long long)result->cache_hits);
    if (result->respawns)
        fprintf(log, ", %lld workers replaced", (long long)result->respawns);
    if (session->measures && result->wall_s > 0)
        fprintf(log, "; GPU busy %.0f %%, within 2 %% of the best after %.1f s",
                100 * result->busy_s / result->wall_s, result->to_best_s);
    fputc('\n', log);
    gt_report_failures(session, result, 1);
}

void gt_report_totals(const struct gt_session *session)
{
    const struct gt_sweep_totals *totals = &session->totals;

    if (session->cli->quiet || !session->measures || !(totals->wall_s > 0))
        return;
    fprintf(
        session->cli->log,
        "GPU busy %.0f %% of %.0f s; %lld candidates compiled, %lld proved and timed; compilers "
        "busy %.0f %%\n",
        100 * totals->busy_s / totals->wall_s, totals->wall_s, (long long)totals->compiled,
        (long long)totals->timed,
        100 * totals->compile_s / (totals->wall_s * (double)totals->jobs));
}
