/* page.c - gathers what a page shows, and puts its parts together; see page.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "console/cmd_record.h"
#include "db/store.h"
#include "gemmtune.h"
#include "problem/measured.h"
#include "problem/problem.h"
#include "problem/trial.h"
#include "report/charts_js_page.h"
#include "report/page.h"
#include "report/page_css_page.h"
#include "report/page_energy_js_page.h"
#include "report/page_js_page.h"
#include "report/page_search_js_page.h"

/* ---- the data: one JSON document, with times in microseconds; 0: not measured ---- */

/* The most that a browser draws without a long wait: 25 MB of page. */
enum { MOST_ROWS = 5000, MOST_TRIALS = 500000 };

struct gathering {
    const struct gt_report_request *request;
    cJSON *list;
    size_t rows, guesses; /* of `compared`; trials that were not measured */
    size_t items, trials; /* items in the list so far; trials of all its spaces */
    size_t left;          /* problems, turns and trials that the page has no room for */
    cJSON *space; /* the list's last space, to whose kernel and problem the next trial may belong */
};

/* The place of a problem in the request; SIZE_MAX: it is not asked for. */
static size_t place_of(const struct gt_report_request *request, const char *text)
{
    char own[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < request->problems; i++) {
        gt_problem_format(&request->problem[i], own);
        if (strcmp(own, text) == 0)
            return i;
    }
    return request->problems ? SIZE_MAX : 0;
}

/* Whether the list has no room for another item; such an item is counted. */
static bool is_full(struct gathering *g)
{
    const bool full = g->items >= MOST_ROWS || g->trials >= MOST_TRIALS;

    g->left += full;
    return full;
}

/* Work and traffic of a problem: 2 m n k, and A, B, C (if read) and D each moved once. */
static void add_size(cJSON *item, const char *text)
{
    struct gt_problem problem;
    struct gt_err ignored;
    double bytes;

    if (gt_problem_parse(&problem, text, &ignored))
        return;
    bytes = (double)gt_problem_bytes(&problem, GT_OPERAND_A) +
            (double)gt_problem_bytes(&problem, GT_OPERAND_B) +
            (double)gt_problem_bytes(&problem, GT_OPERAND_C) * (problem.beta != 0 ? 2 : 1);
    gt_json_add(item, "flops=%g bytes=%g", gt_problem_flops(&problem), bytes);
}

static int take_compared(void *context, const struct gt_row *row, const struct gt_comparison *with,
                         struct gt_err *err)
{
    struct gathering *g = context;
    const struct gt_report_request *request = g->request;
    size_t place = place_of(request, row->problem);
    cJSON *item;

    if (place == SIZE_MAX || !(row->us > 0) || !gt_row_asked(request->filter, row->device))
        return GT_OK;
    g->rows++;
    if (is_full(g))
        return GT_OK;
    g->items++;
    item = gt_json_append(
        g->list,
        "problem=%s dtype=%s accuracy=%s layout=%s device=%s kernel=%s point=%s date=%s "
        "provenance=%s timing=%s m=%g n=%g k=%g batch=%g us=%g lo=%g hi=%g err=%g base=%g "
        "base_err=%g untuned=%g driver=%d weight=%g",
        row->problem, row->dtype, row->accuracy, row->layout, row->device, row->kernel, row->point,
        row->date, gt_provenance_name(row->provenance), gt_timing_name(row->timing), (double)row->m,
        (double)row->n, (double)row->k, (double)row->batch, row->us, row->lo_us, row->hi_us,
        row->err_u, row->baseline_us, with->baseline_err_u, with->untuned_us, row->driver,
        request->weight ? request->weight[place] : 1);
    add_size(item, row->problem);
    return gt_cmd_json_check(err);
}

/* Seconds of the GPU and of the compilers in each part of the turn's search, if it was seen. */
static void add_work(cJSON *item, const struct gt_turn *turn)
{
    cJSON *parts = cJSON_AddArrayToObject(item, "work");

    for (int i = 0; i < GT_TURN_PARTS; i++) {
        const double value[] = {turn->part[i].gpu_s, turn->part[i].compile_s};

        cJSON_AddItemToArray(parts, cJSON_CreateDoubleArray(value, 2));
    }
}

static int take_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *item, *steps;

    if (place_of(g->request, turn->problem) == SIZE_MAX ||
        !gt_row_asked(g->request->filter, turn->device) || is_full(g))
        return GT_OK;
    g->items++;
    item = gt_json_append(
        g->list,
        "problem=%s device=%s kernels=%s strategy=%s date=%s timing=%s known=%g trials=%g "
        "seconds=%g race=%g busy=%g us=%g base=%g",
        turn->problem, turn->device, turn->kernels, turn->strategy, turn->date,
        gt_timing_name(turn->timing), (double)turn->known, (double)turn->trials, turn->seconds,
        turn->race_s, turn->busy_s, turn->us, turn->baseline_us);
    add_work(item, turn);
    steps = cJSON_AddArrayToObject(item, "steps");
    for (size_t i = 0; i < turn->improvements; i++) {
        const struct gt_improvement *step = &turn->improvement[i];
        const double value[] = {step->seconds, step->us, (double)step->trials};

        cJSON_AddItemToArray(steps, cJSON_CreateDoubleArray(value, 3));
    }
    return gt_cmd_json_check(err);
}

/* The value at the beginning of "128,BN=64": a number, or the word that a recording has. */
static cJSON *value_of(const char *text)
{
    char word[128], *end;
    double number = strtod(text, &end);

    if (end != text && (*end == ',' || !*end))
        return cJSON_CreateNumber(number);
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ","), text);
    return cJSON_CreateString(word);
}

/* "BM=128,BN=64" as lists: the names once for a space, the values with each trial. */
static void add_point(cJSON *names, cJSON *values, const char *point)
{
    char name[128];

    while (*point) {
        size_t length = strcspn(point, "=");

        snprintf(name, sizeof(name), "%.*s", (int)length, point);
        cJSON_AddItemToArray(values, value_of(point + length + (point[length] == '=')));
        if (names)
            cJSON_AddItemToArray(names, cJSON_CreateString(name));
        point += strcspn(point, ",");
        point += *point == ',';
    }
}

static bool same_text(const cJSON *item, const char *key, const char *text)
{
    const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));

    return own && strcmp(own, text) == 0;
}

/* Trials of one space follow each other. */
static int take_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *names = NULL, *values;

    if (place_of(g->request, named->problem) == SIZE_MAX ||
        !gt_row_asked(g->request->filter, named->device))
        return GT_OK;
    g->guesses += named->trial.provenance != GT_MEASURED;
    if (!g->space || !same_text(g->space, "problem", named->problem) ||
        !same_text(g->space, "kernel", named->kernel) ||
        !same_text(g->space, "device", named->device) ||
        !same_text(g->space, "provenance", gt_provenance_name(named->trial.provenance)) ||
        !same_text(g->space, "timing", gt_timing_name(named->timing))) {
        if (is_full(g))
            return GT_OK;
        g->items++;
        g->space = gt_json_append(g->list, "problem=%s kernel=%s device=%s provenance=%s timing=%s",
                                  named->problem, named->kernel, named->device,
                                  gt_provenance_name(named->trial.provenance),
                                  gt_timing_name(named->timing));
        add_size(g->space, named->problem);
        names = cJSON_AddArrayToObject(g->space, "names");
        cJSON_AddArrayToObject(g->space, "trials");
    }
    g->trials++;
    values = cJSON_CreateArray();
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(g->space, "trials"), values);
    cJSON_AddItemToArray(values, cJSON_CreateNumber(named->trial.status));
    cJSON_AddItemToArray(values, cJSON_CreateNumber(named->trial.us));
    add_point(names, values, named->point);
    return gt_cmd_json_check(err);
}

/* The energies of a product, by this project's kernels and by cuBLASLt, in millijoules.  The figure
 * of an objective: 1: the best by this objective, 2: tied for the best. */
static int take_energy(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct gathering *g = context;
    const struct gt_energy *energy = &row->energy;
    cJSON *item;

    if (place_of(g->request, row->problem) == SIZE_MAX)
        return GT_OK;
    g->items++;
    item = gt_json_append(g->list,
                          "problem=%s device=%s uuid=%s kernel=%s point=%s date=%s us=%g mj=%g "
                          "error=%g watts=%g mhz=%g counted=%d",
                          row->problem, row->device, row->uuid, row->kernel, row->point, row->date,
                          energy->us, 1e3 * energy->joules, energy->error, energy->watts,
                          energy->clock_mhz, energy->counted);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->rank.best[i] || row->rank.tie[i])
            cJSON_AddNumberToObject(item, gt_objective_name((enum gt_objective)i),
                                    row->rank.tie[i] ? 2 : 1);
    add_size(item, row->problem);
    return gt_cmd_json_check(err);
}

static int take_device(void *context, const struct gt_calibrated *calibrated, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *item;

    if (!gt_row_asked(g->request->filter, calibrated->device))
        return GT_OK;
    g->items++;
    item = gt_json_append(g->list, "name=%s date=%s", calibrated->device, calibrated->date);
    for (int i = 0; i < GT_CALIBRATION_COUNT; i++)
        if (calibrated->calibration.value[i] > 0)
            cJSON_AddNumberToObject(item, gt_calibration_rows[i].name,
                                    calibrated->calibration.value[i]);
    return gt_cmd_json_check(err);
}

/* Adds the whole documents that tune recheck printed. */
static int take_recheck(struct gathering *g, const char *path, struct gt_err *err)
{
    const char *format = NULL, *date = NULL;
    cJSON *root;
    int rc = gt_json_load(&root, path, err);

    GT_STEP(rc, gt_json_string(&format, root, path, "format", GT_REQUIRED, err));
    if (!rc && strcmp(format, "gemmtune recheck 1") != 0)
        rc = gt_err_set(err, GT_ECONFIG,
                        "%s: format is \"%s\"; what tune recheck --json prints is allowed", path,
                        format);
    GT_STEP(rc, gt_json_string(&date, root, path, "date", GT_REQUIRED, err));
    if (!rc && !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "winners")))
        rc = gt_err_set(err, GT_ECONFIG, "%s: there is no list \"winners\"", path);
    if (!rc && cJSON_AddItemToArray(g->list, root))
        return GT_OK;
    cJSON_Delete(root);
    return rc ? rc : gt_err_nomem(err);
}

/* Rounds to three decimals (a nanosecond, a millisecond), so that meaningless digits of a float
 * stay out of the page. */
static void round_numbers(cJSON *list)
{
    cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsNumber(item))
            cJSON_SetNumberValue(item, round(item->valuedouble * 1e3) / 1e3);
        round_numbers(item);
    }
}

/* A list of the document, to be filled. */
static void begin_list(struct gathering *g, cJSON *data, const char *key)
{
    g->list = cJSON_AddArrayToObject(data, key);
    g->items = g->trials = 0;
}

/* *data is to be freed with cJSON_Delete, also after a failure. */
static int gather(cJSON **data, const struct gt_report_request *request, struct gt_store *store,
                  struct gt_report_counts *counts, struct gt_err *err)
{
    struct gathering g = {.request = request};
    struct gt_row_filter all = {.problem = request->filter->problem,
                                .cc = request->filter->cc,
                                .device = request->filter->device,
                                .whole = request->filter->whole};
    int rc;

    *data = cJSON_CreateObject();
    gt_json_add(*data, "made=%g version=%d", (double)gt_clock_date_ms(), gt_version());
    begin_list(&g, *data, "statuses");
    for (int i = 0; i < GT_STATUS_COUNT; i++)
        cJSON_AddItemToArray(g.list,
                             cJSON_CreateString(i ? gt_status_name((enum gt_status)i) : "none"));
    begin_list(&g, *data, "compared");
    rc = gt_cmd_json_check(err);
    GT_STEP(rc, gt_store_compared(store, request->filter, take_compared, &g, err));
    begin_list(&g, *data, "turns");
    GT_STEP(rc, gt_store_turns(store, &all, take_turn, &g, err));
    begin_list(&g, *data, "spaces");
    GT_STEP(rc, gt_store_trials(store, request->filter, take_trial, &g, err));
    *counts = (struct gt_report_counts){g.rows, g.guesses, g.left};
    gt_json_add(*data, "left=%zu", g.left);
    begin_list(&g, *data, "energies");
    GT_STEP(rc, gt_store_energies(store, &(struct gt_energy_filter){.rows = all}, take_energy, &g,
                                  err));
    begin_list(&g, *data, "devices");
    GT_STEP(rc, gt_store_calibrated(store, request->filter->cc, take_device, &g, err));
    round_numbers(*data);
    begin_list(&g, *data, "rechecks");
    for (size_t i = 0; i < request->rechecks && !rc; i++)
        rc = take_recheck(&g, request->recheck[i], err);
    return rc ? rc : gt_cmd_json_check(err);
}

/* ---- the page ---- */

/* Inside a script, "</" would end the script, and "<!--" would begin a comment, so every < of a
 * foreign text is replaced. */
static void put_data(FILE *file, const char *json)
{
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", file);
        else
            fputc(*json, file);
    }
}

static void put_page(FILE *file, const struct gt_page *page, const char *json)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n",
          file);
    if (page->reload_s > 0)
        fprintf(file, "<meta http-equiv=\"refresh\" content=\"%d\">\n", page->reload_s);
    fprintf(file, "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>%s</h1>\n",
            page->title, gt_page_css, page->title);
    fputs("<nav id=\"contents\" aria-label=\"Sections\"></nav>\n"
          "<main id=\"page\"><noscript>The pictures are drawn by a script, "
          "which this browser does not run.</noscript></main>\n"
          "<div id=\"tip\" role=\"status\" hidden></div>\n"
          "<script type=\"application/json\" id=\"data\">",
          file);
    put_data(file, json);
    fprintf(file, "</script>\n<script>\n%s", gt_charts_js);
    for (int i = 0; i < GT_PAGE_SCRIPTS && page->script[i]; i++)
        fputs(page->script[i], file);
    fputs("</script>\n</body>\n</html>\n", file);
}

int gt_page_write(FILE *file, const struct gt_page *page, const cJSON *data, struct gt_err *err)
{
    char *json = cJSON_PrintUnformatted(data);
    int rc = json ? GT_OK : gt_err_nomem(err);

    if (json)
        put_page(file, page, json);
    if (!rc && ferror(file))
        rc = gt_err_set(err, GT_EIO, "cannot write the page: %s", strerror(errno));
    cJSON_free(json);
    return rc;
}

int gt_report_write(FILE *file, const struct gt_report_request *request, struct gt_store *store,
                    struct gt_report_counts *counts, struct gt_err *err)
{
    const struct gt_page page = {
        "gemmtune report", {gt_page_js, gt_page_energy_js, gt_page_search_js}, request->reload_s};
    cJSON *data = NULL;
    int rc = gather(&data, request, store, counts, err);

    GT_STEP(rc, gt_page_write(file, &page, data, err));
    cJSON_Delete(data);
    return rc;
}
