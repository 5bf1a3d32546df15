/* lookup_explain.c - names a row of the very problem that was not taken, and the reason, because
 * whoever tuned the problem expects that row.  Part of the look-up: see lookup_impl.h. */
#include "lookup/lookup_impl.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/trial.h"

#include <inttypes.h>
#include <string.h>

/* Whether the row is a better one to name than `best`: measured before predicted, cold before warm,
 * then the faster one. */
static bool says_more(const struct gt_table_row *row, const struct gt_table_row *best)
{
    if (!best)
        return true;
    if (row->predicted != best->predicted)
        return best->predicted;
    if (row->timing != best->timing)
        return row->timing < best->timing;
    return row->us < best->us;
}

/* Whether the row is the one that was taken; the same winner may be in two tables. */
static bool is_taken(const struct gt_table_row *row, const struct gt_table_row *taken)
{
    return taken && row->predicted == taken->predicted && row->timing == taken->timing &&
           row->us == taken->us && strcmp(row->device, taken->device) == 0 &&
           strcmp(row->text, taken->text) == 0 && strcmp(row->kernel, taken->kernel) == 0 &&
           strcmp(row->point, taken->point) == 0;
}

/* Whether the row was compared with the answer without it and not taken (weigh() in
 * lookup_tiers.c). */
static bool was_outweighed(const struct gt_table_row *row, const struct gt_table_row *taken,
                           const struct gt_resolved *resolved)
{
    return (row->predicted || !row->contested) &&
           (resolved->answer.tier != GT_TIER_EXACT || (taken && taken->contested));
}

/* Adds the reason why such a row is not the answer. */
static void add_doubt(struct gt_strbuf *text, const struct gt_table_row *row,
                      const struct gt_resolved *resolved)
{
    const struct gt_answer *answer = &resolved->answer;

    if (row->predicted) {
        gt_strbuf_addf(text, "the model expects %.2f us of this one", answer->expected_us);
        return;
    }
    if (row->trials > 0)
        gt_strbuf_addf(text, "the best of %" PRId64 " trial%s, ", row->trials,
                       row->trials == 1 ? "" : "s");
    gt_strbuf_add(text, "it was never timed in turns with another answer");
    if (answer->tier == GT_TIER_EXACT)
        gt_strbuf_add(text, ", and the row taken won a final");
    else if (answer->expected_us > 0)
        gt_strbuf_addf(text, ", and the model expects %.2f us of this one%s%s", answer->expected_us,
                       answer->tuned_for ? ", made from the winner of " : "",
                       answer->tuned_for ? answer->tuned_for : "");
}

/* Whether the row was measured on another device than is asked about, or than the row taken. */
static bool is_elsewhere(const struct gt_search *search, const struct gt_table_row *row)
{
    if (row->predicted)
        return false;
    if (search->device_name || row->limited)
        return !gt_lookup_same_device(search, row);
    return search->row && strcmp(row->device, search->row->device) != 0;
}

/* The reason why the row is not the answer; NULL if it was outweighed. */
static const char *reason(const struct gt_search *search, const struct gt_table_row *row)
{
    const struct gt_resolved *resolved = search->resolved;
    const struct gt_table_row *taken = search->row;
    const struct gt_kernel *kernel = gt_lookup_kernel(&search->sources->kernels, row->kernel);

    if (!kernel)
        return "its kernel is not loaded";
    if (strcmp(kernel->signature, row->signature) != 0)
        return "its kernel has changed since";
    if (!row->predicted && row->limited)
        return "it was measured at another power limit";
    if (search->device_name && is_elsewhere(search, row))
        return gt_device_same(row->device, search->device_name)
                   ? "it was measured with another number of multiprocessors"
                   : "it was measured on another device";
    if (row->predicted && taken && !taken->predicted && resolved->answer.tier != GT_TIER_FAMILY)
        return "a measured row comes first";
    if (!gt_lookup_same_device(search, row))
        return "it was predicted for another device";
    if (was_outweighed(row, taken, resolved))
        return NULL;
    if (resolved->answer.tier != GT_TIER_EXACT)
        return row->timing == GT_TIMING_GRAPH ? "its point is for chains of launches alone"
                                              : "its point is not valid on this device";
    if (row->timing)
        return "it was timed with operands left in L2 (warm), or in chains";
    if (row->predicted)
        return "another prediction comes first";
    return taken && row->us < taken->us ? "own times come first" : "the row taken is faster";
}

/* Mentions a ranking that could not be read, in answers that it might have improved: not in those
 * that the ranking of the very device has chosen. */
static int explain_damage(const struct gt_search *search, struct gt_err *err)
{
    struct gt_answer *answer = &search->resolved->answer;
    const char *damage = search->sources->rankings.damage, *chosen_by = answer->ranking;

    if (!damage || answer->tier == GT_TIER_EXACT ||
        (chosen_by && search->device_name && gt_device_same(chosen_by, search->device_name)))
        return GT_OK;
    answer->passed_over = strdup(damage);
    return answer->passed_over ? GT_OK : gt_err_nomem(err);
}

/* As says_more; nobody expects a row of another device, which comes last. */
static bool is_told(const struct gt_search *search, const struct gt_table_row *row,
                    const struct gt_table_row *best)
{
    const bool elsewhere = is_elsewhere(search, row);

    if (best && elsewhere != is_elsewhere(search, best))
        return !elsewhere;
    return says_more(row, best);
}

int gt_lookup_explain(const struct gt_search *search, struct gt_err *err)
{
    const struct gt_sources *sources = search->sources;
    const struct gt_table *table = &sources->table;
    const struct gt_table_row *best = NULL;
    struct gt_resolved *resolved = search->resolved;
    struct gt_strbuf text = GT_STRBUF_INIT;
    const bool exact = resolved->answer.tier == GT_TIER_EXACT && !resolved->answer.predicted;
    const char *why;

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++)
        if (row->cc == resolved->device.cc && row != search->row && is_told(search, row, best) &&
            !(exact && is_elsewhere(search, row)) &&
            gt_lookup_same_problem(&resolved->problem, row) && !is_taken(row, search->row))
            best = row;
    if (!best)
        return explain_damage(search, err);
    why = reason(search, best);
    gt_strbuf_addf(&text, "kernel %s, %.2f us %s on %s (%s): %s", best->kernel, best->us,
                   best->predicted ? "predicted" : "measured", best->device,
                   best < table->row + sources->user_rows ? "own table" : "system's table",
                   why ? why : "");
    if (!why)
        add_doubt(&text, best, resolved);
    resolved->answer.passed_over = gt_strbuf_detach(&text);
    return resolved->answer.passed_over ? GT_OK : gt_err_nomem(err);
}
