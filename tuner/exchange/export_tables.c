/* export_tables.c - the tables of trials, searches and energies. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "exchange/export_format.h"
#include "exchange/trials.h"
#include "problem/problem.h"

/* ---- trials ----
 * Measured trials as a compact text to learn from (trials.h).  Parameters are named once for
 * consecutive trials of a kernel. */

struct writing {
    struct gt_export_out *out;
    struct gt_strbuf device, problem, kernel; /* the latest line of each */
    struct gt_strbuf line, names, values;
};

/* Whether a text of the database may stand in the file: a text without control characters. */
static bool fits(const char *text, bool blanks)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || (*at == ' ' && !blanks))
            return false;
    return *text != '\0';
}

/* Writes the line if it differs from the latest line of its kind, and begins the next line. */
static void put_head(struct writing *writing, struct gt_strbuf *latest)
{
    const struct gt_strbuf line = writing->line;

    writing->out->text->failed |= line.failed;
    if (strcmp(latest->text, line.text) != 0) {
        gt_strbuf_add(writing->out->text, line.text);
        writing->line = *latest;
        *latest = line;
    }
    gt_strbuf_reset(&writing->line);
}

/* Takes a point apart: "A=1,B=2" into "A,B" and "1,2".  false: the point has no names, like the
 * vendor library's algorithms. */
static bool split_point(struct writing *writing, const char *point)
{
    gt_strbuf_reset(&writing->names);
    gt_strbuf_reset(&writing->values);
    for (const char *at = point; *at;) {
        const size_t size = strcspn(at, ","), name = strcspn(at, "=,");

        if (name == size || name == 0)
            return false;
        gt_strbuf_addf(&writing->names, "%s%.*s", at > point ? "," : "", (int)name, at);
        gt_strbuf_addf(&writing->values, "%s%.*s", at > point ? "," : "", (int)(size - name - 1),
                       at + name + 1);
        at += size + (at[size] == ',');
    }
    return fits(point, false);
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct writing *writing = context;
    struct gt_strbuf *line = &writing->line, *text = writing->out->text;

    if (!gt_trials_hold(named) || !gt_row_asked(writing->out->filter, named->device) ||
        !split_point(writing, named->point) || !fits(named->device, true) ||
        !fits(named->kernel, false) || !fits(named->problem, false))
        return GT_OK;
    gt_strbuf_addf(line, "device %d %s\n", named->cc, named->device);
    put_head(writing, &writing->device);
    gt_strbuf_addf(line, "problem %s\n", named->problem);
    put_head(writing, &writing->problem);
    gt_strbuf_addf(line, "kernel %s %s %s\n", named->kernel, named->signature, writing->names.text);
    put_head(writing, &writing->kernel);
    gt_strbuf_addf(text, "%s %.7g %.0f %s\n", writing->values.text, named->trial.us,
                   named->trial.clock_mhz, gt_status_name(named->trial.status));
    text->failed |= writing->names.failed | writing->values.failed;
    writing->out->rows++;
    return gt_strbuf_check(text, err);
}

static int trial_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct writing writing = {.out = out};
    struct gt_strbuf *const texts[] = {&writing.device, &writing.problem, &writing.kernel,
                                       &writing.line,   &writing.names,   &writing.values};
    int rc;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        gt_strbuf_init(texts[i]);
    rc = gt_store_trials(store, out->filter, add_trial, &writing, err);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        gt_strbuf_release(texts[i]);
    return rc;
}

static int trials_end(struct gt_export_out *out, struct gt_err *err)
{
    return gt_export_seal(out->text, GT_TRIALS_MAGIC, "\n", "", err);
}

const struct gt_export_ops gt_export_trials = {
    .rows = trial_rows, .end = trials_end, .measured = true};

/* ---- searches ----
 * A line for each turn of a problem, with the seconds and trials until its race came within 5, 2
 * and 1 % of the best time in any race of the same problem and device.
 *
 * Finals are held on a hot device, so their times (us) cannot be compared with those of a race. */

/* The first improvement within the factor of the best time: its seconds and trials, in *reached;
 * NAN: none. */
struct reached {
    double seconds, trials;
};

static struct reached reach(const struct gt_turn *turn, double factor)
{
    for (size_t i = 0; i < turn->improvements; i++)
        if (turn->improvement[i].us <= factor * turn->best_us)
            return (struct reached){turn->improvement[i].seconds,
                                    (double)turn->improvement[i].trials};
    return (struct reached){NAN, NAN};
}

static double race_us(const struct gt_turn *turn)
{
    double us = 0;

    for (size_t i = 0; i < turn->improvements; i++)
        if (us == 0 || turn->improvement[i].us < us)
            us = turn->improvement[i].us;
    return us;
}

static void put_turn(struct gt_fields *fields, const struct gt_turn *turn)
{
    const struct reached in_5 = reach(turn, 1.05), in_2 = reach(turn, 1.02),
                         in_1 = reach(turn, 1.01);
    const bool race = turn->race_s > 0;
    char seed[24];

    snprintf(seed, sizeof(seed), "%" PRIu64, turn->seed);
    gt_fields_add(fields,
                  "device=%s problem=%s kernels=%s strategy=%s seed=%s known=%" PRId64
                  " seconds=%.1f trials=%" PRId64 " us=%+.3f cublas_us=%+.3f race_us=%+.3f "
                  "best_us=%+.3f s_5=%.1f s_2=%.1f s_1=%.1f trials_5=%.0f trials_2=%.0f "
                  "trials_1=%.0f per_second=%.1f busy=%.2f l2=%s date=%s",
                  turn->device, turn->problem, turn->kernels, turn->strategy, seed, turn->known,
                  turn->seconds, turn->trials, turn->us, turn->baseline_us, race_us(turn),
                  turn->best_us, in_5.seconds, in_2.seconds, in_1.seconds, in_5.trials, in_2.trials,
                  in_1.trials, gt_if(race, (double)turn->trials / turn->race_s),
                  gt_if(race, turn->busy_s / turn->race_s), gt_timing_name(turn->timing),
                  turn->date);
    gt_fields_end(fields);
}

static int add_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    struct gt_export_out *out = context;

    (void)err;
    if (!gt_row_asked(out->filter, turn->device))
        return GT_OK;
    put_turn(&(struct gt_fields){.text = out->text}, turn);
    out->rows++;
    return GT_OK;
}

static void search_begin(struct gt_export_out *out)
{
    put_turn(&(struct gt_fields){.text = out->text, .heading = true}, &(struct gt_turn){0});
}

static int search_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_store_turns(store, out->filter, add_turn, out, err);
}

const struct gt_export_ops gt_export_search = {
    .begin = search_begin, .rows = search_rows, .one_problem = true};

/* ---- energies ----
 * The energies of products, ours and the vendor's, as tune energy measured them, with the
 * objectives by which a row is the best of its problem and device. */

static const char *some(const char *text)
{
    return text && *text ? text : NULL;
}

static void put_energy(struct gt_fields *fields, const struct gt_energy_row *row, double flops)
{
    const struct gt_energy *energy = &row->energy;
    char best[GT_ENERGY_BEST_MAX], driver[GT_VERSION_TEXT];

    gt_energy_best(&row->rank, true, best);
    gt_fields_add(fields,
                  "device=%s uuid=%s driver=%s problem=%s kernel=%s point=%s us=%+.3f "
                  "tflops=%+.3f joules=%+.8f error=%+.4f watts=%+.1f clock_mhz=%+.0f edp=%+.6f "
                  "method=%s best=%s date=%s",
                  some(row->device), some(row->uuid), gt_export_version(driver, row->driver),
                  some(row->problem), some(row->kernel), some(row->point), energy->us,
                  flops / energy->us * 1e-6, energy->joules, energy->error, energy->watts,
                  energy->clock_mhz, energy->us * energy->joules,
                  energy->counted ? "counter" : "power", some(best), some(row->date));
    gt_fields_end(fields);
}

static void energy_begin(struct gt_export_out *out)
{
    if (out->request->json)
        gt_strbuf_add(out->text, "{\"format\": \"gemmtune energies 1\", \"rows\": [");
    else
        put_energy(&(struct gt_fields){.text = out->text, .heading = true},
                   &(struct gt_energy_row){0}, 0);
}

static int energy_end(struct gt_export_out *out, struct gt_err *err)
{
    if (out->request->json)
        gt_strbuf_add(out->text, out->rows ? "\n]}\n" : "]}\n");
    return gt_strbuf_check(out->text, err);
}

static int add_energy(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct gt_export_out *out = context;
    const struct gt_export_request *request = out->request;
    struct gt_fields fields = {.text = out->text};
    struct gt_problem problem;
    int rc;

    if ((out->filter->kernel && strcmp(row->kernel, out->filter->kernel) != 0) ||
        (request->objective >= 0 && !row->rank.best[request->objective]))
        return GT_OK;
    rc = gt_problem_parse(&problem, row->problem, err);
    if (rc)
        return rc;
    if (request->json) {
        fields.form = GT_FIELDS_SPACED_JSON;
        gt_strbuf_add(out->text, out->rows ? ",\n" : "\n");
    }
    out->rows++;
    put_energy(&fields, row, gt_problem_flops(&problem));
    return GT_OK;
}

static int energy_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct gt_energy_filter asked = {.rows = *out->filter};

    asked.rows.kernel = NULL; /* a kernel's rows keep their places among those of all kernels */
    asked.rows.kernels = out->request->today;
    asked.rows.others = true;
    return gt_store_energies(store, &asked, add_energy, out, err);
}

const struct gt_export_ops gt_export_energy = {
    .begin = energy_begin, .rows = energy_rows, .end = energy_end};
