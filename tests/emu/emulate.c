/* emulate.c - test program: every kernel of configs/kernels on the CPU, and the faults of
 * tests/emu/planted, each of which must be found.
 *
 *   emulate [--all | KERNEL]
 *
 * Of each kernel it runs the default point for all types it serves (gt_emu_types_of) and the points
 * of tests/emu/points.txt.  Of a production kernel it also runs points that together with these
 * have every value of each parameter three times, with the types in turn (sample.h).
 *
 * Without arguments, as a part of `make check`, it runs less, above all fewer builds, because the
 * compiler takes most of the time.  These points have every value once, together with the listed
 * ones.  Each point is run for every fifth case, another one for each point, layout and epilogue.
 * The default point has every layout and every epilogue in as few builds as that takes; for types
 * after the first it has two of the layouts.  Listed points are run in one layout each, in turn.
 *
 * Of these points `make check` runs of each kernel the default one in two layouts, of a kernel in
 * production also the FEW_POINTS that bring most of what all have (gt_emu_choose): values of
 * parameters that choose among ways of the code, ends of sizes, types and layouts; and every
 * FAULT_PART-th planted fault, the first of each kernel among them.  With WHOLE=1 in the
 * environment, as a part of `make check-release`, all are run.
 *
 * Each kernel must have run in every layout that it serves, and for LEAST_PROBLEMS; of few points,
 * for LEAST_OF_FEW.  A point runs in a process of its own, two at a time; a process that dies has
 * failed.  Sources, objects and a log per point are left in $BUILD/emu.  A point that passed, and
 * of which nothing has changed since, is not run again (tests/remembered.h).  Prints TAP. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "execute.h"
#include "problem/problem.h"
#include "sample.h"
#include "served.h"
#include "tests/remembered.h"
#include "tests/serves.h"

#define LEAST_PROBLEMS 12 /* of a kernel, over all its points, */
#define LEAST_OF_FEW   2  /* and over those which are run without WHOLE */
#define PROCESSES      2
#define SAMPLE_TIMES   3 /* how often a value is in the sample with --all or KERNEL; else once */
#define CASES_PART     5 /* one of so many cases is run without arguments */
#define FEW_POINTS     1 /* besides the default one, of a kernel, without WHOLE */
#define FAULT_PART     8

struct job {
    struct gt_emu_job emu;
    char *point_text;
    char *expected; /* the job must fail with this text in its log; NULL: it must pass */
    char path[512];
    pid_t pid;
    int result[2]; /* pipe for the tally */
    struct gt_emu_tally tally;
    char key[GT_DIGEST_HEX]; /* of its verdict (tests/remembered.h) */
    bool ok;
};

struct jobs {
    struct job *job;
    size_t count;
};

struct place {
    const char *data_dir, *folder;
    bool all; /* all cases are run, not a part of them */
};

static struct job *add_job(struct jobs *jobs, const struct gt_kernel *kernel,
                           const struct gt_point *point, const struct gt_emu_types *types,
                           const struct place *place)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct job *job;

    jobs->job = realloc(jobs->job, (jobs->count + 1) * sizeof *jobs->job);
    if (!jobs->job)
        abort();
    job = &jobs->job[jobs->count];
    *job = (struct job){.emu = {.kernel = kernel,
                                .point = *point,
                                .types = *types,
                                .strict = true,
                                .layouts = ~0u,
                                .data_dir = place->data_dir}};
    if (!place->all) {
        job->emu.part = CASES_PART;
        for (size_t i = 0; i < jobs->count; i++)
            job->emu.first += jobs->job[i].emu.kernel == kernel;
    }
    gt_point_format(&text, kernel, point);
    gt_strbuf_addf(&text, ":%s:%s", gt_dtype_name(types->type), gt_dtype_name(types->out));
    job->point_text = gt_strbuf_detach(&text);
    snprintf(job->path, sizeof job->path, "%s/%s-%zu", place->folder, kernel->name, jobs->count);
    jobs->count++;
    return job;
}

/* Two layouts, in which each operand is stored in both ways. */
static unsigned two_layouts(size_t turn)
{
    const unsigned nn = 1, nt = 2, tn = 4, tt = 8;
    return turn % 2 ? nt | tn : nn | tt;
}

/* The epilogues to run for the i-th of the types. */
static unsigned epilogues_of(const struct gt_emu_types *types, size_t i, bool all)
{
    bool met = types[i].out == GT_S32; /* which takes none */
    for (size_t j = 0; j < i; j++)
        met |= types[j].out == types[i].out; /* rounding is all that differs */
    if (met)
        return 0;
    return i == 0 || all ? ~0u
                         : 1u << (GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU) | 1u << GT_EPILOGUE_GELU;
}

static void add_default(struct jobs *jobs, const struct gt_kernel *kernel,
                        const struct place *place)
{
    struct gt_emu_types types[GT_EMU_TYPES];
    struct gt_point point;
    size_t pairs = gt_emu_types_of(types, kernel);
    const struct gt_serves any = gt_serves_any(kernel);
    gt_point_default(&point, kernel);
    for (size_t i = 0; i < pairs; i++) {
        struct job *job = add_job(jobs, kernel, &point, &types[i], place);
        job->emu.epilogues = epilogues_of(types, i, place->all);
        job->emu.once = i > 0;
        if (i > 0 && !place->all)
            job->emu.layouts = two_layouts(i);
        else if (!(any.layouts & (any.layouts - 1)))
            job->emu.part = 0; /* no other layout runs the other cases */
    }
}

/* A production kernel's space is too large for a list: it is sampled, for what its points so far do
 * not have. */
static void add_sample(struct jobs *jobs, const struct gt_kernel *kernel, const struct place *place)
{
    struct gt_emu_sample *sample = calloc(GT_EMU_SAMPLES, sizeof *sample);
    struct gt_point *known = calloc(jobs->count + 1, sizeof *known);
    struct gt_err err;
    size_t count, knowns = 0;

    for (size_t i = 0; known && i < jobs->count; i++)
        if (jobs->job[i].emu.kernel == kernel)
            known[knowns++] = jobs->job[i].emu.point;
    if (!sample || !known ||
        gt_emu_sample(sample, &count, kernel, place->all ? SAMPLE_TIMES : 1, known, knowns, &err)) {
        fprintf(stderr, "tests/emu: kernel %s: %s\n", kernel->name,
                sample && known ? err.msg : "no memory");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        struct job *job = add_job(jobs, kernel, &sample[i].point, &sample[i].types, place);
        job->emu.layouts = sample[i].layouts;
        job->emu.scale = sample[i].scale;
        job->emu.once = !place->all;
    }
    free(sample);
    free(known);
}

/* Which types a listed point is run for: those behind a colon in its text (":bf16" or ":bf16:f32"),
 * which goes from it, or else the kernel's first. */
static bool listed_types(struct gt_emu_types *types, const struct gt_kernel *kernel, char *text)
{
    struct gt_emu_types served[GT_EMU_TYPES];
    size_t pairs = gt_emu_types_of(served, kernel);
    char *type = strchr(text, ':'), *out = type ? strchr(type + 1, ':') : NULL;
    bool found = false;
    if (out)
        *out++ = '\0';
    if (type)
        *type++ = '\0';
    for (size_t i = 0; i < pairs && !found; i++) {
        *types = served[i];
        found = !type || strcmp(type, gt_dtype_name(served[i].type)) == 0;
    }
    return found && (!out || (gt_dtype_parse(&types->out, out, strlen(out)) &&
                              gt_serves_of(kernel, (int)types->type, (int)types->out)));
}

/* Lines "KERNEL POINT[:TYPE[:OUT]]" or, of faults, "KERNEL POINT EXPECTED TEXT", which ends at two
 * blanks; # starts a comment. */
static void add_listed(struct jobs *jobs, const struct gt_kernels *kernels, const char *list,
                       const char *only, const struct place *place)
{
    char path[600], line[1024], name[64], text[512], expected[256];
    const size_t first = jobs->count;
    snprintf(path, sizeof path, "%s/tests/emu/%s", place->data_dir, list);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    while (fgets(line, sizeof line, file)) {
        struct gt_err err = {0, "a point is missing, or it names a type that is not served"};
        struct gt_emu_types types;
        struct gt_point point;
        int words = sscanf(line, "%63s %511s %255[^\n]", name, text, expected);
        if (words < 1 || name[0] == '#' || (only && strcmp(only, name) != 0))
            continue;
        struct gt_kernel *kernel = words > 1 ? gt_kernels_find(kernels, name, &err) : NULL;
        if (!kernel || !listed_types(&types, kernel, text) ||
            gt_point_parse(&point, kernel, text, &err)) {
            fprintf(stderr, "%s: \"%s\": %s\n", path, name, err.msg);
            exit(1);
        }
        size_t turn = 0; /* of the kernel's listed points */
        for (size_t i = first; i < jobs->count; i++)
            turn += jobs->job[i].emu.kernel == kernel;
        struct job *job = add_job(jobs, kernel, &point, &types, place);
        job->emu.once = true;
        if (words > 2) { /* a fault: every case may be the one that shows it */
            char *remark = strstr(expected, "  ");
            if (remark)
                *remark = '\0';
            job->expected = strdup(expected);
            job->emu.part = 0;
        } else if (!place->all) {
            job->emu.layouts = 1u << turn % 4;
        }
    }
    fclose(file);
}

static void child(const struct job *job)
{
    struct gt_emu_tally tally = {0};
    struct gt_err err;
    char log[600];

    snprintf(log, sizeof log, "%s.log", job->path);
    if (!freopen(log, "w", stdout) || dup2(fileno(stdout), 2) < 0)
        _exit(1);
    if (gt_emu_execute(&job->emu, &tally, &err)) {
        printf("FAILED: %s\n", err.msg);
        tally.failed++;
    }
    fflush(stdout);
    if (write(job->result[1], &tally, sizeof tally) != sizeof tally)
        _exit(1);
    _exit(0);
}

static void start(struct job *job)
{
    job->emu.build_path = job->path;
    fflush(stdout);
    if (pipe(job->result) || (job->pid = fork()) < 0) {
        perror("tests/emu: fork");
        exit(1);
    }
    if (job->pid == 0)
        child(job);
    close(job->result[1]);
}

static bool log_holds(const struct job *job, const char *text)
{
    struct gt_strbuf log = GT_STRBUF_INIT;
    char path[600];
    snprintf(path, sizeof path, "%s.log", job->path);
    bool found = gt_strbuf_add_file(&log, path, NULL) == GT_OK && strstr(log.text, text) != NULL;
    gt_strbuf_release(&log);
    return found;
}

static void show_log(const struct job *job)
{
    char line[512], path[600];
    int failures = 0;
    snprintf(path, sizeof path, "%s.log", job->path);
    FILE *file = fopen(path, "r");
    printf("#   log: %s\n", path);
    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "FAILED") || strstr(line, "error") || strstr(line, "ERROR"))
            if (++failures <= 6)
                printf("#   %s", line);
    if (file)
        fclose(file);
}

static double seconds_of(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
}

static void tell(const struct job *job, size_t number, int status, double seconds)
{
    printf("%s %zu - %s %s: ", job->ok ? "ok" : "not ok", number, job->emu.kernel->name,
           job->point_text);
    if (job->expected)
        printf("\"%s\" %s, ", job->expected, job->ok ? "found" : "not found");
    else
        printf("%d builds, %d runs exact, %d wrong%s, ", job->tally.builds, job->tally.passed,
               job->tally.failed, status ? ", died" : "");
    printf("%.1f s\n", seconds);
    if (!job->ok)
        show_log(job);
    fflush(stdout);
}

/* The digest of all that decides the job's verdict: what would be run, and what must be found. None
 * if nothing can be run. */
static void add_key(struct job *job, const char *base)
{
    const struct gt_kernel *kernel = job->emu.kernel;
    struct gt_strbuf plan = GT_STRBUF_INIT;
    struct gt_emu_job emu = job->emu;
    struct gt_emu_tally none = {0};
    struct gt_err err;

    gt_strbuf_addf(&plan, "%s\n", job->expected ? job->expected : "");
    emu.plan = &plan;
    if (gt_emu_execute(&emu, &none, &err) == GT_OK && gt_strbuf_check(&plan, &err) == GT_OK)
        gt_remember_key(job->key, base, kernel->include_dirs, kernel->text, plan.text);
    gt_strbuf_release(&plan);
}

static void finish(struct job *job, int status, const struct rusage *used, size_t number)
{
    ssize_t got = read(job->result[0], &job->tally, sizeof job->tally);
    close(job->result[0]);
    bool passed = status == 0 && got == (ssize_t)sizeof job->tally && job->tally.failed == 0;
    job->ok = job->expected ? !passed && log_holds(job, job->expected) : passed;
    if (job->ok)
        gt_remember(job->key, &job->tally, sizeof job->tally);
    tell(job, number, status, seconds_of(used));
}

/* Takes the verdicts that are known; how many. */
static size_t recall(struct jobs *jobs, const char *base)
{
    size_t known = 0;

    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = &jobs->job[i];

        add_key(job, base);
        job->ok = gt_remembered(job->key, &job->tally, sizeof job->tally);
        if (job->ok)
            tell(job, ++known, 0, 0);
    }
    return known;
}

static void run_all(struct jobs *jobs, const char *base)
{
    const size_t known = recall(jobs, base);
    size_t started = 0, running = 0, finished = known;

    while (finished < jobs->count) {
        for (; started < jobs->count && running < PROCESSES; started++)
            if (!jobs->job[started].ok) {
                start(&jobs->job[started]);
                running++;
            }
        int status;
        struct rusage used;
        pid_t pid = wait4(-1, &status, 0, &used);
        for (size_t i = 0; i < started; i++)
            if (jobs->job[i].pid == pid) {
                jobs->job[i].pid = 0; /* a later process may be given the number */
                running--;
                finish(&jobs->job[i], status, &used, ++finished);
            }
    }
    printf("# %zu of %zu verdicts were remembered\n", known, jobs->count);
}

/* 1, with a line, if the kernel ran too few problems or left out a layout that it serves. */
static int too_little(const struct jobs *jobs, const struct gt_kernel *kernel, bool few)
{
    unsigned layouts = 0;
    int problems = 0;
    bool wanted = false;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->job[i].emu.kernel == kernel && !jobs->job[i].expected) {
            wanted = true;
            problems += jobs->job[i].tally.problems;
            layouts |= jobs->job[i].tally.layouts;
        }
    if (!wanted || (few && problems >= LEAST_OF_FEW) ||
        (problems >= LEAST_PROBLEMS && layouts == gt_serves_any(kernel).layouts))
        return 0;
    printf("not ok - %s: only %d problems were run, in layouts 0x%x of 0x%x\n", kernel->name,
           problems, layouts, gt_serves_any(kernel).layouts);
    return 1;
}

static bool same_types(const struct gt_emu_types *x, const struct gt_emu_types *y)
{
    return x->type == y->type && x->out == y->out && x->accuracy == y->accuracy &&
           x->sums == y->sums && memcmp(&x->scale_a, &y->scale_a, sizeof x->scale_a) == 0 &&
           memcmp(&x->scale_b, &y->scale_b, sizeof x->scale_b) == 0;
}

/* The job's types and layouts. */
static uint64_t marks_of(const struct gt_emu_job *job)
{
    struct gt_emu_types types[GT_EMU_TYPES];
    const size_t pairs = gt_emu_types_of(types, job->kernel);
    uint64_t marks = (uint64_t)job->layouts << 60;

    for (size_t i = 0; i < pairs && i < 60; i++)
        marks |= (uint64_t)same_types(&types[i], &job->types) << i;
    return marks;
}

static void release_job(struct job *job)
{
    free(job->point_text);
    free(job->expected);
}

/* Leaves the jobs that `make check` runs: some of those that must fail and, of a kernel's others,
 * the first, which is that of the default point, in two layouts, with one epilogue and for a part
 * of the cases, and those chosen. */
static void choose(struct jobs *jobs)
{
    struct gt_emu_listed *list = calloc(jobs->count + 1, sizeof *list);
    bool *taken = calloc(jobs->count + 1, sizeof *taken);
    const size_t all = jobs->count;
    size_t first = 0;
    int faults = 0; /* of the kernel so far */

    if (!list || !taken)
        abort();
    for (size_t i = 0; i < all; i++) {
        struct job *job = &jobs->job[i];

        if (!job->emu.first && !job->expected) {
            job->emu.layouts = two_layouts(first++);
            job->emu.part = CASES_PART;
            job->emu.epilogues &= 1u << (GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU);
        }
        faults = i && job->emu.kernel == job[-1].emu.kernel ? faults : 0;
        taken[i] = job->expected ? faults++ % FAULT_PART == 0 : !job->emu.first;
        if (!job->expected && job->emu.kernel->production)
            list[i] = (struct gt_emu_listed){job->emu.kernel, &job->emu.point, marks_of(&job->emu)};
    }
    gt_emu_choose(taken, list, all, FEW_POINTS);
    jobs->count = 0;
    for (size_t i = 0; i < all; i++)
        if (taken[i])
            jobs->job[jobs->count++] = jobs->job[i];
        else
            release_job(&jobs->job[i]);
    printf("# %zu of %zu points are run; with WHOLE=1 (make check-release) all of them\n",
           jobs->count, all);
    free(taken);
    free(list);
}

static int report(const struct jobs *jobs, const struct gt_kernels *kernels, bool few)
{
    int passed = 0, failed = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        passed += jobs->job[i].ok;
        failed += !jobs->job[i].ok;
    }
    for (size_t i = 0; i < kernels->count; i++)
        failed += too_little(jobs, kernels->kernel[i], few);
    printf("# %d passed, %d failed\n", passed, failed);
    return failed != 0;
}

static void release(struct jobs *jobs, struct gt_kernels *kernels, char *data_dir)
{
    for (size_t i = 0; i < jobs->count; i++)
        release_job(&jobs->job[i]);
    free(jobs->job);
    gt_kernels_release(kernels);
    free(data_dir);
}

static void add_all(struct jobs *jobs, const struct gt_kernels *kernels, const char *only,
                    const struct place *place)
{
    for (int sampled = 0; sampled < 2; sampled++) {
        for (size_t i = 0; i < kernels->count; i++) {
            const struct gt_kernel *kernel = kernels->kernel[i];

            if (only && strcmp(only, kernel->name) != 0)
                continue;
            if (!sampled)
                add_default(jobs, kernel, place);
            else if (kernel->production)
                add_sample(jobs, kernel, place);
        }
        if (!sampled)
            add_listed(jobs, kernels, "points.txt", only, place);
    }
    add_listed(jobs, kernels, "planted/faults.txt", only, place);
}

int main(int argc, char **argv)
{
    struct gt_kernels kernels = {0};
    struct jobs jobs = {0};
    struct gt_err err;
    char *data_dir = NULL, folder[256], planted[600], base[GT_DIGEST_HEX];
    const bool all = argc > 1;
    const char *only = all && strcmp(argv[1], "--all") != 0 ? argv[1] : NULL;
    const char *build = getenv("BUILD");

    if (argc > 2) {
        fprintf(stderr, "usage: emulate [--all | KERNEL]\n");
        return 2;
    }
    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    mkdir(folder, 0777);
    if (gt_data_dir(&data_dir, &err)) {
        fprintf(stderr, "tests/emu: %s\n", err.msg);
        return 1;
    }
    snprintf(planted, sizeof planted, "%s/tests/emu/planted", data_dir);
    if (gt_kernels_load(&kernels, data_dir, planted, NULL, &err)) {
        fprintf(stderr, "tests/emu: %s\n", err.msg);
        return 1;
    }
    add_all(&jobs, &kernels, only, &(struct place){data_dir, folder, all});
    if (only && !jobs.count)
        fprintf(stderr, "tests/emu: no kernel is named '%s'; tune list kernels names them\n", only);
    const bool few = !all && !getenv("WHOLE");
    if (few)
        choose(&jobs);
    printf("1..%zu\n", jobs.count);
    char *compiler = gt_remember_host_compiler();
    gt_remember_base(base, "emu", compiler ? compiler : "");
    free(compiler);
    run_all(&jobs, base);
    int status = report(&jobs, &kernels, few) || (only && !jobs.count);
    release(&jobs, &kernels, data_dir);
    return status;
}
