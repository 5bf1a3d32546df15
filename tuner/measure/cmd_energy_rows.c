/* cmd_energy_rows.c - what is known of the energies of problems, for people and as tables; see
 * cmd_energy_rows.h. */
#include "measure/cmd_energy_rows.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/err.h"
#include "console/columns.h"
#include "console/cmd_csv.h"
#include "console/options.h"
#include "measure/cmd_energy.h"
#include "problem/problem.h"

int gt_energy_rows_open(struct gt_energy_rows *self, const struct gt_device *device,
                        const char *csv, const char *costs, struct gt_err *err)
{
    const struct gt_energy_report *report = self->report;
    int rc = GT_OK;

    self->device = device;
    if (report->json) {
        self->rows = cJSON_AddArrayToObject(report->json, "energies");
        self->problems = cJSON_AddArrayToObject(report->json, report->costs_key);
        if (!self->problems)
            return gt_err_nomem(err);
    }
    if (report->out) {
        gt_columns_put(report->out, device->name);
        fprintf(report->out,
                " (sm_%d): energy of a product, whole GPU; *: best by %s, =: not told apart\n",
                device->cc, gt_objective_name(self->objective));
    }
    if (csv)
        rc = gt_csv_new(&self->csv, csv,
                        "device,problem,kernel,point,us,joules,error,watts,clock_mhz,method,best",
                        err);
    if (!rc && costs)
        rc = gt_csv_new(&self->costs, costs, GT_ENERGY_COSTS_HEADING, err);
    return rc;
}

static void print_row(const struct gt_energy_rows *self, const struct gt_energy_row *row,
                      const char *best)
{
    const struct gt_energy *e = &row->energy;
    const char mark = row->best[self->objective] ? '*' : row->tie[self->objective] ? '=' : ' ';

    fprintf(self->report->out, "%c %10.2f us %10.3f mJ +-%4.1f %% %7.1f W %6.0f MHz  %-17s %s %s\n",
            mark, e->us, 1e3 * e->joules, 100 * e->error, e->watts, e->clock_mhz, best, row->kernel,
            row->point);
}

static int take_row(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct gt_energy_rows *self = context;
    const struct gt_energy *e = &row->energy;
    struct gt_record record = {self->rows ? cJSON_CreateObject() : NULL, self->csv};
    char best[GT_ENERGY_BEST_MAX];
    int rc;

    self->found++;
    gt_energy_best(row, best);
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->best[i])
            self->best[i] = *e;
    rc = gt_energy_costs_take(&self->cost, row, self->slower, err);
    if (record.json)
        cJSON_AddItemToArray(self->rows, record.json);
    if (self->report->out)
        print_row(self, row, best);
    gt_record_text(&record, "device", self->device->name);
    gt_record_text(&record, "problem", self->problem);
    gt_record_text(&record, "kernel", row->kernel);
    gt_record_text(&record, "point", row->point);
    gt_record_real(&record, "us", e->us, 3, true);
    gt_record_real(&record, "joules", e->joules, 8, true);
    gt_record_real(&record, "error", e->error, 4, true);
    gt_record_real(&record, "watts", e->watts, 1, true);
    gt_record_real(&record, "clock_mhz", e->clock_mhz, 0, e->clock_mhz > 0);
    gt_record_text(&record, "method", e->counted ? "counter" : "power");
    gt_record_text(&record, "best", best);
    gt_csv_end(self->csv);
    return rc;
}

/* The best by the objective against the fastest, in a line. */
static void print_chosen(const struct gt_energy_rows *self, FILE *out, const char *of)
{
    const struct gt_energy *fast = &self->best[GT_BY_TIME];
    const struct gt_energy *chosen = &self->best[self->objective];

    fprintf(out, "%s best by %s: %+.1f %% time, %+.1f %% energy against the fastest\n", of,
            gt_objective_name(self->objective), 100 * (chosen->us / fast->us - 1),
            100 * (chosen->joules / fast->joules - 1));
}

int gt_energy_rows_problem(struct gt_energy_rows *self, struct gt_store *store,
                           const struct gt_problem *problem, struct gt_err *err)
{
    FILE *out = self->report->out, *brief = self->report->brief;
    struct gt_record record = {NULL, self->costs};
    const size_t before = self->found;
    char of[GT_PROBLEM_TEXT_MAX + 1];
    int rc;

    gt_problem_format(problem, self->problem);
    gt_energy_costs_begin(&self->cost);
    if (out)
        fprintf(out, "%s\n", self->problem);
    memset(self->best, 0, sizeof(self->best));
    rc = gt_store_energies(store, self->device, self->problem, take_row, self, err);
    if (rc)
        return rc;
    if (out && self->found == before)
        fputs("  not measured\n", out);
    if (out && self->objective != GT_BY_TIME && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, out, " ");
    snprintf(of, sizeof(of), "%s:", self->problem);
    if (brief && self->best[GT_BY_TIME].us > 0)
        print_chosen(self, brief, of);
    if (out)
        gt_energy_costs_print(&self->cost, out, self->slower);
    if (self->problems) {
        record.json = cJSON_CreateObject();
        cJSON_AddItemToArray(self->problems, record.json);
    }
    gt_energy_costs_write(&self->cost, problem, self->device->name, &record);
    return GT_OK;
}

int gt_energy_rows_close(struct gt_energy_rows *self, struct gt_err *err)
{
    const int closed = gt_csv_close(self->csv, err);
    const int costs = gt_csv_close(self->costs, closed ? NULL : err);

    gt_energy_costs_release(&self->cost);
    return closed ? closed : costs;
}

struct latest {
    const struct gt_energy_asked *asked;
    struct gt_device *device;
    char date[32], other[96]; /* other: a device that is not asked for */
    int other_cc;
};

/* Whether energies of a device of this name and cc are asked for. */
static bool is_asked(const struct gt_energy_asked *asked, const char *name, int cc)
{
    const char *bracket = strchr(name, '[');
    const size_t plain = bracket && bracket > name ? (size_t)(bracket - name) - 1 : strlen(name);
    char dist[32] = "";

    if (bracket)
        snprintf(dist, sizeof(dist), "%.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
    if (asked->cc && asked->cc != cc)
        return false;
    if (asked->device && !asked->dist && strcmp(asked->device, name) == 0)
        return true;
    if (asked->device &&
        (strlen(asked->device) != plain || strncmp(asked->device, name, plain) != 0))
        return false;
    return strcmp(dist, asked->dist ? asked->dist : "") == 0;
}

static int take_latest(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct latest *self = context;

    (void)err;
    if (!is_asked(self->asked, row->device, row->cc)) {
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

/* Says that what is asked for is not there, and of which device there is something. */
static int none_stored(const struct latest *latest, struct gt_err *err)
{
    const struct gt_energy_asked *asked = latest->asked;
    char arch[32] = "";

    if (asked->cc)
        snprintf(arch, sizeof(arch), " --arch sm_%d", asked->cc);
    return gt_err_set(err, GT_EXIT_NOTHING,
                      "no energy is stored of%s%s%s --dist %s; there are energies of %s (sm_%d)",
                      arch, asked->device ? " --device " : "", asked->device ? asked->device : "",
                      asked->dist ? asked->dist : "normal", latest->other, latest->other_cc);
}

int gt_energy_rows_device(struct gt_store *store, const struct gt_energy_asked *asked,
                          struct gt_device *device, struct gt_err *err)
{
    struct latest latest = {.asked = asked, .device = device};
    int rc = gt_store_energies(store, NULL, NULL, take_latest, &latest, err);

    if (!rc && !*latest.date && *latest.other)
        return none_stored(&latest, err);
    if (!rc && !*latest.date)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          "no energy is stored: `tune energy` without --stored measures on a GPU");
    return rc;
}
