/* soak.c - sweeps over planted faults, again and again, with workers and supervisors killed at
 * random moments, and checks after each that nothing else was harmed.
 *
 *   soak [--seconds N] [--device D] [--shape S] [--stub DIR] [--seed N] TUNE KERNELS-FOLDER
 *
 * Rounds: (1) a sweep of the good points alone says who wins; then in turn (2) a sweep with all
 * faults, (3) one whose workers are killed, (4) one whose supervisor is killed and resumed, (5) one
 * that is interrupted as from a terminal and resumed.  Each
 * fault must be charged to its own candidate with its own status, the winner must be the same, what
 * was stored must stay, no process may outlive its sweep.  The last line is for machines. */
#include "results.h"
#include "run.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_S   120 /* a sweep that takes longer hangs */
#define ORPHANS_S 10
#define MAX_KILLS 6    /* of a round */
#define ROUNDS    4    /* kinds of rounds after the first */
#define SAME      1.02 /* times of two runs on a GPU differ by this much */

static const char *const statuses[] = {
    "ok",        "compile_error", "compile_timeout",  "compile_crash",
    "spills",    "serialized",    "launch_invalid",   "fault",
    "timeout",   "wrong",         "nondeterministic", "slow",
    "oob_write", "device_lost",
};
#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

/* What each FAULT must end as; good points may also lose the race early. */
static const char *const expected[] = {
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
#define FAULTS ((int)(sizeof(expected) / sizeof(expected[0])))
#define GOOD   9 /* points with FAULT=0 */

/* Three points do not get as far as a launch, one times out and is tried three times. */
#define NEEDED_ATTEMPTS (GOOD + FAULTS - 1 - 3 + 2)

struct soak {
    struct run_options run;
    struct results sound; /* of round 1 */
    unsigned random;
    int rounds, sweeps, trials, worker_kills, supervisor_kills, interrupts, orphans, violations;
    int count[STATUSES];
};

static unsigned next_random(struct soak *soak)
{
    soak->random = soak->random * 1664525u + 1013904223u;
    return soak->random >> 8;
}

__attribute__((format(printf, 2, 3))) static void violation(struct soak *soak, const char *format,
                                                            ...)
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

static void db_path(const struct soak *soak, char *path, size_t size)
{
    snprintf(path, size, "%s/%d.db", soak->run.folder, soak->rounds);
}

/* Runs a sweep to its end. */
static void finish_sweep(struct soak *soak, const char *kernels, const char *db)
{
    const pid_t pid = run_start(&soak->run, kernels, db);
    const int status = run_wait(pid, SWEEP_S);

    soak->sweeps++;
    if (status == -1)
        violation(soak, "the sweep of %s did not end in %d s", kernels, SWEEP_S);
    else if (status)
        violation(soak, "the sweep of %s ended with wait status %d", kernels, status);
}

static void check_orphans(struct soak *soak)
{
    const int left = run_orphans(&soak->run, ORPHANS_S);

    soak->orphans += left;
    if (!left)
        return;
    violation(soak, "%d processes are left %d s after their sweep", left, ORPHANS_S);
    while (run_kill_worker(&soak->run, "__worker", 0, SIGKILL)) /* the next round starts clean */
        run_nap(0.1);
}

static void count_statuses(struct soak *soak, const struct results *results)
{
    size_t s;
    int i;

    soak->trials += results->rows;
    for (i = 0; i < results->rows; i++) {
        for (s = 0; s < STATUSES; s++)
            soak->count[s] += !strcmp(results->row[i].status, statuses[s]);
    }
}

/* Time of a tile among the good points; 0: it has none. */
static double time_of(const struct results *results, const char *tile)
{
    char point[96];
    const struct result *row;

    snprintf(point, sizeof(point), "FAULT=0,%s", tile);
    row = results_find(results, point);
    return row ? row->us : 0;
}

/* Whether two sweeps agree about the winner: it is the same, or one of those that tie with it, or
 * the sound sweep saw no difference beyond what two runs differ by. */
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

/* Whether a row is as it must be.  killed: its worker may have been killed by this test. */
static bool as_expected(const struct result *row, bool killed)
{
    if (row->fault < 0 || row->fault >= FAULTS)
        return false;
    if (!strcmp(row->status, expected[row->fault]) ||
        (row->fault == 0 && !strcmp(row->status, "slow")))
        return true;
    if (!killed)
        return false;
    return strstr(row->detail, "signal 9") || strstr(row->detail, "did not live to see the end");
}

/* A finished sweep over the faults; at most `harmed` rows may tell of this test's own kills. */
static void check_results(struct soak *soak, const struct results *results, int harmed)
{
    const bool killed = harmed > 0;
    int i;

    count_statuses(soak, results);
    if (results->rows != GOOD + FAULTS - 1)
        violation(soak, "%d trials are stored instead of %d", results->rows, GOOD + FAULTS - 1);
    for (i = 0; i < results->rows; i++) {
        const struct result *row = &results->row[i];

        if (!as_expected(row, killed))
            violation(soak, "%s is '%s' (%s)", row->point, row->status, row->detail);
        else if (as_expected(row, false))
            continue;
        else if (harmed-- <= 0)
            violation(soak, "%s: more rows tell of a kill than there were kills", row->point);
    }
    if (results->open)
        violation(soak, "%d attempts are open after the sweep", results->open);
    if (!killed && !same_winner(&soak->sound, results))
        violation(soak, "the winner is %s; without faults it was %s",
                  results->bests ? results->best[0] : "none",
                  soak->sound.bests ? soak->sound.best[0] : "none");
}

static void read_results(struct soak *soak, struct results *results, const char *db)
{
    if (!results_read(results, db))
        violation(soak, "the database cannot be read");
}

/* Round 1. */
static void sound_round(struct soak *soak)
{
    char db[160];
    int i;

    db_path(soak, db, sizeof(db));
    finish_sweep(soak, soak->run.sound, db);
    read_results(soak, &soak->sound, db);
    count_statuses(soak, &soak->sound);
    if (soak->sound.rows != GOOD || !soak->sound.bests)
        violation(soak, "%d of %d good points are stored, %d of them win", soak->sound.rows, GOOD,
                  soak->sound.bests);
    for (i = 0; i < soak->sound.rows; i++) {
        if (!as_expected(&soak->sound.row[i], false))
            violation(soak, "good point %s is '%s' (%s)", soak->sound.row[i].point,
                      soak->sound.row[i].status, soak->sound.row[i].detail);
    }
    check_orphans(soak);
}

static void faulty_round(struct soak *soak)
{
    struct results results;
    char db[160];

    db_path(soak, db, sizeof(db));
    finish_sweep(soak, soak->run.kernels, db);
    check_orphans(soak);
    read_results(soak, &results, db);
    check_results(soak, &results, 0);
}

/* Workers of both kinds are killed while the sweep goes on. */
static void worker_round(struct soak *soak)
{
    struct results results;
    char db[160];
    int status = 0, kills = 0;
    pid_t pid;
    double until = run_now() + SWEEP_S;
    bool running = true;

    db_path(soak, db, sizeof(db));
    pid = run_start(&soak->run, soak->run.kernels, db);
    soak->sweeps++;
    while (running && run_now() < until) {
        const char *role = next_random(soak) % 4 ? "__worker-gpu" : "__worker-compile";

        run_nap(0.05 + next_random(soak) % 1000 / 1000.0);
        running = waitpid(pid, &status, WNOHANG) != pid;
        if (running && kills < MAX_KILLS)
            kills += run_kill_worker(&soak->run, role, next_random(soak), SIGKILL);
    }
    soak->worker_kills += kills;
    if (running) {
        violation(soak, "the sweep with %d killed workers did not end", kills);
        run_wait(pid, 0);
    } else if (status) {
        violation(soak, "the sweep with %d killed workers ended with wait status %d", kills,
                  status);
    }
    check_orphans(soak);
    read_results(soak, &results, db);
    check_results(soak, &results, kills);
}

/* What was acknowledged before must still be there; only what may be tried again may differ. */
static void check_kept(struct soak *soak, const struct results *before, const struct results *after)
{
    int i;

    for (i = 0; i < before->rows; i++) {
        const struct result *old = &before->row[i];
        const struct result *now = results_find(after, old->point);
        const bool retried = !strcmp(old->status, "timeout") || !strcmp(old->status, "device_lost");

        if (!now)
            violation(soak, "the stored trial of %s is lost", old->point);
        else if (!retried && strcmp(old->status, now->status) != 0)
            violation(soak, "%s was '%s' and is now '%s'", old->point, old->status, now->status);
        else if (now->stage < old->stage)
            violation(soak, "%s was timed in stage %d and now only in %d", old->point, old->stage,
                      now->stage);
    }
}

/* The supervisor is killed without warning and started again, until it comes to its end. */
static void supervisor_round(struct soak *soak)
{
    struct results before = {0}, after;
    int kills, blamed = 0, allowed, i;
    char db[160];

    db_path(soak, db, sizeof(db));
    for (kills = 0; kills < MAX_KILLS; kills++) {
        const pid_t pid = run_start(&soak->run, soak->run.kernels, db);

        run_nap(0.02 + next_random(soak) % 3000 / 1000.0);
        kill(pid, SIGKILL);
        run_wait(pid, SWEEP_S);
        check_orphans(soak);
        read_results(soak, &after, db);
        check_kept(soak, &before, &after);
        /* One in the race, or in its finals those that can be there: the good ones. */
        if (after.open > before.open + GOOD)
            violation(soak, "one kill left %d attempts open", after.open - before.open);
        before = after;
    }
    soak->supervisor_kills += kills;
    finish_sweep(soak, soak->run.kernels, db);
    check_orphans(soak);
    read_results(soak, &after, db);
    check_kept(soak, &before, &after);
    for (i = 0; i < after.rows; i++)
        blamed += !as_expected(&after.row[i], false);
    /* The third death that a candidate is in takes the blame; of its deaths it may have shared the
     * first one with another. */
    check_results(soak, &after, blamed ? 2 * kills / 5 : 0);
    /* Each kill may repeat two candidates, the one on the GPU and the one announced to follow it;
     * those of the end of a sweep are forgiven once they have been sampled. */
    allowed = NEEDED_ATTEMPTS + 2 * kills;
    if (after.attempts > allowed)
        violation(soak, "%d attempts were made; with %d kills at most %d are needed",
                  after.attempts, kills, allowed);
}

/* A first interrupt lets the candidate in flight finish: nothing stays open, nothing is repeated.
 */
static void interrupt_round(struct soak *soak)
{
    struct results before = {0}, after;
    int interrupts, status = 1;
    char db[160];

    db_path(soak, db, sizeof(db));
    for (interrupts = 0; interrupts < MAX_KILLS / 2; interrupts++) {
        const pid_t pid = run_start(&soak->run, soak->run.kernels, db);

        run_nap(0.3 + next_random(soak) % 2000 / 1000.0);
        kill(-pid, SIGINT); /* the group, as a terminal does */
        status = run_wait(pid, SWEEP_S);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 130 && WEXITSTATUS(status) != 0))
            violation(soak, "the interrupted sweep ended with wait status %d", status);
        check_orphans(soak);
        read_results(soak, &after, db);
        check_kept(soak, &before, &after);
        if (after.open)
            violation(soak, "an interrupt left %d attempts open", after.open);
        before = after;
    }
    soak->interrupts += interrupts;
    finish_sweep(soak, soak->run.kernels, db);
    check_orphans(soak);
    read_results(soak, &after, db);
    check_kept(soak, &before, &after);
    check_results(soak, &after, 0);
    if (after.attempts > NEEDED_ATTEMPTS)
        violation(soak, "%d attempts were made; without repeats there are %d", after.attempts,
                  NEEDED_ATTEMPTS);
}

static void remove_files(const struct soak *soak, const char *what)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -rf '%s'%s", soak->run.folder, what);
    if (system(command))
        printf("cannot remove %s%s\n", soak->run.folder, what);
}

/* Copies the planted kernel without the faults among its values: what is left is the same source.
 */
static bool make_sound(struct soak *soak)
{
    char command[1024];

    snprintf(soak->run.sound, sizeof(soak->run.sound), "%s/sound", soak->run.folder);
    snprintf(command, sizeof(command),
             "mkdir '%s' && cp '%s/planted.cu' '%s' && sed '/\"FAULT\"/s/\\[0, [0-9, ]*\\]/[0]/' "
             "'%s/planted.json' >'%s/planted.json'",
             soak->run.sound, soak->run.kernels, soak->run.sound, soak->run.kernels,
             soak->run.sound);
    return system(command) == 0;
}

static void summarise(const struct soak *soak, double seconds)
{
    size_t s;

    printf("soak: device=%s shape=%s seconds=%.0f rounds=%d sweeps=%d trials=%d",
           soak->run.stub ? "stub" : soak->run.device, soak->run.shape, seconds, soak->rounds,
           soak->sweeps, soak->trials);
    for (s = 0; s < STATUSES; s++)
        printf(" %s=%d", statuses[s], soak->count[s]);
    printf(" worker_kills=%d supervisor_kills=%d interrupts=%d orphans=%d violations=%d\n",
           soak->worker_kills, soak->supervisor_kills, soak->interrupts, soak->orphans,
           soak->violations);
}

static void soak_for(struct soak *soak, double seconds)
{
    static void (*const round[ROUNDS])(struct soak *) = {faulty_round, worker_round,
                                                         supervisor_round, interrupt_round};
    const double start = run_now();
    double longest = 0;

    sound_round(soak);
    remove_files(soak, "/*.db*");
    do { /* each kind once, then as long as the time lasts */
        const double began = run_now();

        round[soak->rounds % ROUNDS](soak);
        soak->rounds++;
        if (run_now() - began > longest)
            longest = run_now() - began;
        remove_files(soak, "/*.db*");
        if (soak->rounds % ROUNDS == 0)
            remove_files(soak, "/cache");
    } while (soak->violations < 20 &&
             (soak->rounds < ROUNDS || run_now() - start + longest < seconds));
    summarise(soak, run_now() - start);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"seconds", required_argument, NULL, 'n'}, {"device", required_argument, NULL, 'd'},
        {"shape", required_argument, NULL, 's'},   {"stub", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'r'},    {NULL, 0, NULL, 0},
    };
    struct soak soak = {
        .run = {.device = "cuda", .shape = "512x512x512", .folder = "/tmp/gemmtune-soak-XXXXXX"},
        .random = 1,
    };
    double seconds = 30;
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'n')
            seconds = strtod(optarg, NULL);
        else if (option == 'd')
            soak.run.device = optarg;
        else if (option == 's')
            soak.run.shape = optarg;
        else if (option == 't')
            soak.run.stub = optarg;
        else if (option == 'r')
            soak.random = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (argc - optind != 2 || !mkdtemp(soak.run.folder)) {
        fprintf(stderr, "usage: soak [--seconds N] [--device D] [--shape S] [--stub DIR] "
                        "[--seed N] TUNE KERNELS-FOLDER\n");
        return 2;
    }
    soak.run.program = argv[optind];
    soak.run.kernels = argv[optind + 1];
    snprintf(soak.run.mark, sizeof(soak.run.mark), "GT_SOAK=%ld", (long)getpid());
    if (!make_sound(&soak))
        return 2;
    soak_for(&soak, seconds);
    remove_files(&soak, "");
    return soak.violations ? 1 : 0;
}
