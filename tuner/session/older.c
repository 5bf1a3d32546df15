/* older.c - counts winners of older texts, and says what to do; see older.h. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "session/older.h"

/* Sorted texts; for today's winners "device\nproblem\ntiming". */
struct places {
    char **text;
    size_t count, capacity;
};

/* The rows of today's and of older texts, read one after the other. */
struct counting {
    struct gt_older *older;
    const struct gt_kernels *kernels;
    const struct gt_row_filter *narrow;
    struct places places, asked; /* asked: the problems, sorted; none: all */
};

/* The provenance is left out if a measured row also stands for a predicted row. */
static char *place_of(const struct gt_row *row, bool predicted)
{
    char *text = NULL;

    if (asprintf(&text, "%s\n%s\n%d%s", row->device, row->problem, row->timing,
                 predicted ? "" : "\nmeasured") < 0)
        return NULL;
    return text;
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static int add(struct places *places, char *text, struct gt_err *err)
{
    int rc = text ? GT_ARRAY_RESERVE(&places->text, places->count + 1, &places->capacity, err)
                  : gt_err_nomem(err);

    if (rc)
        free(text);
    else
        places->text[places->count++] = text;
    return rc;
}

static void sort(struct places *places)
{
    if (places->count)
        qsort(places->text, places->count, sizeof(char *), compare_texts);
}

static bool has(const struct places *places, const char *text)
{
    return places->count &&
           bsearch(&text, places->text, places->count, sizeof(char *), compare_texts);
}

static void release(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->text[i]);
    free(places->text);
}

static int take_today(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct counting *counting = context;
    int rc;

    if (!gt_row_asked(counting->narrow, row->device))
        return GT_OK;
    rc = add(&counting->places, place_of(row, true), err);
    if (!rc && row->provenance == GT_MEASURED)
        rc = add(&counting->places, place_of(row, false), err);
    return rc;
}

/* Adds a kernel's name to the list, once. */
static void name_kernel(struct gt_older *older, const char *name)
{
    const size_t used = strlen(older->kernels), length = strlen(name);
    const char *at = strstr(older->kernels, name);

    if (at && (at[length] == ',' || !at[length]) && (at == older->kernels || at[-1] == ' '))
        return;
    if (used + length + 3 < sizeof(older->kernels))
        snprintf(older->kernels + used, sizeof(older->kernels) - used, "%s%s", used ? ", " : "",
                 name);
}

static int take_older(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct counting *counting = context;
    const bool predicted = row->provenance == GT_PREDICTED;
    struct gt_err ignored;
    char *place;

    if (row->provenance == GT_REPLAYED || !gt_row_asked(counting->narrow, row->device) ||
        (counting->asked.count && !has(&counting->asked, row->problem)) ||
        !gt_kernels_find(counting->kernels, row->kernel, &ignored))
        return GT_OK;
    place = place_of(row, predicted);
    if (!place)
        return gt_err_nomem(err);
    if (!has(&counting->places, place)) {
        counting->older->winners++;
        counting->older->predicted += predicted;
        name_kernel(counting->older, row->kernel);
    }
    free(place);
    return GT_OK;
}

int gt_older_count(struct gt_older *older, struct gt_store *store, const struct gt_kernels *kernels,
                   const struct gt_row_filter *narrow, const struct gt_problem *problem,
                   size_t problems, struct gt_err *err)
{
    struct counting counting = {older, kernels, narrow, {0}, {0}};
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true,
                                   .provenance = narrow->provenance,
                                   .problem = narrow->problem,
                                   .kernel = narrow->kernel,
                                   .cc = narrow->cc,
                                   .others = true,
                                   .kernels = kernels};
    int rc = GT_OK;

    *older = (struct gt_older){0};
    for (size_t i = 0; i < problems && !rc; i++) {
        gt_problem_format(&problem[i], text);
        rc = add(&counting.asked, strdup(text), err);
    }
    sort(&counting.asked);
    GT_STEP(rc, gt_store_rows(store, &filter, take_today, &counting, err));
    sort(&counting.places);
    filter.others = false;
    filter.older = true;
    GT_STEP(rc, gt_store_rows(store, &filter, take_older, &counting, err));
    release(&counting.places);
    release(&counting.asked);
    return rc;
}

void gt_older_tell(FILE *log, const struct gt_older *older, const char *what)
{
    const bool one = older->winners == 1;
    char kernels[sizeof(older->kernels)];

    if (!older->winners)
        return;
    gt_copy_clean(kernels, sizeof(kernels), older->kernels);
    fprintf(log, "%zu winner%s belong%s to an older text of %s kernel (%s) and %s %s; ",
            older->winners, one ? "" : "s", one ? "s" : "", one ? "its" : "their", kernels,
            one ? "is" : "are", what);
    if (older->predicted < older->winners)
        fprintf(log, "`tune recheck --adopt` proves and times %s with today's%s",
                one ? "it" : "them", older->predicted ? ", and " : "\n");
    if (older->predicted)
        fprintf(log, "a sweep of the same problem%s predicts %s anew\n", one ? "" : "s",
                older->predicted < older->winners ? "the predicted ones"
                : one                             ? "it"
                                                  : "them");
}

void gt_older_tell_session(const struct gt_session *session, const struct gt_problem *problem,
                           size_t problems)
{
    const struct gt_row_filter filter = {.cc = session->evaluator->device.cc,
                                         .provenance = session->measures ? 1u << GT_MEASURED : 0};
    struct gt_older older = {0};

    if (!session->cli->quiet && !session->replays &&
        !gt_older_count(&older, session->store, &session->kernels, &filter, problem, problems,
                        NULL))
        gt_older_tell(session->cli->log, &older, GT_OLDER_OF_SWEEP);
}
