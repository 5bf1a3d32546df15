/* page.c - gathers what a page shows, and puts its parts together; see page.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
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
    bool failed;  /* an item could not be made */
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

/* Adds pairs of a key and a text. */
__attribute__((sentinel)) static void add_texts(struct gathering *g, cJSON *item, ...)
{
    va_list pairs;
    const char *key;

    va_start(pairs, item);
    while ((key = va_arg(pairs, const char *)))
        g->failed |= !cJSON_AddStringToObject(item, key, va_arg(pairs, const char *));
    va_end(pairs);
}

/* Rounds to three decimals (a nanosecond, a millisecond), so that meaningless digits of a float
 * stay out of the page. */
static double rounded(double value)
{
    return round(value * 1e3) / 1e3;
}

static void add_number(struct gathering *g, cJSON *item, const char *key, double value)
{
    g->failed |= !cJSON_AddNumberToObject(item, key, rounded(value));
}

/* Whether the list has no room for another item; such an item is counted. */
static bool is_full(struct gathering *g)
{
    const bool full = g->items >= MOST_ROWS || g->trials >= MOST_TRIALS;

    g->left += full;
    return full;
}

/* A new member of the list; after a failure a member that is not in the list, or NULL. */
static cJSON *new_item(struct gathering *g)
{
    cJSON *item = cJSON_CreateObject();

    g->items++;
    if (!item || !cJSON_AddItemToArray(g->list, item))
        g->failed = true;
    return item;
}

/* Work and traffic of a problem: 2 m n k, and A, B, C (if read) and D each moved once. */
static void add_size(struct gathering *g, cJSON *item, const char *text)
{
    struct gt_problem problem;
    struct gt_err ignored;
    double bytes;

    if (gt_problem_parse(&problem, text, &ignored))
        return;
    bytes = (double)gt_problem_bytes(&problem, GT_OPERAND_A) +
            (double)gt_problem_bytes(&problem, GT_OPERAND_B) +
            (double)gt_problem_bytes(&problem, GT_OPERAND_C) * (problem.beta != 0 ? 2 : 1);
    add_number(g, item, "flops", gt_problem_flops(&problem));
    add_number(g, item, "bytes", bytes);
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
    item = new_item(g);
    add_texts(g, item, "problem", row->problem, "dtype", row->dtype, "accuracy", row->accuracy,
              "layout", row->layout, "device", row->device, "kernel", row->kernel, "point",
              row->point, "date", row->date, "provenance", gt_provenance_name(row->provenance),
              "timing", gt_timing_name(row->timing), NULL);
    add_number(g, item, "m", (double)row->m);
    add_number(g, item, "n", (double)row->n);
    add_number(g, item, "k", (double)row->k);
    add_number(g, item, "batch", (double)row->batch);
    add_number(g, item, "us", row->us);
    add_number(g, item, "lo", row->lo_us);
    add_number(g, item, "hi", row->hi_us);
    add_number(g, item, "err", row->err_u);
    add_number(g, item, "base", row->baseline_us);
    add_number(g, item, "base_err", with->baseline_err_u);
    add_number(g, item, "untuned", with->untuned_us);
    add_number(g, item, "driver", row->driver);
    add_number(g, item, "weight", request->weight ? request->weight[place] : 1);
    add_size(g, item, row->problem);
    return g->failed ? gt_err_nomem(err) : GT_OK;
}

/* Seconds of the GPU and of the compilers in each part of the turn's search, if it was seen. */
static void add_work(struct gathering *g, cJSON *item, const struct gt_turn *turn)
{
    cJSON *parts = cJSON_AddArrayToObject(item, "work");

    for (int i = 0; i < GT_TURN_PARTS; i++) {
        const double value[] = {rounded(turn->part[i].gpu_s), rounded(turn->part[i].compile_s)};
        cJSON *pair = cJSON_CreateDoubleArray(value, 2);

        g->failed |= !pair || !cJSON_AddItemToArray(parts, pair);
    }
}

static int take_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *item, *steps;

    if (place_of(g->request, turn->problem) == SIZE_MAX ||
        !gt_row_asked(g->request->filter, turn->device) || is_full(g))
        return GT_OK;
    item = new_item(g);
    add_texts(g, item, "problem", turn->problem, "device", turn->device, "kernels", turn->kernels,
              "strategy", turn->strategy, "date", turn->date, "timing",
              gt_timing_name(turn->timing), NULL);
    add_number(g, item, "known", (double)turn->known);
    add_number(g, item, "trials", (double)turn->trials);
    add_number(g, item, "seconds", turn->seconds);
    add_number(g, item, "race", turn->race_s);
    add_number(g, item, "busy", turn->busy_s);
    add_number(g, item, "us", turn->us);
    add_number(g, item, "base", turn->baseline_us);
    add_work(g, item, turn);
    steps = cJSON_AddArrayToObject(item, "steps");
    for (size_t i = 0; i < turn->improvements; i++) {
        const struct gt_improvement *step = &turn->improvement[i];
        const double value[] = {rounded(step->seconds), rounded(step->us), (double)step->trials};
        cJSON *triple = cJSON_CreateDoubleArray(value, 3);

        g->failed |= !triple || !cJSON_AddItemToArray(steps, triple);
    }
    return g->failed ? gt_err_nomem(err) : GT_OK;
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
static void add_point(struct gathering *g, cJSON *names, cJSON *values, const char *point)
{
    char name[128];

    while (*point) {
        size_t length = strcspn(point, "=");
        cJSON *value = value_of(point + length + (point[length] == '='));

        snprintf(name, sizeof(name), "%.*s", (int)length, point);
        g->failed |= !value || !cJSON_AddItemToArray(values, value);
        if (names)
            g->failed |= !cJSON_AddItemToArray(names, cJSON_CreateString(name));
        point += strcspn(point, ",");
        point += *point == ',';
    }
}

static bool same_text(const cJSON *item, const char *key, const char *text)
{
    return strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key)), text) == 0;
}

/* Trials of one space follow each other. */
static int take_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *names = NULL, *values, *trials;

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
        g->space = new_item(g);
        add_texts(g, g->space, "problem", named->problem, "kernel", named->kernel, "device",
                  named->device, "provenance", gt_provenance_name(named->trial.provenance),
                  "timing", gt_timing_name(named->timing), NULL);
        add_size(g, g->space, named->problem);
        names = cJSON_AddArrayToObject(g->space, "names");
        g->failed |= !cJSON_AddArrayToObject(g->space, "trials");
    }
    values = cJSON_CreateArray();
    if (!values || g->failed) {
        cJSON_Delete(values);
        return gt_err_nomem(err);
    }
    g->trials++;
    trials = cJSON_GetObjectItemCaseSensitive(g->space, "trials");
    g->failed |= !cJSON_AddItemToArray(trials, values) ||
                 !cJSON_AddItemToArray(values, cJSON_CreateNumber(named->trial.status)) ||
                 !cJSON_AddItemToArray(values, cJSON_CreateNumber(rounded(named->trial.us)));
    add_point(g, names, values, named->point);
    return g->failed ? gt_err_nomem(err) : GT_OK;
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
    item = new_item(g);
    add_texts(g, item, "problem", row->problem, "device", row->device, "uuid", row->uuid, "kernel",
              row->kernel, "point", row->point, "date", row->date, NULL);
    add_number(g, item, "us", energy->us);
    add_number(g, item, "mj", 1e3 * energy->joules);
    add_number(g, item, "error", energy->error);
    add_number(g, item, "watts", energy->watts);
    add_number(g, item, "mhz", energy->clock_mhz);
    add_number(g, item, "counted", energy->counted);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->rank.best[i] || row->rank.tie[i])
            add_number(g, item, gt_objective_name((enum gt_objective)i), row->rank.tie[i] ? 2 : 1);
    add_size(g, item, row->problem);
    return g->failed ? gt_err_nomem(err) : GT_OK;
}

static int take_device(void *context, const struct gt_calibrated *calibrated, struct gt_err *err)
{
    struct gathering *g = context;
    cJSON *item;

    if (!gt_row_asked(g->request->filter, calibrated->device))
        return GT_OK;
    item = new_item(g);
    add_texts(g, item, "name", calibrated->device, "date", calibrated->date, NULL);
    for (int i = 0; i < GT_CALIBRATION_COUNT; i++)
        if (calibrated->calibration.value[i] > 0)
            add_number(g, item, gt_calibration_rows[i].name, calibrated->calibration.value[i]);
    return g->failed ? gt_err_nomem(err) : GT_OK;
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

/* A list of the document, to be filled. */
static void begin_list(struct gathering *g, cJSON *data, const char *key)
{
    g->list = cJSON_AddArrayToObject(data, key);
    g->items = g->trials = 0;
    g->failed |= !g->list;
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
    add_number(&g, *data, "made", (double)gt_clock_date_ms());
    add_number(&g, *data, "version", gt_version());
    begin_list(&g, *data, "statuses");
    for (int i = 0; i < GT_STATUS_COUNT && !g.failed; i++)
        g.failed |= !cJSON_AddItemToArray(
            g.list, cJSON_CreateString(i ? gt_status_name((enum gt_status)i) : "none"));
    begin_list(&g, *data, "compared");
    if (g.failed)
        return gt_err_nomem(err);
    rc = gt_store_compared(store, request->filter, take_compared, &g, err);
    begin_list(&g, *data, "turns");
    GT_STEP(rc, gt_store_turns(store, &all, take_turn, &g, err));
    begin_list(&g, *data, "spaces");
    GT_STEP(rc, gt_store_trials(store, request->filter, take_trial, &g, err));
    *counts = (struct gt_report_counts){g.rows, g.guesses, g.left};
    add_number(&g, *data, "left", (double)g.left);
    begin_list(&g, *data, "energies");
    GT_STEP(rc, gt_store_energies(store, &(struct gt_energy_filter){.rows = all}, take_energy, &g,
                                  err));
    begin_list(&g, *data, "devices");
    GT_STEP(rc, gt_store_calibrated(store, request->filter->cc, take_device, &g, err));
    begin_list(&g, *data, "rechecks");
    for (size_t i = 0; i < request->rechecks && !rc && !g.failed; i++)
        rc = take_recheck(&g, request->recheck[i], err);
    return rc ? rc : g.failed ? gt_err_nomem(err) : GT_OK;
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
