/* soak_checks.c - checks each sweep of the soak (soak_checks.h). */
#include "soak_checks.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define ORPHANS_S 10
#define SAME      1.02 /* times of two runs on a GPU differ by this much */

const char *const soak_statuses[SOAK_STATUSES] = {
    "ok",        "compile_error", "compile_timeout",  "compile_crash",
    "spills",    "serialized",    "launch_invalid",   "fault",
    "timeout",   "wrong",         "nondeterministic", "slow",
    "oob_write", "device_lost",   "killed",
};

/* The status that each FAULT must have; good points may also be `slow`. */
static const char *const expected[FAULTS] = {
    "ok",
    "fault",
    "timeout",
    "wrong",
    "oob_write",
    "nondeterministic",
    "compile_error",
    "compile_timeout",
    "compile_crash",
    "launch_invalid",
};

void soak_violation(struct soak *soak, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("VIOLATION in round %d: ", soak->rounds);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    if (!soak->violations++)
        run_print_log(&soak->run, stdout);
    fflush(stdout);
}

void soak_check_orphans(struct soak *soak)
{
    const int left = run_orphans(&soak->run, ORPHANS_S);

    soak->orphans += left;
    if (!left)
        return;
    soak_violation(soak, "%d processes are left %d s after their sweep", left, ORPHANS_S);
    while (run_kill_worker(&soak->run, "__worker", 0, SIGKILL)) /* the next round starts clean */
        run_nap(0.1);
}

void soak_count(struct soak *soak, const struct results *results)
{
    size_t s;
    int i;

    soak->trials += results->rows;
    for (i = 0; i < results->rows; i++) {
        for (s = 0; s < SOAK_STATUSES; s++)
            soak->count[s] += !strcmp(results->row[i].status, soak_statuses[s]);
    }
}

/* The time of a tile among the good points; 0: it has none. */
static double time_of(const struct results *results, const char *tile)
{
    char point[96];
    const struct result *row;

    snprintf(point, sizeof(point), "FAULT=0,%s", tile);
    row = results_find(results, point);
    return row ? row->us : 0;
}

/* Whether two sweeps agree on the winner: it is the same, or it ties with the other one, or the
 * difference in the sound sweep is no larger than that between two runs. */
static bool same_winner(const struct results *sound, const struct results *faulty)
{
    int i;

    if (!sound->bests || !faulty->bests)
        return false;
    for (i = 0; i < sound->bests; i++) {
        if (!strcmp(sound->best[i], faulty->best[0]))
            return true;
    }
    return time_of(sound, faulty->best[0]) > 0 &&
           time_of(sound, faulty->best[0]) <= SAME * time_of(sound, sound->best[0]);
}

bool soak_as_expected(const struct result *row, bool killed)
{
    if (row->fault < 0 || row->fault >= FAULTS)
        return false;
    if (!strcmp(row->status, expected[row->fault]) ||
        (row->fault == 0 && !strcmp(row->status, "slow")))
        return true;
    return killed && !strcmp(row->status, "killed");
}

void soak_check_results(struct soak *soak, const struct results *results, int harmed)
{
    const bool killed = harmed > 0;
    int i;

    soak_count(soak, results);
    if (results->rows != GOOD + FAULTS - 1)
        soak_violation(soak, "%d trials are stored instead of %d", results->rows,
                       GOOD + FAULTS - 1);
    for (i = 0; i < results->rows; i++) {
        const struct result *row = &results->row[i];

        if (!soak_as_expected(row, killed))
            soak_violation(soak, "%s is '%s' (%s)", row->point, row->status, row->detail);
        else if (soak_as_expected(row, false))
            continue;
        else if (harmed-- <= 0)
            soak_violation(soak, "%s: there are more rows with the status killed than kills",
                           row->point);
    }
    if (results->open)
        soak_violation(soak, "%d attempts are open after the sweep", results->open);
    if (!killed && !same_winner(&soak->sound, results))
        soak_violation(soak, "the winner is %s; without faults it was %s",
                       results->bests ? results->best[0] : "none",
                       soak->sound.bests ? soak->sound.best[0] : "none");
}

void soak_check_kept(struct soak *soak, const struct results *before, const struct results *after)
{
    int i;

    for (i = 0; i < before->rows; i++) {
        const struct result *old = &before->row[i];
        const struct result *now = results_find(after, old->point);
        const bool retried = !strcmp(old->status, "timeout") ||
                             !strcmp(old->status, "device_lost") || !strcmp(old->status, "killed");

        if (!now)
            soak_violation(soak, "the stored trial of %s is lost", old->point);
        else if (!retried && strcmp(old->status, now->status) != 0)
            soak_violation(soak, "%s was '%s' and is now '%s'", old->point, old->status,
                           now->status);
        else if (now->stage < old->stage)
            soak_violation(soak, "%s was timed in stage %d and now only in %d", old->point,
                           old->stage, now->stage);
    }
}
