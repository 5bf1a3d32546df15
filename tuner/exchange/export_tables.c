/* export_tables.c - the tables of trials, comparisons, searches and energies. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "exchange/export_format.h"
#include "exchange/trials.h"
#include "problem/problem.h"

/* Writes measured trials as a compact text to learn from (trials.h).  Parameters
 * are named once for all trials of a kernel that follow one another. */

struct writing {
    struct gt_export_out *out;
    struct gt_strbuf device, problem, kernel; /* the latest line of each */
    struct gt_strbuf line, names, values;
};

/* Whether a text of the database can stand in the file: it has no control characters. */
static bool fits(const char *text, bool blanks)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || (*at == ' ' && !blanks))
            return false;
    return *text != '\0';
}

/* Writes the line if it is another one than the latest of its kind, and begins the next one. */
static int put_head(struct writing *writing, struct gt_strbuf *latest, struct gt_err *err)
{
    struct gt_strbuf *line = &writing->line;
    int rc = gt_strbuf_check(line, err);

    if (!rc && strcmp(latest->text, line->text) != 0) {
        gt_strbuf_reset(latest);
        gt_strbuf_add(latest, line->text);
        gt_strbuf_add(writing->out->text, line->text);
        rc = gt_strbuf_check(latest, err);
    }
    gt_strbuf_reset(line);
    return rc;
}

/* Takes a point apart: "A=1,B=2" into "A,B" and "1,2".  false: it has no names, as the vendor
 * library's algorithms have none. */
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
    struct gt_strbuf *line = &writing->line;
    int rc = GT_OK;

    if (!gt_trials_hold(named) || !gt_row_asked(writing->out->filter, named->device) ||
        !split_point(writing, named->point) || !fits(named->device, true) ||
        !fits(named->kernel, false) || !fits(named->problem, false))
        return GT_OK;
    gt_strbuf_addf(line, "device %d %s\n", named->cc, named->device);
    GT_STEP(rc, put_head(writing, &writing->device, err));
    gt_strbuf_addf(line, "problem %s\n", named->problem);
    GT_STEP(rc, put_head(writing, &writing->problem, err));
    gt_strbuf_addf(line, "kernel %s %s %s\n", named->kernel, named->signature, writing->names.text);
    GT_STEP(rc, put_head(writing, &writing->kernel, err));
    GT_STEP(rc, gt_strbuf_check(&writing->names, err));
    GT_STEP(rc, gt_strbuf_check(&writing->values, err));
    gt_strbuf_addf(writing->out->text, "%s %.7g %.0f %s\n", writing->values.text, named->trial.us,
                   named->trial.clock_mhz, gt_status_name(named->trial.status));
    writing->out->rows++;
    GT_STEP(rc, gt_strbuf_check(writing->out->text, err));
    return rc;
}

static int rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct writing writing = {out,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT};
    int rc = gt_store_trials(store, out->filter, add_trial, &writing, err);

    gt_strbuf_release(&writing.device);
    gt_strbuf_release(&writing.problem);
    gt_strbuf_release(&writing.kernel);
    gt_strbuf_release(&writing.line);
    gt_strbuf_release(&writing.names);
    gt_strbuf_release(&writing.values);
    return rc;
}

static int end(struct gt_export_out *out, struct gt_err *err)
{
    return gt_export_seal(out->text, GT_TRIALS_MAGIC, err);
}

const struct gt_export_ops gt_export_trials = {.rows = rows, .end = end, .measured = true};

/* Writes the table of tune bench from a database: for each problem the winner
 * beside the vendor library, as measured last by tune bench or by the final of a later sweep. */

#define ERR_ABOVE 1.25 /* times the baseline's error; larger errors are marked */

const char gt_export_bench_columns[] =
    GT_EXPORT_CSV_COLUMNS ",bound_us,memory,move_us,moved,cublas_err_u,err_above,best_us,"
                          "best_ratio,untuned_us,untuned_ratio,worse_by_tuning,untuned";

bool gt_export_err_above(double err_u, double baseline_err_u)
{
    return baseline_err_u > 0 && err_u > ERR_ABOVE * baseline_err_u;
}

static void bench_begin(struct gt_export_out *out)
{
    gt_strbuf_addf(out->text, "%s\n", gt_export_bench_columns);
}

/* Adds two fields, a time and a ratio to it; a field is empty if its value is not known. */
static void add_pair(struct gt_strbuf *text, double time_us, double over_us, double under_us)
{
    if (time_us > 0)
        gt_strbuf_addf(text, ",%.3f,", time_us);
    else
        gt_strbuf_add(text, ",,");
    if (over_us > 0 && under_us > 0)
        gt_strbuf_addf(text, "%.4f", over_us / under_us);
}

double gt_export_bound_us(const struct gt_problem *problem, const struct gt_comparison *with,
                          int timing)
{
    return with->copy_gbps > 0 && timing != GT_TIMING_WARM
               ? gt_problem_traffic(problem) / (with->copy_gbps * 1e3)
               : 0;
}

void gt_export_bench_fields(struct gt_strbuf *text, const struct gt_row *row,
                            const struct gt_problem *problem, const struct gt_comparison *with)
{
    const double bound_us = gt_export_bound_us(problem, with, row->timing);

    gt_export_csv_fields(text, row);
    add_pair(text, bound_us, bound_us, row->us);
    add_pair(text, with->move_us, with->move_us, row->us);
    if (with->baseline_err_u > 0)
        gt_strbuf_addf(text, ",%.3g,%d", with->baseline_err_u,
                       gt_export_err_above(row->err_u, with->baseline_err_u));
    else
        gt_strbuf_add(text, ",,");
    add_pair(text, with->best_us, row->baseline_us, with->best_us);
    add_pair(text, with->untuned_us, row->baseline_us, with->untuned_us);
    if (with->untuned_us > 0)
        gt_strbuf_addf(text, ",%d,", with->worse);
    else
        gt_strbuf_add(text, ",,");
    gt_export_field(text, with->untuned ? with->untuned : "", false);
}

static int bench_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, row->problem, err);

    if (rc)
        return rc;
    gt_export_bench_fields(out->text, row, &problem, out->with);
    gt_strbuf_add_char(out->text, '\n');
    return GT_OK;
}

const struct gt_export_ops gt_export_bench = {
    .begin = bench_begin,
    .row = bench_row,
    .winners_only = true,
    .measured = true,
    .compared = true,
};

/* Writes how searches went: a line for each turn of a problem, with the seconds
 * and trials until its race came within 5, 2 and 1 % of the best that any turn of the same problem
 * and device ever saw in its race.
 *
 * Finals are held on a hot device, so their times (us) cannot be compared with those of a race. */

static const double within[] = {1.05, 1.02, 1.01};

#define WITHINS (sizeof(within) / sizeof(*within))

static void add_real(struct gt_strbuf *text, double value, int digits, bool known)
{
    if (known)
        gt_strbuf_addf(text, ",%.*f", digits, value);
    else
        gt_strbuf_add_char(text, ',');
}

/* The first improvement within the factor of the best, or NULL. */
static const struct gt_improvement *reached(const struct gt_turn *turn, double factor)
{
    for (size_t i = 0; i < turn->improvements; i++)
        if (turn->improvement[i].us <= factor * turn->best_us)
            return &turn->improvement[i];
    return NULL;
}

static double race_us(const struct gt_turn *turn)
{
    double us = 0;

    for (size_t i = 0; i < turn->improvements; i++)
        if (us == 0 || turn->improvement[i].us < us)
            us = turn->improvement[i].us;
    return us;
}

static int add_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    struct gt_export_out *out = context;
    struct gt_strbuf *text = out->text;
    const struct gt_improvement *first[WITHINS];
    const double raced = race_us(turn);

    (void)err;
    if (!gt_row_asked(out->filter, turn->device))
        return GT_OK;
    for (size_t i = 0; i < WITHINS; i++)
        first[i] = reached(turn, within[i]);
    gt_export_field(text, turn->device, true);
    gt_strbuf_addf(text, ",%s,", turn->problem);
    gt_export_field(text, turn->kernels, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, turn->strategy, true);
    gt_strbuf_addf(text, ",%" PRIu64 ",%" PRId64 ",%.1f,%" PRId64, turn->seed, turn->known,
                   turn->seconds, turn->trials);
    add_real(text, turn->us, 3, turn->us > 0);
    add_real(text, turn->baseline_us, 3, turn->baseline_us > 0);
    add_real(text, raced, 3, raced > 0);
    add_real(text, turn->best_us, 3, turn->best_us > 0);
    for (size_t i = 0; i < WITHINS; i++)
        add_real(text, first[i] ? first[i]->seconds : 0, 1, first[i] != NULL);
    for (size_t i = 0; i < WITHINS; i++)
        add_real(text, first[i] ? (double)first[i]->trials : 0, 0, first[i] != NULL);
    add_real(text, (double)turn->trials / turn->race_s, 1, turn->race_s > 0);
    add_real(text, turn->busy_s / turn->race_s, 2, turn->race_s > 0);
    gt_strbuf_addf(text, ",%s,%s\n", gt_timing_name(turn->timing), turn->date);
    out->rows++;
    return GT_OK;
}

static int whole(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    gt_strbuf_add(out->text,
                  "device,problem,kernels,strategy,seed,known,seconds,trials,us,cublas_us,race_us,"
                  "best_us,s_5,s_2,s_1,trials_5,trials_2,trials_1,per_second,busy,l2,date\n");
    return gt_store_turns(store, out->filter, add_turn, out, err);
}

const struct gt_export_ops gt_export_search = {.whole = whole};

/* Writes what products cost, as tune energy measured it: ours and the vendor's,
 * with the objectives by which a row is the best of its problem and device. */

/* The columns, and the keys of the JSON form. */
#define HEADING                                                                           \
    "device,uuid,driver,problem,kernel,point,us,tflops,joules,error,watts,clock_mhz,edp," \
    "method,best,date"

static void begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text,
                  out->json ? "{\"format\": \"gemmtune energies 1\", \"rows\": [" : HEADING "\n");
}

static int end_energy(struct gt_export_out *out, struct gt_err *err)
{
    if (out->json)
        gt_strbuf_add(out->text, out->rows ? "\n]}\n" : "]}\n");
    return gt_strbuf_check(out->text, err);
}

/* A field of either form; a number's text as it is, text quoted. */
static void add(struct gt_export_out *out, const char *key, const char *text, bool quoted)
{
    const bool first = strcmp(key, "device") == 0;

    if (!out->json) {
        if (!first)
            gt_strbuf_add_char(out->text, ',');
        gt_export_field(out->text, text, quoted && first);
        return;
    }
    if (!*text)
        return;
    gt_strbuf_addf(out->text, "%s\"%s\": ", first ? "" : ", ", key);
    if (quoted) {
        cJSON *item = cJSON_CreateStringReference(text);
        char *printed = item ? cJSON_PrintUnformatted(item) : NULL;

        if (printed)
            gt_export_clean(printed);
        gt_strbuf_add(out->text, printed ? printed : "\"\"");
        cJSON_free(printed);
        cJSON_Delete(item);
    } else {
        gt_strbuf_add(out->text, text);
    }
}

static void add_real_energy(struct gt_export_out *out, const char *key, double value, int digits)
{
    char text[64] = "";

    if (value > 0)
        snprintf(text, sizeof(text), "%.*f", digits, value);
    add(out, key, text, false);
}

static int take(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    const struct gt_energy *energy = &row->energy;
    struct gt_export_out *out = context;
    struct gt_strbuf driver = GT_STRBUF_INIT;
    struct gt_problem problem;
    char best[GT_ENERGY_BEST_MAX];
    int rc;

    if ((out->filter->cc && row->cc != out->filter->cc) ||
        !gt_row_asked(out->filter, row->device) ||
        (out->filter->kernel && strcmp(row->kernel, out->filter->kernel) != 0) ||
        gt_export_older(out->today, row->kernel, row->signature, GT_MEASURED) ||
        (out->objective >= 0 && !row->best[out->objective]))
        return GT_OK;
    rc = gt_problem_parse(&problem, row->problem, err);
    if (rc)
        return rc;
    if (out->json)
        gt_strbuf_add(out->text, out->rows ? ",\n{" : "\n{");
    out->rows++;
    gt_export_version(&driver, row->driver);
    add(out, "device", row->device, true);
    add(out, "uuid", row->uuid, true);
    add(out, "driver", driver.text, true);
    add(out, "problem", row->problem, true);
    add(out, "kernel", row->kernel, true);
    add(out, "point", row->point, true);
    add_real_energy(out, "us", energy->us, 3);
    add_real_energy(out, "tflops", gt_problem_flops(&problem) / energy->us * 1e-6, 3);
    add_real_energy(out, "joules", energy->joules, 8);
    add_real_energy(out, "error", energy->error, 4);
    add_real_energy(out, "watts", energy->watts, 1);
    add_real_energy(out, "clock_mhz", energy->clock_mhz, 0);
    add_real_energy(out, "edp", energy->us * energy->joules, 6);
    add(out, "method", energy->counted ? "counter" : "power", true);
    gt_energy_best(row, best);
    add(out, "best", best, true);
    add(out, "date", row->date, true);
    gt_strbuf_add(out->text, out->json ? "}" : "\n");
    rc = gt_strbuf_check(&driver, err);
    gt_strbuf_release(&driver);
    return rc;
}

static int rows_energy(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_store_energies(store, NULL, out->filter->problem, take, out, err);
}

const struct gt_export_ops gt_export_energy = {
    .begin = begin, .rows = rows_energy, .end = end_energy};
