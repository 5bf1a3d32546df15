/* cmd_energy.c - tune energy: the energy of the fastest stored candidates of each problem and of
 * cuBLASLt's answer, and which of these is best by time, energy or their product.  The command
 * finds the candidates, measures them, and shows the known energies, the energy of the fastest
 * candidate and the energy that a slower candidate saves. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"
#include "db/store.h"
#include "kernel/kernel.h"
#include "measure/cmd_energy.h"
#include "problem/problem.h"
#include "session/cmd_session.h"
#include "session/model_error.h"
#include "sweep/progress.h"

#define ITEMS_MAX 64 /* most candidates of a problem that are measured */

struct item {
    const struct gt_kernel *kernel; /* a kernel of the session */
    struct gt_point point;
    double us;
};

/* The energy of a candidate, or of cuBLASLt's answer. */
struct cost {
    struct gt_energy energy; /* us 0: there is none */
    struct gt_strbuf kernel, point;
};
enum { FAST, SAVING, VENDOR, COSTS };

struct energy_options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *objective, *csv, *costs, *budget;
    int64_t entries;
    double seconds, error, within, slower;
    bool stored;
};

struct energies {
    struct gt_session *session;
    const struct energy_options *options;
    const struct gt_energy_report *report; /* where it is printed */
    enum gt_objective objective;
    double end_s; /* on the clock; 0: there is no budget */
    size_t measured;
    const struct gt_device *device;
    struct gt_device stored;       /* --stored shows energies of this device */
    struct gt_records rows, costs; /* the lists are those of report->json */
    size_t found;                  /* rows of all problems */
    /* of the present problem */
    char problem[GT_PROBLEM_TEXT_MAX];
    struct item item[ITEMS_MAX]; /* sorted by their times */
    size_t items;
    double until_s; /* on the clock; 0: there is no budget */
    bool given_up;
    struct gt_energy best[GT_OBJECTIVES]; /* us 0: there is none */
    struct cost cost[COSTS];
    int entries; /* candidates of this project that were measured */
};

/* ---- the candidates ---- */

/* Whether there is room for an item of this time.  If the same candidate was also timed on another
 * device of the same name, or with another driver, its item makes room if its time there was
 * longer. */
static bool make_room(struct energies *self, const struct item *item)
{
    for (size_t i = 0; i < self->items; i++) {
        struct item *same = &self->item[i];

        if (same->kernel != item->kernel ||
            !gt_point_same(item->kernel, &same->point, &item->point))
            continue;
        if (same->us <= item->us)
            return false;
        self->items--;
        memmove(same, same + 1, (self->items - i) * sizeof(*same));
        return true;
    }
    if (self->items < (size_t)self->options->entries)
        return true;
    if (self->item[self->items - 1].us <= item->us)
        return false;
    self->items--;
    return true;
}

/* Adds a candidate that was measured on this device, if its kernel still has the same text and the
 * candidate is one of the fastest. */
static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct energies *self = context;
    struct item item = {gt_kernels_find(&self->session->kernels, row->kernel, NULL), .us = row->us};
    size_t at;
    int rc;

    if (row->status != GT_STATUS_OK || row->timing != GT_TIMING_COLD ||
        strcmp(row->device, self->device->name) != 0 || !item.kernel ||
        strcmp(item.kernel->signature, row->signature) != 0 || !(item.us > 0))
        return GT_OK;
    rc = gt_point_parse(&item.point, item.kernel, row->point, err);
    if (rc || !make_room(self, &item))
        return rc;
    for (at = self->items++; at && self->item[at - 1].us > item.us; at--)
        self->item[at] = self->item[at - 1];
    self->item[at] = item;
    return GT_OK;
}

/* Finds the fastest candidates that were measured on the session's device (cold L2) with today's
 * kernels, in the database and in the shipped tables.  Candidates slower than the fastest by more
 * than --within per cent are left out. */
static int find_items(struct energies *self, struct gt_err *err)
{
    const struct gt_row_filter filter = {
        .problem = self->problem, .cc = self->device->cc, .provenance = 1u << GT_MEASURED};
    const struct gt_table *table = &self->session->shipped;
    int rc;

    self->items = 0;
    for (size_t i = 0; i < table->rows; i++) { /* a damaged row of the table is skipped */
        const struct gt_row row = gt_table_line(&table->row[i]);

        if (row.cc == filter.cc && row.provenance == GT_MEASURED &&
            strcmp(row.problem, self->problem) == 0)
            take_row(self, &row, NULL);
    }
    rc = gt_store_rows(self->session->store, &filter, take_row, self, err);
    while (self->items > 1 &&
           self->item[self->items - 1].us > (1 + self->options->within / 100) * self->item[0].us)
        self->items--;
    return rc;
}

/* ---- the energy of the fastest candidate, and the saving of a slower one ---- */

static int keep(struct cost *cost, const struct gt_energy_row *row, struct gt_err *err)
{
    int rc;

    cost->energy = row->energy;
    gt_strbuf_reset(&cost->kernel);
    gt_strbuf_reset(&cost->point);
    gt_strbuf_add(&cost->kernel, row->kernel);
    gt_strbuf_add(&cost->point, row->point);
    rc = gt_strbuf_check(&cost->kernel, err);
    return rc ? rc : gt_strbuf_check(&cost->point, err);
}

/* Takes the rows of a problem, the fastest first.  The row that saves is a candidate of this
 * project.  It is slower than the project's fastest candidate by at most --slower per cent, takes
 * less energy whatever the errors are, and takes the least energy of all such candidates. */
static int take_cost(struct energies *self, const struct gt_energy_row *row, struct gt_err *err)
{
    struct cost *cost = self->cost;
    const struct gt_energy *fast = &cost[FAST].energy, *saving = &cost[SAVING].energy;
    int rc = GT_OK;

    if (strcmp(row->kernel, GT_ENERGY_VENDOR) == 0)
        return cost[VENDOR].energy.us > 0 ? GT_OK : keep(&cost[VENDOR], row, err);
    self->entries++;
    if (!(fast->us > 0))
        rc = keep(&cost[FAST], row, err);
    if (!rc && row->energy.us <= (1 + self->options->slower / 100) * fast->us &&
        gt_energy_less(&row->energy, fast) &&
        (!(saving->us > 0) || row->energy.joules < saving->joules))
        rc = keep(&cost[SAVING], row, err);
    return rc;
}

static double percent(double value, double of)
{
    return 100 * (value / of - 1);
}

static const char *method_of(const struct gt_energy *energy)
{
    return energy->counted ? "counter" : "power";
}

static void print_costs(const struct energies *self, FILE *out)
{
    const struct gt_energy *fast = &self->cost[FAST].energy, *saving = &self->cost[SAVING].energy;
    const struct gt_energy *vendor = &self->cost[VENDOR].energy;

    if (!(fast->us > 0))
        return;
    fprintf(out, "  ours: %.3f mJ at %.0f W", 1e3 * fast->joules, fast->watts);
    if (vendor->us > 0)
        fprintf(out, ", %+.1f %% time and %+.1f %% energy%s against cuBLASLt",
                percent(fast->us, vendor->us), percent(fast->joules, vendor->joules),
                gt_energy_less(fast, vendor) || gt_energy_less(vendor, fast)
                    ? ""
                    : " (within the errors)");
    fprintf(out, "; within %g %% of the time: ", self->options->slower);
    if (saving->us > 0)
        fprintf(out, "%+.1f %% energy for %+.1f %% time\n", percent(saving->joules, fast->joules),
                percent(saving->us, fast->us));
    else
        fputs("no saving beyond the errors\n", out);
}

/* The time or energy of the row that saves relative to the fastest, in per cent; NAN: the errors
 * are as large as the saving, or nothing was measured. */
static double saved(const struct energies *self, double value, double of)
{
    return gt_if(self->cost[SAVING].energy.us > 0, percent(value, of));
}

/* Adds the row of a problem.  Figures that were not measured are not known. */
static void write_costs(const struct energies *self, const struct gt_problem *problem)
{
    const struct cost *fast = &self->cost[FAST], *saving = &self->cost[SAVING];
    const struct gt_energy *f = &fast->energy, *s = &saving->energy;
    const struct gt_energy *v = &self->cost[VENDOR].energy;
    const double flops = 1e-6 * gt_problem_flops(problem);
    const bool known = f->us > 0, saves = s->us > 0;

    gt_records_add(&self->costs,
                   "device=%s problem=%s entries=%d us=%+.3f tflops=%.2f joules=%+.8f error=%+.4f "
                   "watts=%+.1f clock_mhz=%+.0f method=%s kernel=%s point=%s saving_us=%+.3f "
                   "saving_joules=%+.8f saving_error=%+.4f saving_watts=%+.1f "
                   "saving_clock_mhz=%+.0f saving_kernel=%s saving_point=%s time=%.2f energy=%.2f "
                   "cublas_us=%+.3f cublas_tflops=%.2f cublas_joules=%+.8f cublas_error=%+.4f "
                   "cublas_watts=%+.1f cublas_clock_mhz=%+.0f",
                   self->device->name, self->problem, self->entries, f->us,
                   gt_if(known, flops / f->us), f->joules, f->error, f->watts, f->clock_mhz,
                   known ? method_of(f) : NULL, known ? fast->kernel.text : NULL,
                   known ? fast->point.text : NULL, s->us, s->joules, s->error, s->watts,
                   s->clock_mhz, saves ? saving->kernel.text : NULL,
                   saves ? saving->point.text : NULL, saved(self, s->us, f->us),
                   saved(self, s->joules, f->joules), v->us, gt_if(v->us > 0, flops / v->us),
                   v->joules, v->error, v->watts, v->clock_mhz);
}

/* ---- the known energies, for people and as tables ---- */

/* The device must outlive the report. */
static int open_report(struct energies *self, const struct gt_device *device, struct gt_err *err)
{
    const struct gt_energy_report *report = self->report;
    int rc = GT_OK;

    self->device = device;
    if (report->json) {
        self->rows.list = cJSON_AddArrayToObject(report->json, "energies");
        self->costs.list = cJSON_AddArrayToObject(report->json, report->costs_key);
        if (!self->costs.list)
            return gt_err_nomem(err);
    }
    if (report->out) {
        gt_columns_put(report->out, device->name);
        fprintf(report->out,
                " (sm_%d): energy of a product, whole GPU; *: best by %s, =: not told apart\n",
                device->cc, gt_objective_name(self->objective));
    }
    if (self->options->csv)
        rc = gt_csv_new(&self->rows.csv, self->options->csv,
                        "device,problem,kernel,point,us,joules,error,watts,clock_mhz,method,best",
                        err);
    if (!rc && self->options->costs)
        rc = gt_csv_new(
            &self->costs.csv, self->options->costs,
            "device,problem,entries,us,tflops,joules,error,watts,clock_mhz,method,kernel,point,"
            "saving_us,saving_joules,saving_error,saving_watts,saving_clock_mhz,saving_kernel,"
            "saving_point,time,energy,cublas_us,cublas_tflops,cublas_joules,cublas_error,"
            "cublas_watts,cublas_clock_mhz",
            err);
    return rc;
}

static void print_row(const struct energies *self, const struct gt_energy_row *row,
                      const char *best)
{
    const struct gt_energy *e = &row->energy;
    const char mark = row->rank.best[self->objective]  ? '*'
                      : row->rank.tie[self->objective] ? '='
                                                       : ' ';

    fprintf(self->report->out, "%c %10.2f us %10.3f mJ +-%4.1f %% %7.1f W %6.0f MHz  %-17s %s %s\n",
            mark, e->us, 1e3 * e->joules, 100 * e->error, e->watts, e->clock_mhz, best, row->kernel,
            row->point);
}

static int take_energy(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct energies *self = context;
    const struct gt_energy *e = &row->energy;
    char best[GT_ENERGY_BEST_MAX];

    self->found++;
    gt_energy_best(&row->rank, true, best);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->rank.best[i])
            self->best[i] = *e;
    if (self->report->out)
        print_row(self, row, best);
    gt_records_add(&self->rows,
                   "device=%s problem=%s kernel=%s point=%s us=%.3f joules=%.8f error=%.4f "
                   "watts=%.1f clock_mhz=%+.0f method=%s best=%s",
                   self->device->name, self->problem, row->kernel, row->point, e->us, e->joules,
                   e->error, e->watts, e->clock_mhz, method_of(e), best);
    return take_cost(self, row, err);
}

/* The best candidate by the objective, compared with the fastest, in a line. */
static void print_chosen(const struct energies *self, FILE *out, const char *of, const char *colon)
{
    const struct gt_energy *fast = &self->best[GT_BY_TIME];
    const struct gt_energy *chosen = &self->best[self->objective];

    fprintf(out, "%s%s best by %s: %+.1f %% time, %+.1f %% energy against the fastest\n", of, colon,
            gt_objective_name(self->objective), percent(chosen->us, fast->us),
            percent(chosen->joules, fast->joules));
}

static void show_problem(struct energies *self, const struct gt_problem *problem, bool found)
{
    FILE *out = self->report->out, *brief = self->report->brief;

    if (out && !found)
        fputs("  not measured\n", out);
    if (out && self->objective != GT_BY_TIME && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, out, " ", "");
    if (brief && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, brief, self->problem, ":");
    if (out)
        print_costs(self, out);
    write_costs(self, problem);
}

/* All known energies of a problem's candidates, and the saving of a slower candidate. */
static int report_problem(struct energies *self, struct gt_store *store,
                          const struct gt_problem *problem, struct gt_err *err)
{
    const struct gt_energy_filter asked = {.rows.problem = self->problem, .device = self->device};
    const size_t before = self->found;
    int rc;

    gt_problem_format(problem, self->problem);
    self->entries = 0;
    for (int i = 0; i < COSTS; i++)
        self->cost[i] = (struct cost){.kernel = GT_STRBUF_INIT, .point = GT_STRBUF_INIT};
    if (self->report->out)
        fprintf(self->report->out, "%s\n", self->problem);
    memset(self->best, 0, sizeof(self->best));
    rc = gt_store_energies(store, &asked, take_energy, self, err);
    if (!rc)
        show_problem(self, problem, self->found > before);
    for (int i = 0; i < COSTS; i++) {
        gt_strbuf_release(&self->cost[i].kernel);
        gt_strbuf_release(&self->cost[i].point);
    }
    return rc;
}

static int close_report(struct energies *self, struct gt_err *err)
{
    const int closed = gt_csv_close(self->rows.csv, err);
    const int costs = gt_csv_close(self->costs.csv, closed ? NULL : err);

    return closed ? closed : costs;
}

/* ---- whose energies --stored shows ---- */

/* Which stored energies are asked for, and the newest of these. */
struct latest {
    struct gt_energy_filter asked; /* its device by --device: a whole name */
    struct gt_row_filter rows;     /* of --arch */
    struct gt_device *device;
    char date[32], other[96]; /* other: a device that is not asked for */
    int other_cc;
};

static int take_latest(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct latest *self = context;

    (void)err;
    if (!gt_energy_asked(&self->asked, row) || !gt_row_asked(&self->rows, row->device)) {
        snprintf(self->other, sizeof(self->other), "%s", row->device);
        self->other_cc = row->cc;
        return GT_OK;
    }
    if (strcmp(row->date, self->date) <= 0)
        return GT_OK;
    snprintf(self->date, sizeof(self->date), "%s", row->date);
    snprintf(self->device->name, sizeof(self->device->name), "%s", row->device);
    snprintf(self->device->uuid, sizeof(self->device->uuid), "%s", row->uuid);
    self->device->driver = row->driver;
    self->device->cc = row->cc;
    return GT_OK;
}

/* Says that there are no energies as asked for, and which device has energies. */
static int none_stored(const struct latest *asked, struct gt_err *err)
{
    const char *device = asked->asked.rows.device, *operands = asked->asked.operands;
    char arch[64] = "";

    if (asked->rows.device)
        snprintf(arch, sizeof(arch), " --arch %.40s", asked->rows.device);
    else if (asked->rows.cc)
        snprintf(arch, sizeof(arch), " --arch sm_%d", asked->rows.cc);
    return gt_err_set(err, GT_EXIT_NOTHING,
                      "no energy is stored of%s%s%s --dist %s; there are energies of %s (sm_%d)",
                      arch, device ? " --device " : "", device ? device : "",
                      *operands ? operands : "normal", asked->other, asked->other_cc);
}

/* The device on which the newest of these energies was measured: name, uuid, driver and cc.
 * GT_EXIT_NOTHING: there are no such energies; the sentence names a device that has energies. */
static int find_latest(struct gt_store *store, struct latest *latest, struct gt_err *err)
{
    const struct gt_energy_filter all = {.device = NULL};
    int rc = gt_store_energies(store, &all, take_latest, latest, err);

    if (!rc && !*latest->date && *latest->other)
        return none_stored(latest, err);
    if (!rc && !*latest->date)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          "no energy is stored: `tune energy` without --stored measures on a GPU");
    return rc;
}

/* ---- measuring ---- */

#define READING 3.5 /* times --seconds: the least time of a reading, with its heating */

static int store_energy(struct energies *self, const struct gt_problem *problem,
                        const struct item *item, const struct gt_energy *energy, struct gt_err *err)
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

static void say(const struct gt_session *session, const char *sentence)
{
    if (session->progress)
        gt_progress_note(session->progress, sentence);
    else
        fprintf(session->cli->log, "%s\n", sentence);
}

/* Says why something of the problem was not measured.  This is an error, but other measurements go
 * on. */
static void tell(const struct energies *self, const char *what, const char *why)
{
    char sentence[1024];

    snprintf(sentence, sizeof(sentence), "%s: %s%s%s%s", self->problem, what, *what ? ": " : "",
             why, self->given_up ? "; no more of this problem is measured" : "");
    say(self->session, sentence);
}

/* The time that a reading may take: all that the problem has left, but at least the time of one
 * reading. */
static struct gt_energy_wish wish_of(const struct energies *self)
{
    const struct energy_options *options = self->options;
    const double left_s = self->until_s - gt_clock_s();

    return (struct gt_energy_wish){
        .seconds = options->seconds,
        .error = options->error / 100,
        .most_s = self->until_s > 0 ? fmax(left_s, READING * options->seconds) : 0};
}

/* Measures one candidate and keeps its energy.  A candidate that cannot be measured is no error; a
 * remark says so.  After a candidate that stalls there is no time left, and the problem is given
 * up. */
static int measure(struct energies *self, const struct gt_problem *problem, const struct item *item,
                   struct gt_err *err)
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
        return store_energy(self, problem, item, &energy, err);
    if (rc != GT_ERANGE && rc != GT_ELOST)
        return gt_err_set(err, rc, "%s", why.msg);
    self->given_up = rc == GT_ELOST;
    tell(self, what, why.msg);
    return GT_OK;
}

static int measure_vendor(struct energies *self, const struct gt_problem *problem,
                          struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_baseline baseline;
    struct gt_err why = {0};
    int rc = evaluator->ops->baseline(evaluator, &baseline, &why);

    if (!rc)
        return measure(self, problem, NULL, err);
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        return GT_OK; /* only candidates of this project are measured */
    return gt_err_set(err, rc, "%s", why.msg);
}

/* Measures the fastest candidate, cuBLASLt's answer, and other candidates while there is time for a
 * reading. */
static int measure_all(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    const double reading_s = READING * self->options->seconds;
    int rc = GT_OK;

    if (self->items)
        rc = measure(self, problem, &self->item[0], err);
    else
        tell(self, "", "no candidate is stored or shipped for this GPU: tune it first");
    if (!rc && !self->given_up)
        rc = measure_vendor(self, problem, err);
    for (size_t i = 1; i < self->items && !rc && !self->given_up; i++)
        if (!(self->until_s > 0) || gt_clock_s() + reading_s < self->until_s)
            rc = measure(self, problem, &self->item[i], err);
    return rc;
}

static int one_problem(struct energies *self, const struct gt_problem *problem, struct gt_err *err)
{
    struct gt_evaluator *evaluator = self->session->evaluator;
    struct gt_err why = {0};
    int rc;

    self->given_up = false;
    gt_problem_format(problem, self->problem);
    gt_progress_now(self->session->progress, self->problem);
    rc = find_items(self, err);
    if (rc)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, problem, &why);
    if (rc == GT_ETOOBIG) { /* other problems may fit */
        tell(self, "", why.msg);
        return GT_OK;
    }
    if (rc)
        return gt_err_pass(err, &why, rc);
    rc = measure_all(self, problem, err);
    return rc ? rc : report_problem(self, self->session->store, problem, err);
}

/* Measures the energies of the problems' candidates, keeps them in the database and shows them.
 * Problems have shares of a budget by their weights; time that a problem does not need goes to the
 * next problems. */
static int measure_problems(struct energies *self, const struct gt_problem *problem,
                            const double *weight, size_t problems, struct gt_err *err)
{
    double weights = 0;
    int rc = GT_OK;

    if (!self->session->evaluator->ops->energy)
        return gt_err_set(err, GT_ENOGPU, "energy is measured on a GPU; there is none here%s%s",
                          self->session->no_gpu.code ? ": " : "",
                          self->session->no_gpu.code ? self->session->no_gpu.msg : "");
    rc = open_report(self, &self->session->evaluator->device, err);
    for (size_t i = 0; i < problems; i++)
        weights += weight ? weight[i] : 1;
    for (size_t i = 0; i < problems && !rc; i++) {
        const double now_s = gt_clock_s(), share = weight ? weight[i] : 1;

        if (self->end_s > 0) /* even if no time is left there is a budget */
            self->until_s =
                now_s + fmax(1e-9, (self->end_s - now_s) * share / fmax(weights, share));
        weights -= share;
        rc = one_problem(self, &problem[i], err);
    }
    return rc;
}

static const struct gt_option option_table[] = {
    GT_CHOICE(energy_options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
              "what the best of a problem is best by: time (default), energy, or edp: energy times "
              "time; of those that the bounds of the errors do not tell apart, the fastest"),
    GT_INTEGER(energy_options, entries, "entries", 0, "N", 1, ITEMS_MAX,
               "measure the N fastest stored candidates of each problem (default: 8)"),
    GT_REAL(energy_options, within, "within", 0, "PERCENT", 0.1, 1000,
            "and of those only such as are slower than the fastest by no more (default: 10)"),
    GT_REAL(energy_options, seconds, "seconds", 0, "SECONDS", 0.01, 60,
            "how long each is measured at least, after 2.4 times as much heating (default: 0.5)"),
    GT_REAL(energy_options, error, "error", 0, "PERCENT", 0.1, 100,
            "and until the bound of its error is so, for at most four times as long (default: 3)"),
    GT_TEXT(energy_options, budget, "budget", 'b', "TIME",
            "end after that time (\"60s\"): the fastest candidate of each problem and cuBLASLt's "
            "answer are measured in any case, others while its share by weight lasts"),
    GT_REAL(energy_options, slower, "slower", 0, "PERCENT", 0.1, 1000,
            "how much slower than the fastest the one may be that saves energy (default: 3)"),
    GT_FLAG(energy_options, stored, "stored", 0,
            "measure nothing: show what the database has, of the GPU that was measured last or of "
            "--arch, of the GPU that --device names and the operands of --dist"),
    GT_TEXT(energy_options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_TEXT(energy_options, costs, "costs", 0, "FILE",
            "write a table with a row for each problem there: what the fastest costs, what "
            "--slower saves, what cuBLASLt's answer costs"),
    GT_OPTIONS_END,
};

/* Options that were not given get their defaults. */
static void set_defaults(struct energy_options *options)
{
    options->entries = options->entries ? options->entries : 8;
    options->within = options->within > 0 ? options->within : 10;
    options->slower = options->slower > 0 ? options->slower : 3;
    options->seconds = options->seconds > 0 ? options->seconds : 0.5;
    options->error = options->error > 0 ? options->error : 3;
}

static int complete(struct energy_options *options, const struct gt_cli *cli, double *seconds,
                    struct gt_err *err)
{
    struct gt_budget budget = {0};
    int rc = GT_OK;

    set_defaults(options);
    if (cli->arguments)
        rc = gt_session_argument(&options->problem, cli->argument[0], err);
    if (!rc && options->budget) {
        rc = gt_budget_parse(&budget, options->budget, err);
        if (!rc && (!(budget.seconds > 0) || budget.each || budget.trials || budget.patience))
            rc = gt_err_set(err, GT_ESYNTAX, "--budget %s: a time is wanted, such as 60s",
                            options->budget);
    }
    *seconds = budget.seconds;
    return rc;
}

static struct energies *energies_new(struct gt_session *session,
                                     const struct energy_options *options,
                                     const struct gt_energy_report *report)
{
    struct energies *self = calloc(1, sizeof(*self));

    if (!self)
        return NULL;
    self->session = session;
    self->options = options;
    self->report = report;
    self->objective = gt_objective_parse(options->objective);
    return self;
}

int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          const struct gt_energy_report *report, struct gt_err *err)
{
    struct energy_options options = {.objective = objective};
    struct energies *self;
    struct gt_err why = {0};
    int rc;

    set_defaults(&options);
    self = energies_new(session, &options, report);
    if (!self)
        return gt_err_nomem(err);
    rc = measure_problems(self, problem, weight, problems, &why);
    if (rc == GT_ENOLIB)
        say(session, why.msg);
    else if (rc)
        gt_err_pass(err, &why, rc);
    rc = rc == GT_ENOLIB ? GT_OK : rc; /* the results of the sweep stay valid */
    close_report(self, NULL);
    free(self);
    return rc;
}

static void name_device(const struct energies *self, const char *name)
{
    if (self->report->json)
        cJSON_AddStringToObject(self->report->json, "device", name);
}

static int measure_energies(struct energies *self, struct gt_cli *cli,
                            struct energy_options *options, double budget_s,
                            const struct gt_problem *problem, const double *weight, size_t problems,
                            struct gt_err *err)
{
    int rc;

    options->session.measure = true;
    rc = gt_session_open(self->session, cli, &options->session, err);
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "energy is measured on a GPU");
    self->end_s = budget_s > 0 ? gt_clock_s() + budget_s : 0;
    if (!rc)
        name_device(self, self->session->evaluator->device.name);
    GT_STEP(rc, measure_problems(self, problem, weight, problems, err));
    return rc;
}

/* Takes from --arch, --device and --dist which energies to show. */
static int read_asked(struct latest *asked, const char *data_dir,
                      const struct gt_session_options *options, struct gt_err *err)
{
    const char *device = options->device, *dist = options->dist;
    int rc = options->arch ? gt_filter_arch(&asked->rows, data_dir, options->arch, err) : GT_OK;

    asked->asked =
        (struct gt_energy_filter){.rows = {.device = device, .whole = true, .cc = asked->rows.cc},
                                  .operands = dist && strcmp(dist, "normal") != 0 ? dist : ""};
    if (device && (strncmp(device, "predict", 7) == 0 || strncmp(device, "cuda", 4) == 0))
        return gt_err_set(err, GT_ESYNTAX,
                          "--device %s: with --stored it is the name of a GPU whose energies are "
                          "stored, such as \"NVIDIA H200\"",
                          device);
    return rc;
}

static int show_stored(struct energies *self, struct gt_cli *cli, const struct gt_problem *problem,
                       size_t problems, struct gt_err *err)
{
    const struct gt_session_options *options = &self->options->session;
    struct latest latest = {.device = &self->stored};
    struct gt_store *store = NULL;
    const char *path;
    int rc = read_asked(&latest, cli->data_dir, options, err);

    GT_STEP(rc, gt_session_database(&path, cli, options->db, false, err));
    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_READ, err));
    GT_STEP(rc, find_latest(store, &latest, err));
    if (!rc)
        name_device(self, self->stored.name);
    GT_STEP(rc, open_report(self, &self->stored, err));
    for (size_t i = 0; i < problems && !rc; i++)
        rc = report_problem(self, store, &problem[i], err);
    gt_store_close(store);
    return rc;
}

/* Measures or reads the energies; where.json gets the document that is printed. */
static int all(struct energies *self, struct gt_cli *cli, struct energy_options *options,
               double budget_s, struct gt_err *err)
{
    struct gt_problem *problem = NULL;
    double *weight = NULL;
    size_t problems = 0;
    int closed,
        rc = gt_session_problems(cli, NULL, &problem, &weight, &problems, &options->problem, err);

    GT_STEP(rc, gt_session_no_replay(&options->session, err));
    if (!rc && options->stored)
        rc = show_stored(self, cli, problem, problems, err);
    else if (!rc)
        rc = measure_energies(self, cli, options, budget_s, problem, weight, problems, err);
    closed = close_report(self, rc ? NULL : err);
    free(problem);
    free(weight);
    return rc ? rc : closed;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct energy_options options = *(const struct energy_options *)fields;
    struct gt_energy_report where = {.costs_key = "problems"};
    struct gt_session session = {0};
    double budget_s = 0;
    int rc = complete(&options, cli, &budget_s, err);
    struct energies *self = energies_new(&session, &options, &where);

    if (!self)
        return gt_err_nomem(err);
    if (cli->json) {
        where.json = cJSON_CreateObject();
        cJSON_AddStringToObject(where.json, "format", "gemmtune energy 1");
    } else {
        where.out = cli->out;
    }
    GT_STEP(rc, all(self, cli, &options, budget_s, err));
    if (!rc && cli->json)
        rc = gt_cmd_print_json(cli, where.json, err);
    else
        cJSON_Delete(where.json);
    if (!rc && !options.stored && !self->measured)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing could be measured; tune the problems first");
    else if (!rc && !self->found)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "no energy of these problems is stored");
    gt_session_close(&session);
    free(self);
    return rc;
}

const struct gt_command gt_command_energy = {
    .name = "energy",
    .doc = "what a product costs in joules, and the best by energy",
    .usage = "energy [FILE|MxNxK] [--shape MxNxK]... [--objective time|energy|edp] [OPTION]...",
    .about =
        "Measures the energy of a product with the GPU's own meter (NVML): the fastest candidates\n"
        "of each problem that are stored or shipped and cuBLASLt's best answer, each for half a\n"
        "second or more without a gap, at the clock that the power cap leaves. The meter counts\n"
        "the whole GPU; the bound of its error stands beside each figure, and what the bounds do\n"
        "not tell apart is marked =. Results are kept beside the times (view `objective`): the\n"
        "best by time, by energy and by energy times time are views of the same candidates.\n"
        "Programs and exports are handed the best by time; --objective of tune lookup, tune show\n"
        "and tune export --format energy asks for another.\n"
        "\n"
        "  tune --shape 4096x4096x4096:bf16 --budget 30s\n"
        "  tune energy --shape 4096x4096x4096:bf16 --objective energy\n"
        "  tune energy --shape 4096x4096x4096:bf16 --stored\n",
    .group = {{gt_problem_option_table, offsetof(struct energy_options, problem), NULL},
              {gt_session_option_table, offsetof(struct energy_options, session), NULL},
              {option_table, 0, NULL}},
    .argument = "FILE",
    .size = sizeof(struct energy_options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
