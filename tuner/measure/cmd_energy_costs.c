/* cmd_energy_costs.c - what the fastest costs and what less speed saves; see cmd_energy_costs.h. */
#include "measure/cmd_energy_costs.h"

#include <string.h>

#include "base/err.h"
#include "console/cmd_csv.h"
#include "problem/problem.h"

void gt_energy_costs_init(struct gt_energy_costs *costs)
{
    struct gt_energy_cost *each[] = {&costs->fast, &costs->saving, &costs->vendor};

    *costs = (struct gt_energy_costs){0};
    for (int i = 0; i < 3; i++) {
        gt_strbuf_init(&each[i]->kernel);
        gt_strbuf_init(&each[i]->point);
    }
}

static void empty(struct gt_energy_cost *cost)
{
    cost->energy = (struct gt_energy){0};
    gt_strbuf_reset(&cost->kernel);
    gt_strbuf_reset(&cost->point);
}

void gt_energy_costs_begin(struct gt_energy_costs *costs)
{
    empty(&costs->fast);
    empty(&costs->saving);
    empty(&costs->vendor);
    costs->entries = 0;
}

void gt_energy_costs_release(struct gt_energy_costs *costs)
{
    struct gt_energy_cost *each[] = {&costs->fast, &costs->saving, &costs->vendor};

    for (int i = 0; i < 3; i++) {
        gt_strbuf_release(&each[i]->kernel);
        gt_strbuf_release(&each[i]->point);
    }
}

static int keep(struct gt_energy_cost *cost, const struct gt_energy_row *row, struct gt_err *err)
{
    int rc;

    empty(cost);
    cost->energy = row->energy;
    gt_strbuf_add(&cost->kernel, row->kernel);
    gt_strbuf_add(&cost->point, row->point);
    rc = gt_strbuf_check(&cost->kernel, err);
    return rc ? rc : gt_strbuf_check(&cost->point, err);
}

int gt_energy_costs_take(struct gt_energy_costs *costs, const struct gt_energy_row *row,
                         double slower, struct gt_err *err)
{
    const struct gt_energy *fast = &costs->fast.energy;
    int rc = GT_OK;

    if (strcmp(row->kernel, GT_ENERGY_VENDOR) == 0)
        return costs->vendor.energy.us > 0 ? GT_OK : keep(&costs->vendor, row, err);
    costs->entries++;
    if (!(fast->us > 0))
        rc = keep(&costs->fast, row, err);
    if (!rc && row->energy.us <= (1 + slower / 100) * fast->us &&
        gt_energy_less(&row->energy, fast) &&
        (!(costs->saving.energy.us > 0) || row->energy.joules < costs->saving.energy.joules))
        rc = keep(&costs->saving, row, err);
    return rc;
}

static double percent(double value, double of)
{
    return 100 * (value / of - 1);
}

void gt_energy_costs_print(const struct gt_energy_costs *costs, FILE *out, double slower)
{
    const struct gt_energy *fast = &costs->fast.energy, *saving = &costs->saving.energy;
    const struct gt_energy *vendor = &costs->vendor.energy;

    if (!(fast->us > 0))
        return;
    fprintf(out, "  ours: %.3f mJ at %.0f W", 1e3 * fast->joules, fast->watts);
    if (vendor->us > 0)
        fprintf(out, ", %+.1f %% time and %+.1f %% energy%s against cuBLASLt",
                percent(fast->us, vendor->us), percent(fast->joules, vendor->joules),
                gt_energy_less(fast, vendor) || gt_energy_less(vendor, fast)
                    ? ""
                    : " (within the errors)");
    fprintf(out, "; within %g %% of the time: ", slower);
    if (saving->us > 0)
        fprintf(out, "%+.1f %% energy for %+.1f %% time\n", percent(saving->joules, fast->joules),
                percent(saving->us, fast->us));
    else
        fputs("no saving beyond the errors\n", out);
}

/* The fields of one of the three; tflops: whether its rate is among them. */
static void write_energy(const struct gt_record *record, const char *prefix,
                         const struct gt_energy *energy, double flops)
{
    const bool known = energy->us > 0;
    char key[40];

#define FIELD(name, value, digits, when)            \
    (snprintf(key, sizeof(key), "%s" name, prefix), \
     gt_record_real(record, key, value, digits, when))
    FIELD("us", energy->us, 3, known);
    if (flops > 0)
        FIELD("tflops", known ? flops / energy->us * 1e-6 : 0, 2, known);
    FIELD("joules", energy->joules, 8, known);
    FIELD("error", energy->error, 4, known);
    FIELD("watts", energy->watts, 1, known);
    FIELD("clock_mhz", energy->clock_mhz, 0, energy->clock_mhz > 0);
#undef FIELD
}

static void write_name(const struct gt_record *record, const char *kernel_key,
                       const char *point_key, const struct gt_energy_cost *cost)
{
    const bool known = cost->energy.us > 0;

    gt_record_text(record, kernel_key, known ? cost->kernel.text : NULL);
    gt_record_text(record, point_key, known ? cost->point.text : NULL);
}

void gt_energy_costs_write(const struct gt_energy_costs *costs, const struct gt_problem *problem,
                           const char *device, const struct gt_record *record)
{
    const struct gt_energy *fast = &costs->fast.energy, *saving = &costs->saving.energy;
    const double flops = gt_problem_flops(problem);
    const bool known = fast->us > 0, saves = saving->us > 0;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(problem, text);
    gt_record_text(record, "device", device);
    gt_record_text(record, "problem", text);
    gt_record_real(record, "entries", costs->entries, 0, true);
    write_energy(record, "", fast, flops);
    gt_record_text(record, "method", known ? fast->counted ? "counter" : "power" : NULL);
    write_name(record, "kernel", "point", &costs->fast);
    write_energy(record, "saving_", saving, 0);
    write_name(record, "saving_kernel", "saving_point", &costs->saving);
    gt_record_real(record, "time", saves ? percent(saving->us, fast->us) : 0, 2, saves);
    gt_record_real(record, "energy", saves ? percent(saving->joules, fast->joules) : 0, 2, saves);
    write_energy(record, "cublas_", &costs->vendor.energy, flops);
    gt_csv_end(record->csv);
}
