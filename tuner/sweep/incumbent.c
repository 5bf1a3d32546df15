/* incumbent.c - what look-up hands out for a problem before the sweep: the incumbent.  Whichever
 * kernel it is, it is the first candidate of a turn, and it takes part in the finals, so that a
 * sweep replaces an answer only by one that was timed in turns with it.  Behind it come the nearest
 * winners, before the strategies choose. */
#include "base/strbuf.h"
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <stdlib.h>
#include <string.h>

int gt_sweep_find_incumbent(const struct gt_race *race, const struct gt_snapshot *before,
                            struct gt_incumbent *incumbent, struct gt_err *err)
{
    struct gt_resolved resolved;
    int rc;

    if (!before->kernels || incumbent->asked)
        return GT_OK;
    rc = gt_snapshot_lookup(before, &race->evaluator->device, race->problem, &resolved, err);
    if (rc)
        return rc;
    *incumbent = (struct gt_incumbent){resolved.kernel, resolved.point, true};
    gt_resolved_release(&resolved);
    return GT_OK;
}

bool gt_sweep_is_incumbent(const struct gt_race *race, const struct gt_kernel *kernel,
                           const struct gt_point *point)
{
    const struct gt_incumbent *incumbent = race->incumbent;

    return race->incumbent_arm && strcmp(kernel->name, incumbent->kernel->name) == 0 &&
           memcmp(point->value, incumbent->point.value, kernel->params * sizeof(point->value[0])) ==
               0;
}

bool gt_sweep_is_guest(const struct gt_race *race, const struct gt_sweep_row *row)
{
    return race->incumbent_arm && race->incumbent_arm->guest &&
           gt_sweep_is_incumbent(race, row->kernel, &row->point);
}

void gt_sweep_part_guest(struct gt_race *race)
{
    struct gt_sweep_result *result = race->result;
    size_t i = 0;

    while (i < result->rows && !gt_sweep_is_guest(race, &result->row[i]))
        i++;
    if (i == result->rows)
        return;
    result->incumbent = result->row[i];
    result->stays = i == 0 || result->row[0].trial.stage < 3;
    memmove(&result->row[i], &result->row[i + 1], (--result->rows - i) * sizeof(*result->row));
    if (result->rows)
        result->row[0].tie = false; /* it may have been one of the incumbent's */
}

void gt_sweep_note_guest(struct gt_race *race, const struct gt_trial *trial)
{
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_strbuf_addf(&sentence, "what look-up hands out, %s ", race->incumbent->kernel->name);
    gt_point_format(&sentence, race->incumbent->kernel, &race->incumbent->point);
    gt_strbuf_addf(&sentence, ", could not be timed here: %s%s%.*s", gt_status_name(trial->status),
                   *trial->detail ? ": " : "", (int)strcspn(trial->detail, "\n"), trial->detail);
    if (!gt_strbuf_check(&sentence, NULL))
        gt_sweep_note(race, sentence.text);
    gt_strbuf_release(&sentence);
}

/* The place of the incumbent's row; result->rows: it has none. */
static size_t find_row(const struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;
    size_t i = 0;

    while (i < result->rows &&
           !gt_sweep_is_incumbent(race, result->row[i].kernel, &result->row[i].point))
        i++;
    return i;
}

size_t gt_sweep_seat_incumbent(struct gt_race *race, size_t rows, size_t most)
{
    struct gt_sweep_row *row = race->result->row, moved;
    size_t at = find_row(race);

    if (at < rows || at == race->result->rows)
        return rows;
    if (rows < most)
        rows++;
    moved = row[at];
    GT_ARRAY_OPEN(row, rows - 1, at);
    row[rows - 1] = moved;
    return rows;
}

/* ---- before the race ---- */

/* Opens an arm with the incumbent as its only point: its kernel does not take part, or the point is
 * not among those that are searched. */
static int open_guest(struct gt_race *race, struct gt_err *err)
{
    const struct gt_kernel *kernel = race->incumbent->kernel;
    struct gt_arm *arm = &race->arm[race->arms];
    uint8_t *index = calloc(kernel->params + 1, 1);
    int rc;

    if (!index)
        return gt_err_nomem(err);
    for (size_t p = 0; p < kernel->params; p++)
        while (kernel->param[p].value[index[p]] != race->incumbent->point.value[p])
            index[p]++;
    rc = gt_space_list(&arm->space, kernel, race->problem, &race->evaluator->device, index, 1, err);
    free(index);
    if (rc)
        return rc;
    race->arms++;
    arm->race = race;
    arm->kernel = kernel;
    arm->guest = true;
    rc = gt_sweep_make_key(race, arm, err);
    GT_STEP(rc, gt_strategy_new(&arm->strategy, "exhaustive", &arm->space, race->seed, NULL, err));
    return rc ? rc : gt_sweep_resume(race, arm, err);
}

/* The searched arm that has the incumbent among its points; NULL: none has. */
static struct gt_arm *arm_of_incumbent(const struct gt_race *race)
{
    for (size_t i = 0; i < race->arms; i++)
        if (strcmp(race->arm[i].kernel->name, race->incumbent->kernel->name) == 0 &&
            gt_space_find(&race->arm[i].space, &race->incumbent->point) != SIZE_MAX)
            return &race->arm[i];
    return NULL;
}

/* Moves the point to the top of the arm's stack of points to be tried again. */
static void move_to_top(struct gt_arm *arm, size_t point)
{
    for (size_t i = 0; i < arm->retries; i++)
        if (arm->retry[i].point == point) {
            struct gt_retry moved = arm->retry[i];

            memmove(&arm->retry[i], &arm->retry[i + 1], (--arm->retries - i) * sizeof(*arm->retry));
            moved.urgent = true;
            arm->retry[arm->retries++] = moved;
            return;
        }
}

/* Makes the incumbent the first point to be tried, unless an earlier run has sampled it.  One
 * without a rank has no time that can be compared: it was given up as slow after its first run. */
static int put_first(struct gt_race *race, struct gt_err *err)
{
    struct gt_arm *arm = race->incumbent_arm;
    const size_t point = race->incumbent_point;
    const float known = arm->strategy->known[point];

    if (known == GT_POINT_FAILED) {
        race->incumbent_arm = NULL; /* it does not work here: there is nothing to beat */
        return GT_OK;
    }
    race->incumbent_due = !(known > 0) || find_row(race) == race->result->rows;
    if (!race->incumbent_due)
        return GT_OK;
    if (known == GT_POINT_ASKED) {
        move_to_top(arm, point); /* an earlier run ended while it was on the device */
        return GT_OK;
    }
    gt_strategy_claim(arm->strategy, point);
    return gt_sweep_retry(
        arm, (struct gt_retry){.point = point, .urgent = true, .remeasure = known > 0}, err);
}

int gt_sweep_open_incumbent(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    if (!race->incumbent->kernel || !race->arms)
        return GT_OK;
    race->incumbent_arm = arm_of_incumbent(race);
    if (!race->incumbent_arm) {
        if (!race->measures) /* a look-up would ask the same model again */
            return GT_OK;
        rc = open_guest(race, err);
        race->incumbent_arm = &race->arm[race->arms - 1];
    }
    if (rc)
        return rc;
    race->incumbent_point = gt_space_find(&race->incumbent_arm->space, &race->incumbent->point);
    return put_first(race, err);
}

/* ---- the nearest winners ---- */

void gt_sweep_add_lead(struct gt_race *race, struct gt_lead lead)
{
    size_t at = race->leads;

    while (at > 0 && lead.distance < race->lead[at - 1].distance)
        at--;
    if (at == GT_SWEEP_LEADS)
        return;
    if (race->leads == GT_SWEEP_LEADS)
        race->leads--;
    GT_ARRAY_OPEN(race->lead, at, race->leads);
    race->lead[at] = lead;
    race->leads++;
}

const struct gt_lead *gt_sweep_next_lead(struct gt_race *race)
{
    for (; race->next_lead < race->leads; race->next_lead++) {
        const struct gt_lead *lead = &race->lead[race->next_lead];

        if (lead->arm->strategy->known[lead->point] == GT_POINT_NEW)
            return lead;
    }
    return NULL;
}
