/* cmd_stored_energy.c - the energies of products in a database; see cmd_stored_energy.h. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "commands/cmd_stored_energy.h"
#include "console/cmd_record.h"
#include "console/options.h"
#include "console/terminal.h"
#include "problem/problem.h"
#include "session/cmd_session.h"

static bool same_place(const struct gt_stored_energy *x, const struct gt_stored_energy *y)
{
    return strcmp(x->device, y->device) == 0 && strcmp(x->uuid, y->uuid) == 0 &&
           strcmp(x->driver, y->driver) == 0;
}

/* Rows come place by place. */
static int take(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    struct gt_stored_energies *found = context;
    struct gt_stored_energy entry = {
        .energy = row->energy, .rank = row->rank, .place = found->entries};
    int rc = GT_OK;

    if (strcmp(row->kernel, GT_ENERGY_VENDOR) != 0) {
        entry.kernel = gt_kernels_find(found->kernels, row->kernel, NULL);
        if (!entry.kernel)
            return GT_OK; /* a name that only a damaged database has */
        rc = gt_point_parse(&entry.point, entry.kernel, row->point, err);
    }
    snprintf(entry.device, sizeof(entry.device), "%s", row->device);
    snprintf(entry.uuid, sizeof(entry.uuid), "%s", row->uuid);
    snprintf(entry.driver, sizeof(entry.driver), "%d.%d", row->driver / 1000,
             row->driver % 1000 / 10);
    snprintf(entry.date, sizeof(entry.date), "%s", row->date);
    if (found->entries && same_place(&found->entry[found->entries - 1], &entry))
        entry.place = found->entry[found->entries - 1].place;
    GT_STEP(rc, GT_ARRAY_RESERVE(&found->entry, found->entries + 1, &found->capacity, err));
    if (!rc)
        found->entry[found->entries++] = entry;
    return rc;
}

int gt_stored_energies_read(struct gt_stored_energies *found,
                            const struct gt_energy_question *asked, struct gt_err *err)
{
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_energy_filter filter = {.rows = asked->gpu, .operands = "", .ours = true};
    struct gt_store *store = NULL;
    int rc;

    *found = (struct gt_stored_energies){.kernels = asked->kernels};
    if (access(asked->path, F_OK) != 0)
        return GT_OK;
    gt_problem_format(asked->problem, problem);
    filter.rows.problem = problem;
    filter.rows.kernel = asked->kernel ? asked->kernel->name : NULL;
    filter.rows.kernels = asked->kernels;
    rc = gt_session_store(&store, asked->path, GT_STORE_READ, err);
    GT_STEP(rc, gt_store_energies(store, &filter, take, found, err));
    gt_store_close(store);
    return rc;
}

void gt_stored_energies_release(struct gt_stored_energies *found)
{
    free(found->entry);
    *found = (struct gt_stored_energies){.entry = NULL};
}

/* The date of the place's newest entry. */
static const char *date_of(const struct gt_stored_energies *found, size_t place)
{
    const char *newest = found->entry[place].date;

    for (size_t i = place; i < found->entries && found->entry[i].place == place; i++)
        if (strcmp(found->entry[i].date, newest) > 0)
            newest = found->entry[i].date;
    return newest;
}

/* The best entry of a place, of our kernels or of cuBLASLt's answer; NULL: there is none. */
static const struct gt_stored_energy *best_of_place(const struct gt_stored_energies *found,
                                                    size_t place, enum gt_objective objective,
                                                    bool ours)
{
    for (size_t i = 0; i < found->entries; i++)
        if (found->entry[i].place == place && found->entry[i].rank.best[objective] &&
            (found->entry[i].kernel != NULL) == ours)
            return &found->entry[i];
    return NULL;
}

/* The mark of an entry. '*': the best of its place; '=': not told apart from the best. */
static char mark_of(const struct gt_stored_energy *entry, enum gt_objective objective)
{
    return !entry->kernel                ? ' '
           : entry->rank.best[objective] ? '*'
           : entry->rank.tie[objective]  ? '='
                                         : ' ';
}

const struct gt_stored_energy *gt_stored_energies_choose(const struct gt_stored_energies *found,
                                                         enum gt_objective objective)
{
    const struct gt_stored_energy *chosen = NULL;

    for (size_t i = 0; i < found->entries; i++) {
        const struct gt_stored_energy *best = best_of_place(found, i, objective, true);

        if (best && (!chosen || strcmp(date_of(found, i), date_of(found, chosen->place)) > 0))
            chosen = best;
    }
    return chosen;
}

static bool is_point(const struct gt_stored_energy *entry, const struct gt_point *point)
{
    return !point || (entry->kernel && gt_point_same(entry->kernel, &entry->point, point));
}

static void print_energy(FILE *out, const struct gt_energy *e)
{
    fprintf(out, "%.3f mJ +-%.1f %%, %.2f us, %.1f W", 1e3 * e->joules, 100 * e->error, e->us,
            e->watts);
    if (e->clock_mhz > 0)
        fprintf(out, ", %.0f MHz", e->clock_mhz);
}

static void print_place(FILE *out, const struct gt_stored_energies *found, size_t place)
{
    gt_columns_put(out, found->entry[place].device);
    fprintf(out, ", driver %s, %s", found->entry[place].driver, date_of(found, place));
}

size_t gt_stored_energies_print(const struct gt_stored_energies *found,
                                const struct gt_point *point, enum gt_objective objective,
                                FILE *out)
{
    size_t heading = SIZE_MAX, printed = 0;

    for (size_t i = 0; i < found->entries; i++) {
        const struct gt_stored_energy *entry = &found->entry[i];
        struct gt_strbuf text = GT_STRBUF_INIT;

        if (!is_point(entry, point))
            continue;
        if (heading != entry->place) {
            heading = entry->place;
            fputs("  ", out);
            print_place(out, found, heading);
            fputc('\n', out);
        }
        gt_point_format(&text, entry->kernel, &entry->point);
        fprintf(out, "  %c ", mark_of(entry, objective));
        print_energy(out, &entry->energy);
        fprintf(out, "  %s\n", text.text);
        gt_strbuf_release(&text);
        printed++;
    }
    return printed;
}

/* Adds the keys of a candidate and of its place. */
static void add_entry(cJSON *json, const struct gt_stored_energy *entry)
{
    const struct gt_energy *e = &entry->energy;
    struct gt_strbuf point = GT_STRBUF_INIT;

    if (entry->kernel)
        gt_point_format(&point, entry->kernel, &entry->point);
    gt_json_add(json, "device=%s uuid=%s driver=%s kernel=%s point=%s", entry->device, entry->uuid,
                entry->driver, entry->kernel ? entry->kernel->name : GT_ENERGY_VENDOR, point.text);
    gt_json_add(json, "us=%g joules=%g edp=%g error=%g watts=%g clock_mhz=%+g method=%s date=%s",
                e->us, e->joules, e->us * e->joules, e->error, e->watts, e->clock_mhz,
                e->counted ? "counter" : "power", entry->date);
    gt_strbuf_release(&point);
}

void gt_stored_energies_list(const struct gt_stored_energies *found, const struct gt_point *point,
                             cJSON *json)
{
    cJSON *list = cJSON_AddArrayToObject(json, "energies");

    for (size_t i = 0; i < found->entries; i++) {
        char best[GT_ENERGY_BEST_MAX];
        cJSON *item;

        if (!is_point(&found->entry[i], point))
            continue;
        gt_energy_best(&found->entry[i].rank, false, best);
        item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        add_entry(item, &found->entry[i]);
        cJSON_AddStringToObject(item, "best", best);
    }
}

static double percent(double value, double of)
{
    return 100 * (value / of - 1);
}

static void print_answer(FILE *out, const struct gt_stored_energies *found,
                         const struct gt_stored_energy *best)
{
    const struct gt_stored_energy *fast = best_of_place(found, best->place, GT_BY_TIME, true);
    const struct gt_stored_energy *vendor = best_of_place(found, best->place, GT_BY_TIME, false);
    struct gt_strbuf point = GT_STRBUF_INIT;

    gt_point_format(&point, best->kernel, &best->point);
    fprintf(out, "  kernel     %s\n  point      %s\n  energy     ", best->kernel->name, point.text);
    print_energy(out, &best->energy);
    fputs("\n  measured   ", out);
    print_place(out, found, best->place);
    fputc('\n', out);
    if (fast == best)
        fputs("  fastest    it is the fastest, too\n", out);
    else
        fprintf(out, "  fastest    against it %+.1f %% time, %+.1f %% energy: %s\n",
                percent(best->energy.us, fast->energy.us),
                percent(best->energy.joules, fast->energy.joules), fast->kernel->name);
    if (vendor) {
        fputs("  cuBLASLt   ", out);
        print_energy(out, &vendor->energy);
        fputc('\n', out);
    }
    for (size_t i = 0; i < found->entries; i++)
        if (i == found->entry[i].place && i != best->place) {
            fputs("  not taken  ", out);
            print_place(out, found, i);
            fputs(": energies of two devices or drivers are not compared\n", out);
        }
    gt_strbuf_release(&point);
}

static void add_answer(cJSON *json, const struct gt_stored_energies *found,
                       const struct gt_stored_energy *best)
{
    const struct gt_stored_energy *fast = best_of_place(found, best->place, GT_BY_TIME, true);
    const struct gt_stored_energy *vendor = best_of_place(found, best->place, GT_BY_TIME, false);

    add_entry(json, best);
    gt_json_add(json, "time=%g energy=%g", percent(best->energy.us, fast->energy.us),
                percent(best->energy.joules, fast->energy.joules));
    if (vendor)
        gt_json_add(json, "cublas_us=%g cublas_joules=%g", vendor->energy.us,
                    vendor->energy.joules);
}

int gt_stored_energy_answer(const struct gt_cli *cli, const struct gt_energy_question *asked,
                            enum gt_objective objective, cJSON *list, bool *answered,
                            struct gt_err *err)
{
    struct gt_stored_energies found;
    const struct gt_stored_energy *best;
    cJSON *json;
    char problem[GT_PROBLEM_TEXT_MAX];
    int rc = gt_stored_energies_read(&found, asked, err);

    gt_problem_format(asked->problem, problem);
    best = rc ? NULL : gt_stored_energies_choose(&found, objective);
    *answered = best != NULL;
    if (list) {
        json =
            gt_json_append(list, "problem=%s objective=%s", problem, gt_objective_name(objective));
        if (best)
            add_answer(json, &found, best);
    } else if (!rc) {
        fprintf(cli->out, "%s by %s\n", problem, gt_objective_name(objective));
        if (best)
            print_answer(cli->out, &found, best);
        else
            fprintf(cli->out, "  none       no energy of it is stored for %s%ssm_%d in %s\n",
                    asked->gpu.device ? asked->gpu.device : "", asked->gpu.device ? ", " : "",
                    asked->gpu.cc, asked->path);
    }
    gt_stored_energies_release(&found);
    return rc;
}
