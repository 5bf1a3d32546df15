/* cmd_energy_measure.c - tune energy: measures what the stored candidates of problems cost, and
 * cuBLASLt's answer, while there is time; see cmd_energy_impl.h. */
#include "measure/cmd_energy_impl.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "sweep/progress.h"

#define READING 3.5 /* times --seconds: what a reading takes at least, with its heating */

static int keep(struct gt_energies *self, const struct gt_problem *problem,
                const struct gt_energy_item *item, const struct gt_energy *energy,
                struct gt_err *err)
{
    struct gt_store *store = self->session->store;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {0};
    int rc = gt_store_device(store, &self->session->evaluator->device, &key.device, err);

    GT_STEP(rc, gt_store_problem(store, problem, &key.problem, err));
    if (item)
        gt_point_format(&point, item->kernel, &item->point);
    GT_STEP(rc, gt_strbuf_check(&point, err));
    GT_STEP(rc, gt_store_put_energy(
                    store,
                    &(struct gt_energy_row){.kernel = item ? item->kernel->name : GT_ENERGY_VENDOR,
                                            .signature = item ? item->kernel->signature : "",
                                            .point = item ? point.text : "",
                                            .energy = *energy},
                    &key, err));
    gt_strbuf_release(&point);
    self->measured += !rc;
    return rc;
}

/* Says why something of the problem was not measured.  That is an error, but others go on. */
static void tell(const struct gt_energies *self, const struct gt_problem *problem, const char *what,
                 const char *why)
{
    char text[GT_PROBLEM_TEXT_MAX], sentence[1024];

    gt_problem_format(problem, text);
    snprintf(sentence, sizeof(sentence), "%s: %s%s%s%s", text, what, *what ? ": " : "", why,
             self->given_up ? "; no more of this problem is measured" : "");
    if (self->session->progress)
        gt_progress_note(self->session->progress, sentence);
    else
        fprintf(self->session->cli->log, "%s\n", sentence);
}

/* What a reading may take: all that the problem has left, but time for one. */
static struct gt_energy_wish wish_of(const struct gt_energies *self)
{
    const struct gt_energy_options *options = self->options;
    const double left_s = self->until_s - gt_clock_s();

    return (struct gt_energy_wish){
        .seconds = options->seconds,
        .error = options->error / 100,
        .most_s = self->until_s > 0 ? fmax(left_s, READING * options->seconds) : 0};
}

/* Measures and keeps one; a candidate that cannot be measured is told of, and no error.  One that
 * stalls has taken its time: the problem is given up. */
static int measure(struct gt_energies *self, const struct gt_problem *problem,
                   const struct gt_energy_item *item, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    const struct gt_energy_wish wish = wish_of(self);
    struct gt_candidate candidate = {.problem = problem, .device = &evaluator->device};
    struct gt_energy energy;
    struct gt_err why = {0};
    char what[160];
    int rc;

    if (*self->session->cli->signals)
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted; what was measured is kept");
    if (item) {
        candidate.kernel = item->kernel;
        candidate.point = item->point;
    }
    snprintf(what, sizeof(what), "energy of %s", item ? item->kernel->name : "cuBLASLt's answer");
    self->session->waits_for = what;
    rc = evaluator->ops->energy(evaluator, item ? &candidate : NULL, &wish, &energy, &why);
    self->session->waits_for = NULL;
    if (!rc)
        return keep(self, problem, item, &energy, err);
    if (rc != GT_ERANGE && rc != GT_ELOST)
        return gt_err_set(err, rc, "%s", why.msg);
    self->given_up = rc == GT_ELOST;
    tell(self, problem, what, why.msg);
    return GT_OK;
}

static int measure_vendor(struct gt_energies *self, const struct gt_problem *problem,
                          struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_baseline baseline;
    struct gt_err why = {0};
    int rc = evaluator->ops->baseline(evaluator, &baseline, &why);

    if (!rc)
        return measure(self, problem, NULL, err);
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        return GT_OK; /* ours alone */
    return gt_err_set(err, rc, "%s", why.msg);
}

/* The fastest, cuBLASLt's answer, and others while there is time for a reading. */
static int measure_all(struct gt_energies *self, const struct gt_problem *problem,
                       struct gt_err *err)
{
    const double reading_s = READING * self->options->seconds;
    const struct gt_energy_items *items = &self->items;
    int rc = GT_OK;

    if (items->count)
        rc = measure(self, problem, &items->item[0], err);
    else
        tell(self, problem, "", "no candidate is stored or shipped for this GPU: tune it first");
    if (!rc && !self->given_up)
        rc = measure_vendor(self, problem, err);
    for (size_t i = 1; i < items->count && !rc && !self->given_up; i++)
        if (!(self->until_s > 0) || gt_clock_s() + reading_s < self->until_s)
            rc = measure(self, problem, &items->item[i], err);
    return rc;
}

static int one_problem(struct gt_energies *self, const struct gt_problem *problem,
                       struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_err why = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc;

    self->given_up = false;
    gt_problem_format(problem, text);
    gt_progress_now(self->session->progress, text);
    rc = gt_energy_items_find(&self->items, self->session, text, self->options->within, err);
    if (rc)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, problem, &why);
    if (rc == GT_ETOOBIG) { /* other problems may fit */
        tell(self, problem, "", why.msg);
        return GT_OK;
    }
    if (rc)
        return gt_err_pass(err, &why, rc);
    rc = measure_all(self, problem, err);
    return rc ? rc : gt_energy_rows_problem(&self->rows, self->session->store, problem, err);
}

int gt_energies_measure(struct gt_energies *self, const struct gt_problem *problem,
                        const double *weight, size_t problems, struct gt_err *err)
{
    double weights = 0;
    int rc = GT_OK;

    if (!self->session->evaluator->ops->energy)
        return gt_err_set(err, GT_ENOGPU, "energy is measured on a GPU; there is none here%s%s",
                          self->session->no_gpu.code ? ": " : "",
                          self->session->no_gpu.code ? self->session->no_gpu.msg : "");
    rc = gt_energy_rows_open(&self->rows, &self->session->evaluator->device, self->options->csv,
                             self->options->costs, err);
    for (size_t i = 0; i < problems; i++)
        weights += weight ? weight[i] : 1;
    for (size_t i = 0; i < problems && !rc; i++) {
        const double now_s = gt_clock_s(), share = weight ? weight[i] : 1;

        if (self->end_s > 0) /* even where nothing is left there is a budget */
            self->until_s =
                now_s + fmax(1e-9, (self->end_s - now_s) * share / fmax(weights, share));
        weights -= share;
        rc = one_problem(self, &problem[i], err);
    }
    return rc;
}
