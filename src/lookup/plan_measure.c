/* plan_measure.c - GT_PLAN_MEASURE: chooses for an untuned problem by timing the first candidates
 * once.  See plan_impl.h.
 *
 * The model of a look-up cannot rank candidates within some per cent of each other; times can.  All
 * of it happens in a thread of its own, so that the caller's thread keeps its context and its
 * stream capture.  Winners are remembered as long as the struct gt is open. */
#include "lookup/plan_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

#include <stdlib.h>
#include <string.h>

#define COMPILE_S 10.0 /* seconds after which no further candidate is compiled */
#define WORTH     0.99 /* another candidate must take at most this share of the answer's time */

/* A problem whose candidates were timed. */
struct gt_timed_problem {
    struct gt_lookup_key key;
    struct gt_choice winner; /* us: as timed */
    int timed;               /* candidates */
};

struct measuring {
    struct gt *gt;
    int ordinal;
    const struct gt_resolved *resolved; /* the answer without measuring */
    struct gt_choice choice[GT_PLAN_TIMED];
    struct gt_resolved candidate[GT_PLAN_TIMED]; /* choices with their geometries */
    struct gt_binary binary[GT_PLAN_TIMED];
    struct gt_contestant contestant[GT_PLAN_TIMED];
    size_t count;
    int rc;
};

static bool same_point(const struct gt_choice *choice, const struct gt_resolved *resolved)
{
    return choice->kernel == resolved->kernel &&
           memcmp(choice->point.value, resolved->point.value,
                  resolved->kernel->params * sizeof(resolved->point.value[0])) == 0;
}

/* Lists the answer, then the other candidates of the ranking. */
static int list(struct measuring *m)
{
    const struct gt_resolved *resolved = m->resolved;
    struct gt_choices choices;
    int rc = gt_lookup_alternatives(&m->gt->sources, resolved, &choices, NULL);

    if (rc || !choices.count)
        return rc ? rc : GT_ENOTFOUND;
    m->choice[0] = (struct gt_choice){.kernel = resolved->kernel, .point = resolved->point};
    m->count = 1;
    for (size_t i = 0; i < choices.count && m->count < GT_PLAN_TIMED; i++)
        if (!same_point(&choices.choice[i], resolved))
            m->choice[m->count++] = choices.choice[i];
    return GT_OK;
}

/* Compiles while there is time; a candidate that does not compile leaves the race. */
static int compile_all(struct measuring *m)
{
    const double begin_s = gt_clock_s();
    int rc = GT_OK;

    for (size_t i = 0; i < m->count && !rc; i++) {
        struct gt_resolved *candidate = &m->candidate[i];

        *candidate = *m->resolved;
        candidate->kernel = m->choice[i].kernel;
        candidate->point = m->choice[i].point;
        rc = gt_candidate_geometry(&(struct gt_candidate){candidate->kernel, &candidate->problem,
                                                          &candidate->device, candidate->point},
                                   &candidate->geometry, NULL);
        m->contestant[i] = (struct gt_contestant){&candidate->geometry, &m->binary[i], 0};
        if (!rc && (!i || gt_clock_s() - begin_s < COMPILE_S))
            gt_plan_binary(gt_lookup_options(m->gt), candidate, NULL, &m->binary[i], NULL, NULL);
    }
    return rc;
}

static void *measure(void *context)
{
    struct measuring *m = context;

    m->rc = list(m);
    if (!m->rc && m->count > 1)
        m->rc = compile_all(m);
    if (!m->rc && m->count > 1)
        m->rc = gt_plan_time(m->ordinal, &m->resolved->problem, m->contestant, m->count, NULL);
    return NULL;
}

/* The fastest contestant, or the answer, which is contestant 0, unless another is clearly faster.
 */
static size_t winner_of(const struct measuring *m, int *timed)
{
    const struct gt_contestant *contestant = m->contestant;
    size_t best = 0;

    *timed = 0;
    for (size_t i = 0; i < m->count; i++) {
        *timed += contestant[i].us > 0;
        if (contestant[i].us > 0 && (!(contestant[best].us > 0) ||
                                     contestant[i].us < contestant[best].us * (best ? 1 : WORTH)))
            best = i;
    }
    return best;
}

static const struct gt_timed_problem *find(const struct gt_timed *timed,
                                           const struct gt_lookup_key *key)
{
    for (size_t i = 0; i < timed->count; i++)
        if (memcmp(&timed->item[i].key, key, sizeof(*key)) == 0)
            return &timed->item[i];
    return NULL;
}

/* Remembers the winner; without memory it is not kept, and the problem is timed again next time. */
static void remember(struct gt_timed *timed, const struct gt_timed_problem *problem)
{
    if (timed->count == GT_TIMED_KEPT) {
        timed->item[timed->next++ % GT_TIMED_KEPT] = *problem;
        return;
    }
    if (GT_ARRAY_RESERVE(&timed->item, timed->count + 1, &timed->capacity, NULL) == GT_OK)
        timed->item[timed->count++] = *problem;
}

/* Puts the winner in the answer's place; false if memory ran out, which leaves the answer
 * unchanged. */
static bool take(const struct gt_timed_problem *problem, struct gt_resolved *resolved)
{
    if (!same_point(&problem->winner, resolved) &&
        gt_lookup_take_choice(&problem->winner, resolved, NULL))
        return false;
    resolved->answer.expected_us = problem->winner.us;
    resolved->answer.measured = problem->timed;
    return true;
}

/* Times the candidates; the winner's binary is handed over. */
static void measure_now(struct gt *gt, int ordinal, const struct gt_lookup_key *key,
                        struct gt_resolved *resolved, struct gt_binary *binary)
{
    struct measuring *m = calloc(1, sizeof(*m));
    struct gt_timed_problem problem = {.key = *key};
    pthread_t thread;
    size_t winner;

    if (!m)
        return;
    m->gt = gt;
    m->ordinal = ordinal;
    m->resolved = resolved;
    if (pthread_create(&thread, NULL, measure, m) == 0) {
        pthread_join(thread, NULL);
        winner = winner_of(m, &problem.timed);
        if (!m->rc && problem.timed > 1) {
            problem.winner = m->choice[winner];
            problem.winner.us = m->contestant[winner].us;
            remember(&gt->timed, &problem);
            if (take(&problem, resolved)) {
                *binary = m->binary[winner];
                m->binary[winner] = (struct gt_binary){0};
            }
        }
    }
    for (size_t i = 0; i < m->count; i++)
        gt_binary_release(&m->binary[i]);
    free(m);
}

void gt_plan_measure(struct gt *gt, int ordinal, struct gt_resolved *resolved,
                     struct gt_binary *binary)
{
    const struct gt_problem *p = &resolved->problem;
    const struct gt_timed_problem *known;
    struct gt_lookup_key key;

    if (resolved->answer.tier != GT_TIER_NEAR || p->k == 0 || gt_problem_results(p) == 0)
        return;
    memset(&key, 0, sizeof(key));
    gt_lookup_device_key(&key, &resolved->device, p);
    pthread_mutex_lock(&gt->timed.lock);
    known = find(&gt->timed, &key);
    if (known)
        take(known, resolved);
    else
        measure_now(gt, ordinal, &key, resolved, binary);
    pthread_mutex_unlock(&gt->timed.lock);
}
