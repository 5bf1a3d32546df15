/* test_compile_everywhere.c - test: every kernel compiles with NVRTC for every architecture it
 * serves: the default point, which must not spill, or where it is valid for no rows the nearest
 * that is; each point of tests/emu/points.txt for one of them, as far as PTX, which is half as
 * long, where ptxas has met each of its values; and a third of the points that the emulator draws
 * (tests/emu/sample.h) for sm_90, because a host compiler takes what NVRTC does not (an array of no
 * elements, say): most of these as PTX.  A register limit must be kept.
 *
 * Of these `make check` compiles of each kernel in the ladder the first, and of each kernel in
 * production the FEW_POINTS that bring most of what all valid
 * ones have (gt_emu_choose): values of parameters that choose among ways of the code, ends of
 * sizes, types, layouts and architectures.  With WHOLE=1 in the environment, as a part of `make
 * check-release`, all are compiled, and so are points that once spilled.
 *
 * Two processes share the work.  What compiled before, from the same source by the same NVRTC, is
 * not compiled again (tests/remembered.h).  Prints TAP; without NVRTC it is skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/compile.h"
#include "base/err.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "kernel/render.h"

#include "search/space.h"
#include "tests/emu/sample.h"
#include "tests/remembered.h"
#include "tests/serves.h"

#define PROCESSES  2
#define FEW_POINTS 2 /* of a kernel, without WHOLE */
#define MAX_JOBS   2000
#define MAX_LISTED 1000
#define DRAWN_PART 3 /* one of so many drawn points is compiled; the emulator runs all of them */
#define CUBIN_PART 4 /* and one of so many goes through ptxas */

static const int arches[] = {75, 80, 86, 89, 90, 100, 120};
#define ARCHES (sizeof arches / sizeof *arches)

struct job {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_problem problem;
    struct gt_device device;
    bool standard; /* the default point, or one in its place: some point must be valid */
    bool fixed;    /* this point must be valid, none in its place */
    bool ptx;      /* only as far as PTX */
    /* filled in by a process */
    bool done, ok, skipped;
    bool moved; /* the default is not valid there */
    bool known; /* remembered */
    int registers;
    double ms; /* of a processor */
    char message[512];
};

struct jobs {
    struct job *job; /* shared between the processes */
    size_t count;
    struct {
        const struct gt_kernel *kernel;
        struct gt_point point;
    } listed[MAX_LISTED]; /* the points of points.txt, compiled or not */
    size_t listeds;
};

static void fail(const char *what, const struct gt_err *err)
{
    printf("Bail out! %s: %s\n", what, err->msg);
    exit(1);
}

/* 4096^3, or as many rows as the kernel serves, with the type's own D or else the first served. */
static void make_problem(struct gt_problem *problem, const struct gt_kernel *kernel,
                         enum gt_dtype type)
{
    int out = (int)gt_dtype_default_out(type);
    enum gt_accuracy least = gt_dtype_default_accuracy(type);
    const struct gt_serves *entry = gt_serves_of(kernel, (int)type, out);

    if (!entry) {
        entry = gt_serves_of(kernel, (int)type, -1);
        out = __builtin_ctz(entry->outs);
    }
    gt_problem_init(problem, entry->max_m < 4096 ? entry->max_m : 4096, 4096, 4096);
    problem->type = type;
    problem->out = (enum gt_dtype)out;
    problem->acc = gt_dtype_default_acc(type);
    problem->accuracy = entry->accuracy > least ? entry->accuracy : least;
    gt_serves_words(problem, entry);
}

/* Fewer rows, until the point is valid: a kernel for few is made for so many and no more.  As they
 * were if it is valid for none. */
static void fit_rows(struct job *job)
{
    const struct gt_candidate candidate = {job->kernel, &job->problem, &job->device, job->point};
    const int64_t rows = job->problem.m;
    int failed = 0;

    for (; job->problem.m > 0; job->problem.m /= 2)
        if (gt_candidate_valid(&candidate, &failed, NULL) == GT_OK && failed < 0)
            return;
    job->problem.m = rows;
}

static void add(struct jobs *jobs, const struct gt_kernel *kernel, const struct gt_point *point,
                enum gt_dtype type, int layout, int cc, const char *data_dir, bool standard)
{
    struct gt_err err;
    struct job *job = &jobs->job[jobs->count];

    if (jobs->count == MAX_JOBS)
        abort();
    *job = (struct job){.kernel = kernel, .point = *point, .standard = standard};
    make_problem(&job->problem, kernel, type);
    job->problem.trans_a = (unsigned char)(layout / 2);
    job->problem.trans_b = (unsigned char)(layout % 2);
    if (gt_device_profile(&job->device, data_dir, cc, &err))
        fail("device", &err);
    if (!gt_kernel_serves(kernel, &job->problem, &job->device))
        return;
    if (standard && gt_serves_any(kernel).max_m < 4096)
        fit_rows(job);
    jobs->count++;
}

/* The first layout that the kernel serves from `layout` on, in a circle. */
static int served_layout(const struct gt_kernel *kernel, size_t layout)
{
    while (!(gt_serves_any(kernel).layouts >> layout % 4 & 1))
        layout++;
    return (int)(layout % 4);
}

/* The default point: of the first type in one layout for every arch, the layouts in turn, and in
 * every layout for sm_90; of the other types for sm_90, in turn for one older and one newer arch
 * that has all types, and the layouts in turn.  Each kernel meets every arch, layout and type, and
 * each arch meets every layout and type, but not in all combinations: no template asks for more
 * than two of them at once.  turn: another number for each kernel. */
static void add_default(struct jobs *jobs, const struct gt_kernel *kernel, size_t turn,
                        const char *data_dir)
{
    enum gt_dtype type = (enum gt_dtype)__builtin_ctz(gt_serves_any(kernel).types);
    struct gt_point point;
    gt_point_default(&point, kernel);
    for (size_t i = 0; i < ARCHES; i++)
        if (arches[i] != 90)
            add(jobs, kernel, &point, type, served_layout(kernel, turn + i), arches[i], data_dir,
                true);
    for (int layout = 0; layout < 4; layout++)
        if (gt_serves_any(kernel).layouts >> layout & 1)
            add(jobs, kernel, &point, type, layout, 90, data_dir, true);
    for (int other = (int)type + 1; other < GT_DTYPE_COUNT; other++) {
        size_t both = turn + (size_t)other;
        if (!(gt_serves_any(kernel).types >> other & 1))
            continue;
        add(jobs, kernel, &point, (enum gt_dtype)other, served_layout(kernel, both), 90, data_dir,
            true);
        add(jobs, kernel, &point, (enum gt_dtype)other, served_layout(kernel, both / 2),
            both % 2 ? 89 : 120, data_dir, true);
    }
}

/* Points that once spilled, so that sweeps refused all of their kind. */
static const struct once_spilled {
    const char *kernel, *point;
    enum gt_dtype type;
    int layout;
    int64_t size; /* rows and columns of D */
} once_spilled[] = {
    /* its producer has four boxes of B to load, and had registers for fewer */
    {"hopper", "BM=128,BN=256,CLUSTER_M=2,MMA_PENDING=0", GT_BF16, 0, 4096},
    /* a launch that seldom does anything, behind the one that counts, read all parts at once */
    {"f32acc_pair", "BN=128,SPLIT=2,SPLITS=2", GT_F32, 0, 512},
    {"f32acc_pair", "BN=96,SPLIT=2,SPLITS=2", GT_F32, 1, 512},
    {"f32acc_pair", "CONSUMERS=1,BN=128,BK=32,STAGES=4,SPLIT=2,SPLITS=4", GT_F32, 3, 512},
    /* a consumer beside two splitting warpgroups added in a cluster, and had registers for less */
    {"f32acc_fused",
     "CONSUMERS=1,SPLITTERS=2,BN=64,BK=64,STAGES=2,BUFFERS=2,VEC_C=4,SPLIT=2,SPLITS=2", GT_F32, 1,
     512},
    {"f32acc_fused",
     "CONSUMERS=1,SPLITTERS=2,BN=32,BK=64,STAGES=2,BUFFERS=2,VEC_C=4,SPLIT=2,SPLITS=2", GT_F32, 0,
     512},
    /* the loads of a consumer's last stage were branches */
    {"f32acc_fused", "OWN_ROWS=1,CONSUMERS=2,SPLITTERS=1,BN=64,BK=64,STAGES=2,BUFFERS=2", GT_F32, 0,
     512},
    {"f32acc_fused", "OWN_ROWS=1,CONSUMERS=1,SPLITTERS=1,BN=64,BK=64,STAGES=2,BUFFERS=2", GT_F32, 0,
     512},
};

static void add_once_spilled(struct jobs *jobs, const struct gt_kernels *kernels,
                             const char *data_dir)
{
    for (size_t i = 0; i < sizeof once_spilled / sizeof *once_spilled; i++) {
        const struct once_spilled *once = &once_spilled[i];
        struct gt_point point;
        struct gt_err err;
        const struct gt_kernel *kernel = gt_kernels_find(kernels, once->kernel, &err);

        if (!kernel || gt_point_parse(&point, kernel, once->point, &err))
            fail("a point that once spilled", &err);
        add(jobs, kernel, &point, once->type, once->layout, 90, data_dir, true);
        struct job *job = &jobs->job[jobs->count - 1];
        job->problem.m = job->problem.n = once->size;
        gt_problem_pack(&job->problem);
        job->fixed = true;
    }
}

/* The type behind the colon of a listed point ("BM=8:bf16"), which is cut off, or the first. */
static enum gt_dtype listed_type(const struct gt_kernel *kernel, char *text)
{
    enum gt_dtype type = (enum gt_dtype)__builtin_ctz(gt_serves_any(kernel).types);
    char *colon = strchr(text, ':');
    if (!colon)
        return type;
    *colon = '\0';
    if (!gt_dtype_parse(&type, colon + 1, strcspn(colon + 1, ":"))) {
        printf("Bail out! points.txt names the type %s\n", colon + 1);
        exit(1);
    }
    return type;
}

/* Whether the last job's point has a value that no other valid point of its kernel has which goes
 * through ptxas. */
static bool has_new_value(const struct jobs *jobs)
{
    const struct job *job = &jobs->job[jobs->count - 1];
    bool any = false;

    for (size_t p = 0; p < job->kernel->params && !any; p++) {
        any = true;
        for (size_t i = 0; i + 1 < jobs->count && any; i++) {
            const struct job *other = &jobs->job[i];
            const struct gt_candidate candidate = {other->kernel, &other->problem, &other->device,
                                                   other->point};
            int failed = -1;

            any = other->kernel != job->kernel || other->ptx ||
                  other->point.value[p] != job->point.value[p] ||
                  gt_candidate_valid(&candidate, &failed, NULL) || failed >= 0;
        }
    }
    return any;
}

/* The points that the emulator runs, each for one arch in turn; one whose values ptxas has met is
 * compiled as far as PTX. */
static void add_listed(struct jobs *jobs, const struct gt_kernels *kernels, const char *data_dir)
{
    char path[4096], line[1024], name[64], text[512];
    struct gt_point point;
    struct gt_err err;
    size_t turn = 0;

    snprintf(path, sizeof path, "%s/tests/emu/points.txt", data_dir);
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("Bail out! cannot read %s\n", path);
        exit(1);
    }
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%63s %511s", name, text) != 2 || name[0] == '#')
            continue;
        const struct gt_kernel *kernel = gt_kernels_find(kernels, name, &err);
        if (!kernel)
            fail(path, &err);
        enum gt_dtype type = listed_type(kernel, text);
        if (gt_point_parse(&point, kernel, text, &err))
            fail(path, &err);
        const size_t before = jobs->count;
        if (jobs->listeds == MAX_LISTED)
            abort();
        jobs->listed[jobs->listeds].kernel = kernel;
        jobs->listed[jobs->listeds++].point = point;
        add(jobs, kernel, &point, type, (int)(turn / ARCHES % 4), arches[turn % ARCHES], data_dir,
            false);
        if (jobs->count > before)
            jobs->job[before].ptx = !has_new_value(jobs);
        turn++;
    }
    fclose(file);
}

/* The points that the emulator draws out of large spaces, for the problems it runs them for: those
 * that have what neither the default point nor a listed one has.  They are the emulator's own, so
 * that they are drawn once for both. */
static void add_drawn(struct jobs *jobs, const struct gt_kernel *kernel)
{
    struct gt_emu_sample *sample = calloc(GT_EMU_SAMPLES, sizeof *sample);
    struct gt_point *known = calloc(jobs->listeds + 1, sizeof *known);
    struct gt_err err;
    size_t count, knowns = 1;

    if (known)
        gt_point_default(known, kernel);
    for (size_t i = 0; known && i < jobs->listeds; i++)
        if (jobs->listed[i].kernel == kernel)
            known[knowns++] = jobs->listed[i].point;
    if (!sample || !known || gt_emu_sample(sample, &count, kernel, 1, known, knowns, &err))
        fail(kernel->name, &err);
    for (size_t i = 0; i < count; i += DRAWN_PART) {
        if (jobs->count == MAX_JOBS)
            abort();
        jobs->job[jobs->count++] = (struct job){.kernel = kernel,
                                                .point = sample[i].point,
                                                .problem = sample[i].problem,
                                                .device = sample[i].device,
                                                .ptx = i / DRAWN_PART % CUBIN_PART != 0};
    }
    free(sample);
    free(known);
}

/* The job's type, layout and architecture. */
static uint64_t marks_of(const struct job *job)
{
    uint64_t marks = (uint64_t)1 << job->problem.type |
                     (uint64_t)1 << (60 + 2 * job->problem.trans_a + job->problem.trans_b);

    for (size_t i = 0; i < ARCHES; i++)
        marks |= (uint64_t)(arches[i] == job->device.cc) << (50 + i);
    return marks;
}

/* Leaves the jobs that `make check` runs; what is not valid where it is to be compiled covers
 * nothing. */
static void choose(struct jobs *jobs)
{
    struct gt_emu_listed *list = calloc(jobs->count + 1, sizeof *list);
    bool *taken = calloc(jobs->count + 1, sizeof *taken);
    const size_t all = jobs->count;

    if (!list || !taken)
        abort();
    for (size_t i = 0; i < all; i++) {
        const struct job *job = &jobs->job[i];
        const struct gt_candidate candidate = {job->kernel, &job->problem, &job->device,
                                               job->point};
        int failed = -1;

        if (!job->kernel->production)
            taken[i] = i == 0 || job->kernel != job[-1].kernel;
        else if (job->standard ||
                 (gt_candidate_valid(&candidate, &failed, NULL) == GT_OK && failed < 0))
            list[i] = (struct gt_emu_listed){job->kernel, &job->point, marks_of(job)};
    }
    gt_emu_choose(taken, list, all, FEW_POINTS);
    jobs->count = 0;
    for (size_t i = 0; i < all; i++)
        if (taken[i])
            jobs->job[jobs->count++] = jobs->job[i];
    printf("# %zu of %zu points are compiled; with WHOLE=1 (make check-release) all of them\n",
           jobs->count, all);
    free(taken);
    free(list);
}

static char base[GT_DIGEST_HEX]; /* of the keys of verdicts */

/* The version of NVRTC, and which file it is. */
static void find_base(const struct gt_nvrtc *nvrtc)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");

    gt_strbuf_addf(&text, "%d", gt_nvrtc_version(nvrtc));
    while (maps && fgets(line, sizeof line, maps)) {
        struct stat status;
        char *path = strchr(line, '/');

        if (path && strstr(path, "libnvrtc")) {
            path[strcspn(path, "\n")] = '\0';
            if (stat(path, &status) == 0)
                gt_strbuf_addf(&text, " %lld %lld", (long long)status.st_size,
                               (long long)status.st_mtime);
        }
    }
    if (maps)
        fclose(maps);
    gt_remember_base(base, "nvrtc", text.text);
    gt_strbuf_release(&text);
}

static void find_key(char key[GT_DIGEST_HEX], const struct job *job,
                     const struct gt_geometry *geometry, const char *source)
{
    struct gt_strbuf what = GT_STRBUF_INIT;

    gt_strbuf_addf(&what, "arch %d, device %d, features %d, ptx %d, registers %d, spills %d",
                   geometry->code_arch, job->device.cc, (int)geometry->arch_features,
                   job->ptx || geometry->code_ptx, geometry->max_registers,
                   job->standard && !job->moved);
    gt_remember_key(key, base, job->kernel->include_dirs, source, what.text);
    gt_strbuf_release(&what);
}

static int compile(struct job *job, struct gt_nvrtc *nvrtc, const struct gt_candidate *candidate,
                   struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    struct gt_binary binary = {0};
    char key[GT_DIGEST_HEX] = "";
    int status = gt_candidate_geometry(candidate, &geometry, err);
    if (!status)
        status = gt_render(&source, candidate, err);
    if (!status)
        find_key(key, job, &geometry, source.text);
    job->known = !status && gt_remembered(key, &job->registers, sizeof job->registers);
    if (!status && !job->known) {
        struct gt_compile_request request = {.source = source.text,
                                             .name = job->kernel->name,
                                             .include_dirs = job->kernel->include_dirs,
                                             .arch = geometry.code_arch,
                                             .device_cc = job->device.cc,
                                             .features = geometry.arch_features,
                                             .ptx = job->ptx || geometry.code_ptx,
                                             .max_registers = geometry.max_registers};
        status = gt_compile(nvrtc, &request, &binary, err);
    }
    if (!job->known)
        job->registers = binary.registers;
    if (!status && job->standard && !job->moved && binary.spill_bytes)
        status = gt_err_set(err, GT_ERANGE, "the point spills %d bytes", binary.spill_bytes);
    if (!status && geometry.max_registers && binary.registers > geometry.max_registers)
        status = gt_err_set(err, GT_ERANGE, "the limit of %d registers has no effect",
                            geometry.max_registers);
    if (!status && !job->known)
        gt_remember(key, &job->registers, sizeof job->registers);
    gt_binary_release(&binary);
    gt_strbuf_release(&source);
    return status;
}

/* Replaces the job's point by the valid one that differs from it in the fewest parameters. */
static int move_to_nearest(struct job *job, struct gt_err *err)
{
    struct gt_space space = {0};
    struct gt_point point, wanted = job->point;
    size_t least = SIZE_MAX;
    int status = gt_space_init(&space, job->kernel, &job->problem, &job->device, 20000, err);
    for (size_t i = 0; i < space.count && !status; i++) {
        size_t different = 0;
        gt_space_point(&space, i, &point);
        for (size_t p = 0; p < job->kernel->params; p++)
            different += point.value[p] != wanted.value[p];
        if (different < least) {
            least = different;
            job->point = point;
        }
    }
    job->moved = true;
    gt_space_release(&space);
    return status;
}

static int run_or_skip(struct job *job, struct gt_nvrtc *nvrtc, struct gt_err *err)
{
    struct gt_candidate candidate = {job->kernel, &job->problem, &job->device, job->point};
    int failed;
    int status = gt_candidate_valid(&candidate, &failed, err);
    if (!status && failed >= 0 && (!job->standard || job->fixed)) {
        job->skipped = !job->fixed;
        return gt_err_set(err, GT_ERANGE, "not valid there: %s",
                          job->kernel->constraint[failed].why);
    }
    if (!status && failed >= 0)
        status = move_to_nearest(job, err);
    if (status)
        return status;
    candidate.point = job->point;
    return compile(job, nvrtc, &candidate, err);
}

static void run(struct job *job, struct gt_nvrtc *nvrtc)
{
    struct gt_err err;
    const clock_t before = clock();
    job->ok = run_or_skip(job, nvrtc, &err) == GT_OK;
    job->ms = (double)(clock() - before) * 1e3 / CLOCKS_PER_SEC;
    if (!job->ok)
        snprintf(job->message, sizeof job->message, "%.500s", err.msg);
    job->done = true;
}

static pid_t start(struct jobs *jobs, size_t process)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(&nvrtc, NULL))
        _exit(1);
    for (size_t i = process; i < jobs->count; i += PROCESSES)
        run(&jobs->job[i], nvrtc);
    _exit(0);
}

static int report(const struct jobs *jobs)
{
    int failed = 0, known = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->job[i];
        struct gt_strbuf point = GT_STRBUF_INIT;
        gt_point_format(&point, job->kernel, &job->point);
        bool ok = job->done && (job->ok || job->skipped);
        printf("%s %zu - %s %s:%s for sm_%d, layout %c%c, %s: %d registers, %.0f ms%s%s\n",
               ok ? "ok" : "not ok", i + 1, job->kernel->name, point.text,
               gt_dtype_name(job->problem.type), job->device.cc, job->problem.trans_a ? 't' : 'n',
               job->problem.trans_b ? 't' : 'n', job->ptx ? "PTX" : "cubin", job->registers,
               job->ms,
               job->skipped    ? " # SKIP "
               : *job->message ? ": "
                               : "",
               job->message);
        failed += !ok;
        known += job->known;
        gt_strbuf_release(&point);
    }
    printf("# %d of %zu were remembered\n", known, jobs->count);
    return failed != 0;
}

int main(void)
{
    static struct jobs jobs;
    struct gt_kernels kernels = {0};
    struct gt_nvrtc *nvrtc = NULL;
    struct gt_err err;
    char *data_dir = NULL;
    pid_t pid[PROCESSES];

    if (gt_nvrtc_open(&nvrtc, &err)) {
        printf("1..1\nok 1 - compile everywhere # SKIP %s\n", err.msg);
        return 0;
    }
    setenv("GEMMTUNE_LIBNVJITLINK", "/nowhere", 1); /* what is asked for as PTX stays PTX */
    if (gt_data_dir(&data_dir, &err) || gt_kernels_load(&kernels, data_dir, NULL, NULL, &err))
        fail("kernels", &err);
    find_base(nvrtc);
    gt_nvrtc_close(nvrtc);
    jobs.job = mmap(NULL, MAX_JOBS * sizeof(struct job), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs.job == MAP_FAILED)
        abort();
    for (size_t i = 0; i < kernels.count; i++)
        add_default(&jobs, kernels.kernel[i], i, data_dir);
    add_listed(&jobs, &kernels, data_dir);
    for (size_t i = 0; i < kernels.count; i++)
        if (kernels.kernel[i]->production)
            add_drawn(&jobs, kernels.kernel[i]);
    if (getenv("WHOLE"))
        add_once_spilled(&jobs, &kernels, data_dir);
    else
        choose(&jobs);
    printf("1..%zu\n", jobs.count);
    for (size_t i = 0; i < PROCESSES; i++)
        pid[i] = start(&jobs, i);
    for (size_t i = 0; i < PROCESSES; i++)
        waitpid(pid[i], NULL, 0);
    int status = report(&jobs);
    munmap(jobs.job, MAX_JOBS * sizeof(struct job));
    gt_kernels_release(&kernels);
    free(data_dir);
    return status;
}
