/* soak.c - repeats sweeps over planted faults, kills workers and supervisors at random moments, and
 * checks after each sweep that nothing else was harmed.
 *
 *   soak [--seconds N] [--kills N] [--device D] [--shape S] [--stub DIR] [--seed N] TUNE KERNELS
 *
 * Round (1) sweeps the good points alone, which gives the expected winner.  The others follow in
 * turn: (2) a sweep with all faults, (3) one whose workers are killed, (4) one whose supervisor is
 * killed, alone, with its process group or with all its workers at once, and resumed, (5) one that
 * is interrupted as from a terminal and resumed.  It goes on for the time given, or until so many
 * kills were made.  Each fault must be charged to its own candidate with its own status, the winner
 * must be the same, stored trials must stay, and no process may outlive its sweep (soak_checks.h).
 * The last line of the output is for programs. */
#include "soak_checks.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_S   120 /* a sweep that takes longer hangs */
#define MAX_KILLS 6   /* of a round */
#define ROUNDS    4   /* kinds of rounds after the first */

/* Three points are never launched; one times out and is tried three times. */
#define NEEDED_ATTEMPTS (GOOD + FAULTS - 1 - 3 + 2)

static unsigned next_random(struct soak *soak)
{
    soak->random = soak->random * 1664525u + 1013904223u;
    return soak->random >> 8;
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
        soak_violation(soak, "the sweep of %s did not end in %d s", kernels, SWEEP_S);
    else if (status)
        soak_violation(soak, "the sweep of %s ended with wait status %d", kernels, status);
}

static void read_results(struct soak *soak, struct results *results, const char *db)
{
    if (!results_read(results, db))
        soak_violation(soak, "the database cannot be read");
}

/* Round 1. */
static void sound_round(struct soak *soak)
{
    char db[160];
    int i;

    db_path(soak, db, sizeof(db));
    finish_sweep(soak, soak->run.sound, db);
    read_results(soak, &soak->sound, db);
    soak_count(soak, &soak->sound);
    if (soak->sound.rows != GOOD || !soak->sound.bests)
        soak_violation(soak, "%d of %d good points are stored, %d of them win", soak->sound.rows,
                       GOOD, soak->sound.bests);
    for (i = 0; i < soak->sound.rows; i++) {
        if (!soak_as_expected(&soak->sound.row[i], false))
            soak_violation(soak, "good point %s is '%s' (%s)", soak->sound.row[i].point,
                           soak->sound.row[i].status, soak->sound.row[i].detail);
    }
    soak_check_orphans(soak);
}

static void faulty_round(struct soak *soak)
{
    struct results results;
    char db[160];

    db_path(soak, db, sizeof(db));
    finish_sweep(soak, soak->run.kernels, db);
    soak_check_orphans(soak);
    read_results(soak, &results, db);
    soak_check_results(soak, &results, 0);
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
        soak_violation(soak, "the sweep with %d killed workers did not end", kills);
        run_wait(pid, 0);
    } else if (status) {
        soak_violation(soak, "the sweep with %d killed workers ended with wait status %d", kills,
                       status);
    }
    soak_check_orphans(soak);
    read_results(soak, &results, db);
    soak_check_results(soak, &results, 0); /* kills from outside are charged to no candidate */
}

/* Kills the supervisor: alone, which its workers must notice; with its process group, as a batch
 * system does; or with all processes at once, as when a system goes down. */
static void kill_supervisor(struct soak *soak, pid_t pid)
{
    switch (next_random(soak) % 3) {
    case 0:
        kill(pid, SIGKILL);
        break;
    case 1:
        kill(-pid, SIGKILL);
        break;
    default:
        run_kill_all(&soak->run);
        break;
    }
}

/* The supervisor is killed MAX_KILLS times and started again each time; the last sweep ends. */
static void supervisor_round(struct soak *soak)
{
    struct results before = {0}, after;
    int kills, blamed = 0, allowed, i;
    char db[160];

    db_path(soak, db, sizeof(db));
    for (kills = 0; kills < MAX_KILLS; kills++) {
        const pid_t pid = run_start(&soak->run, soak->run.kernels, db);

        run_nap(0.02 + next_random(soak) % 3000 / 1000.0);
        kill_supervisor(soak, pid);
        run_wait(pid, SWEEP_S);
        soak_check_orphans(soak);
        read_results(soak, &after, db);
        soak_check_kept(soak, &before, &after);
        /* A kill leaves one open attempt in the race, and in the finals at most the good points. */
        if (after.open > before.open + GOOD)
            soak_violation(soak, "one kill left %d attempts open", after.open - before.open);
        before = after;
    }
    soak->supervisor_kills += kills;
    finish_sweep(soak, soak->run.kernels, db);
    soak_check_orphans(soak);
    read_results(soak, &after, db);
    soak_check_kept(soak, &before, &after);
    for (i = 0; i < after.rows; i++)
        blamed += !soak_as_expected(&after.row[i], false);
    /* A candidate becomes `killed` at the third death before it was timed; it may share the first
     * of these deaths with another candidate. */
    soak_check_results(soak, &after, blamed ? 2 * kills / 5 : 0);
    /* Each kill may repeat two candidates, the one on the GPU and the one announced.  Attempts of
     * the finals no longer count once their candidates have been sampled. */
    allowed = NEEDED_ATTEMPTS + 2 * kills;
    if (after.attempts > allowed)
        soak_violation(soak, "%d attempts were made; with %d kills at most %d are needed",
                       after.attempts, kills, allowed);
}

/* A first interrupt lets the candidate in flight finish, so that no attempt stays open and none is
 * repeated. */
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
            soak_violation(soak, "the interrupted sweep ended with wait status %d", status);
        soak_check_orphans(soak);
        read_results(soak, &after, db);
        soak_check_kept(soak, &before, &after);
        if (after.open)
            soak_violation(soak, "an interrupt left %d attempts open", after.open);
        before = after;
    }
    soak->interrupts += interrupts;
    finish_sweep(soak, soak->run.kernels, db);
    soak_check_orphans(soak);
    read_results(soak, &after, db);
    soak_check_kept(soak, &before, &after);
    soak_check_results(soak, &after, 0);
    if (after.attempts > NEEDED_ATTEMPTS)
        soak_violation(soak, "%d attempts were made; without repeats there are %d", after.attempts,
                       NEEDED_ATTEMPTS);
}

static void remove_files(const struct soak *soak, const char *what)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -rf '%s'%s", soak->run.folder, what);
    if (system(command))
        printf("cannot remove %s%s\n", soak->run.folder, what);
}

/* Copies the planted kernel without the faults among its values; the source stays the same. */
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

/* A data folder whose one kernel does not serve FP32: a sweep times what look-up hands out, too,
 * and here that is to be none but a planted one. */
static bool make_data(const struct soak *soak)
{
    char command[1024], data[128];

    snprintf(data, sizeof(data), "%s/data", soak->run.folder);
    snprintf(command, sizeof(command),
             "mkdir -p '%s/configs/kernels' && cd '%s/../../..' && cp -R templates '%s' && "
             "cp -R configs/devices configs/formulas '%s/configs' && "
             "cp configs/kernels/hopper.json '%s/configs/kernels'",
             data, soak->run.kernels, data, data, data);
    return setenv("GEMMTUNE_DATA", data, 1) == 0 && system(command) == 0;
}

static void summarise(const struct soak *soak, double seconds)
{
    size_t s;

    printf("soak: device=%s shape=%s seconds=%.0f rounds=%d sweeps=%d trials=%d",
           soak->run.stub ? "stub" : soak->run.device, soak->run.shape, seconds, soak->rounds,
           soak->sweeps, soak->trials);
    for (s = 0; s < SOAK_STATUSES; s++)
        printf(" %s=%d", soak_statuses[s], soak->count[s]);
    printf(" worker_kills=%d supervisor_kills=%d interrupts=%d orphans=%d violations=%d\n",
           soak->worker_kills, soak->supervisor_kills, soak->interrupts, soak->orphans,
           soak->violations);
}

/* Runs rounds until so many kills were made, or if kills is 0, for so many seconds. */
static void soak_for(struct soak *soak, double seconds, int kills)
{
    static void (*const round[ROUNDS])(struct soak *) = {faulty_round, worker_round,
                                                         supervisor_round, interrupt_round};
    const double start = run_now();
    double longest = 0;

    sound_round(soak);
    remove_files(soak, "/*.db*");
    do { /* each kind once, then until the time is over */
        const double began = run_now();

        round[soak->rounds % ROUNDS](soak);
        soak->rounds++;
        if (run_now() - began > longest)
            longest = run_now() - began;
        remove_files(soak, "/*.db*");
        if (soak->rounds % ROUNDS == 0)
            remove_files(soak, "/cache");
    } while (soak->violations < 20 &&
             (soak->rounds < ROUNDS || (kills ? soak->worker_kills + soak->supervisor_kills < kills
                                              : run_now() - start + longest < seconds)));
    summarise(soak, run_now() - start);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"seconds", required_argument, NULL, 'n'},
        {"device", required_argument, NULL, 'd'},
        {"shape", required_argument, NULL, 's'},
        {"stub", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'r'},
        {"kills", required_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    struct soak soak = {
        .run = {.device = "cuda", .shape = "512x512x512", .folder = "/tmp/gemmtune-soak-XXXXXX"},
        .random = 1,
    };
    double seconds = 30;
    int option, kills = 0;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'n')
            seconds = strtod(optarg, NULL);
        else if (option == 'k')
            kills = (int)strtol(optarg, NULL, 10);
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
        fprintf(stderr,
                "usage: soak [--seconds N] [--kills N] [--device D] [--shape S] [--stub DIR] "
                "[--seed N] TUNE KERNELS-FOLDER\n");
        return 2;
    }
    soak.run.program = argv[optind];
    soak.run.kernels = argv[optind + 1];
    snprintf(soak.run.mark, sizeof(soak.run.mark), "GT_SOAK=%ld", (long)getpid());
    if (!make_sound(&soak) || !make_data(&soak))
        return 2;
    soak_for(&soak, seconds, kills);
    remove_files(&soak, "");
    return soak.violations ? 1 : 0;
}
