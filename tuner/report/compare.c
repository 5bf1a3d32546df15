/* compare.c - pairs the winners of two databases and judges them; see compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "db/store.h"
#include "problem/trial.h"
#include "report/compare.h"
#include "report/compare_js_page.h"
#include "report/page.h"

const char *gt_verdict_name(enum gt_verdict verdict)
{
    static const char *const name[] = {
#define GT_VERDICT_NAME(verdict, name, doc) name,
        GT_VERDICT_MAP(GT_VERDICT_NAME)
#undef GT_VERDICT_NAME
    };

    return name[verdict];
}

struct taking {
    struct gt_pairs *pairs;
    int side;
    bool any_device;
};

static int by_place(const struct gt_pair *a, const struct gt_pair *b)
{
    int order = strcmp(a->problem, b->problem);

    if (!order)
        order = strcmp(a->device, b->device);
    return order ? order : a->timing - b->timing;
}

static void release_side(struct gt_side *side)
{
    free(side->kernel);
    free(side->signature);
    free(side->point);
    free(side->date);
    *side = (struct gt_side){0};
}

static int fill_side(struct gt_side *side, const struct gt_row *row, struct gt_err *err)
{
    release_side(side);
    *side = (struct gt_side){
        .us = row->us,
        .lo_us = row->lo_us > 0 ? row->lo_us : row->us,
        .hi_us = row->hi_us > 0 ? row->hi_us : row->us,
        .kernel = strdup(row->kernel),
        .signature = strdup(row->signature),
        .point = strdup(row->point),
        .date = strdup(row->date),
        .driver = row->driver,
        .nvrtc = row->nvrtc,
    };
    return side->kernel && side->signature && side->point && side->date ? GT_OK : gt_err_nomem(err);
}

static void release_pair(struct gt_pair *pair)
{
    free(pair->problem);
    free(pair->device);
    release_side(&pair->side[0]);
    release_side(&pair->side[1]);
}

/* The pair for the row, which is made if the list has none; NULL: no memory.  The list is sorted,
 * so that the pair's place is found by halving. */
static struct gt_pair *place_for(struct taking *taking, const struct gt_row *row)
{
    struct gt_pairs *pairs = taking->pairs;
    struct gt_pair key = {.problem = strdup(row->problem),
                          .device = strdup(taking->any_device ? "" : row->device),
                          .timing = row->timing};
    size_t low = 0, high = pairs->count;

    while (low < high && key.problem && key.device) {
        size_t middle = (low + high) / 2;

        if (by_place(&pairs->pair[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (key.problem && key.device && low < pairs->count && by_place(&pairs->pair[low], &key) == 0) {
        release_pair(&key);
        return &pairs->pair[low];
    }
    if (!key.problem || !key.device ||
        GT_ARRAY_RESERVE(&pairs->pair, pairs->count + 1, &pairs->capacity, NULL)) {
        release_pair(&key);
        return NULL;
    }
    GT_ARRAY_OPEN(pairs->pair, low, pairs->count++);
    pairs->pair[low] = key;
    return &pairs->pair[low];
}

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct taking *taking = context;
    struct gt_pair *pair;

    if (!(row->us > 0))
        return GT_OK;
    pair = place_for(taking, row);
    if (!pair)
        return gt_err_nomem(err);
    if (pair->side[taking->side].us > 0 && pair->side[taking->side].us <= row->us)
        return GT_OK;
    return fill_side(&pair->side[taking->side], row, err);
}

/* The verdict on two times with their intervals; an interval of 0 has no width. */
static enum gt_verdict judge(struct gt_pair *pair, double noise)
{
    const struct gt_side *a = &pair->side[0], *b = &pair->side[1];

    if (!(a->us > 0) || !(b->us > 0))
        return a->us > 0 ? GT_VERDICT_ONLY_A : GT_VERDICT_ONLY_B;
    pair->ratio = a->us / b->us;
    pair->lo = a->lo_us / b->hi_us;
    pair->hi = a->hi_us / b->lo_us;
    if (pair->lo > noise)
        return GT_VERDICT_FASTER;
    if (pair->hi < 1 / noise)
        return GT_VERDICT_SLOWER;
    return pair->lo >= 1 / noise && pair->hi <= noise ? GT_VERDICT_SAME : GT_VERDICT_AMBIGUOUS;
}

int gt_compare(struct gt_pairs *pairs, struct gt_store *a, struct gt_store *b, double noise,
               bool any_device, struct gt_err *err)
{
    const struct gt_row_filter filter = {.winners_only = true, .provenance = 1u << GT_MEASURED};
    struct taking taking = {.pairs = pairs, .any_device = any_device};
    size_t known = 0;
    double logs = 0;
    int rc;

    *pairs = (struct gt_pairs){.noise = noise};
    rc = gt_store_rows(a, &filter, take_row, &taking, err);
    taking.side = 1;
    GT_STEP(rc, gt_store_rows(b, &filter, take_row, &taking, err));
    for (size_t i = 0; i < pairs->count && !rc; i++) {
        struct gt_pair *pair = &pairs->pair[i];

        pair->verdict = judge(pair, noise);
        pairs->of[pair->verdict]++;
        if (pair->ratio > 0) {
            logs += log(pair->ratio);
            known++;
        }
    }
    pairs->geometric_mean = known ? exp(logs / (double)known) : 0;
    return rc;
}

void gt_pairs_release(struct gt_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        release_pair(&pairs->pair[i]);
    free(pairs->pair);
    *pairs = (struct gt_pairs){0};
}

/* ---- the comparison as a document and as a page ---- */

static void add_side(const struct gt_record *to, const struct gt_side *side)
{
    const bool known = side->us > 0;

    gt_record_add(to,
                  "us=%+.3f lo_us=%+.3f hi_us=%+.3f kernel=%s signature=%s point=%s driver=%.0f "
                  "nvrtc=%.0f date=%s",
                  side->us, side->lo_us, side->hi_us, side->kernel, side->signature, side->point,
                  gt_if(known, side->driver), gt_if(known, side->nvrtc), side->date);
}

static void add_pair(cJSON *list, struct gt_csv *csv, const struct gt_pair *pair)
{
    const struct gt_record to = {cJSON_CreateObject(), csv};

    cJSON_AddItemToArray(list, to.json);
    gt_record_add(&to, "problem=%s device=%s l2=%s verdict=%s ratio=%+.4f lo=%+.4f hi=%+.4f",
                  pair->problem, pair->device, gt_timing_name(pair->timing),
                  gt_verdict_name(pair->verdict), pair->ratio, pair->lo, pair->hi);
    for (int i = 0; i < 2; i++) {
        const bool known = pair->side[i].us > 0;
        const struct gt_record side = {
            known ? cJSON_AddObjectToObject(to.json, i ? "b" : "a") : NULL, csv};

        add_side(&side, &pair->side[i]);
    }
    gt_csv_end(csv);
}

cJSON *gt_compare_json(const struct gt_pairs *pairs, const char *const names[2], struct gt_csv *csv)
{
    cJSON *json = cJSON_CreateObject(), *list, *counts;

    gt_json_add(json, "format=%s a=%s b=%s noise=%g geometric_mean=%+g", "gemmtune compare 1",
                names[0], names[1], pairs->noise, pairs->geometric_mean);
    counts = cJSON_AddObjectToObject(json, "verdicts");
    for (int i = 0; i < GT_VERDICTS; i++)
        cJSON_AddNumberToObject(counts, gt_verdict_name((enum gt_verdict)i), (double)pairs->of[i]);
    list = cJSON_AddArrayToObject(json, "pairs");
    for (size_t i = 0; i < pairs->count; i++)
        add_pair(list, csv, &pairs->pair[i]);
    return json;
}

int gt_compare_write(FILE *file, const cJSON *json, struct gt_err *err)
{
    const struct gt_page page = {.title = "gemmtune comparison", .script = {gt_compare_js}};

    return gt_page_write(file, &page, json, err);
}
