/* test_evaluator_cuda.c - the supervisor against GPU workers that crash, hang, lie and come back.
 *
 * Real processes, pipes, compilations and deadlines; only the device is played: this program is its
 * own GPU worker, and the functions of gpu.h and bench.h that the worker calls are defined here.
 * What happens is chosen by the candidate's FAULT. */
#include "../../src/bench.h"
#include "../../src/calibrate.h"
#include "../../src/compile.h"
#include "../../src/err.h"
#include "../../tuner/evaluator.h"
#include "../../tuner/lock.h"
#include "../../tuner/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct gt_evaluator_ops gt_evaluator_cuda;

enum fault {
    GOOD,
    COMPILE_FAILS, /* the template's own */
    STICKY,        /* a sticky error, reported */
    ENDLESS,
    CRASH,
    EXITS,
    WRONG,
    ERROR,         /* the stage itself fails */
    FINAL_CRASH,   /* passes alone and kills the final */
    NONSENSE,      /* an answer that cannot be */
    FINAL_REFUSED, /* passes alone, is refused in the final */
    FAULTS
};

/* --- the device as it is played: called in the worker ----------------------------------------- */

struct gt_gpu {
    struct gt_device device;
    bool poisoned;
};

struct gt_bench {
    struct gt_gpu *gpu;
    bool baseline;
};

/* Whether a test has put a file of this name into the folder that the tests share. */
static bool told(const char *name)
{
    const char *folder = getenv("TEST_FOLDER");
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
    return access(path, F_OK) == 0;
}

/* Whether there is a file of this name that still has something in it; it gets a byte shorter. */
static bool told_again(const char *name)
{
    const char *folder = getenv("TEST_FOLDER");
    struct stat file;
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
    return !stat(path, &file) && file.st_size > 0 && !truncate(path, file.st_size - 1);
}

int gt_gpu_open(struct gt_gpu **gpu, int ordinal, bool primary, struct gt_err *err)
{
    struct gt_gpu *opened;

    (void)primary;
    if (told("stillborn") || told_again("stillborn at first"))
        raise(SIGKILL);
    if (ordinal > 0)
        return gt_err_set(err, GT_ENOGPU, "device %d: there is 1 device", ordinal);
    opened = calloc(1, sizeof(*opened));
    if (!opened)
        return gt_err_nomem(err);
    opened->device = (struct gt_device){
        .name = "Played", .uuid = "GPU-played", .cc = 80, .sms = 108, .smem_block = 166912};
    *gpu = opened;
    return GT_OK;
}

void gt_gpu_close(struct gt_gpu *gpu)
{
    free(gpu);
}

const struct gt_device *gt_gpu_device(const struct gt_gpu *gpu)
{
    return &gpu->device;
}

bool gt_gpu_poisoned(const struct gt_gpu *gpu)
{
    return gpu->poisoned;
}

int gt_bench_open(struct gt_bench **bench, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, const struct gt_problem *problem,
                  const struct gt_bench_options *options, struct gt_err *err)
{
    (void)nvrtc, (void)data_dir, (void)cache_dir, (void)options;
    if (problem->m > 1000)
        return gt_err_set(err, GT_ETOOBIG, "needs 9 bytes of 8");
    if (told("dead"))
        abort();
    *bench = calloc(1, sizeof(**bench));
    if (!*bench)
        return gt_err_nomem(err);
    (*bench)->gpu = gpu;
    return GT_OK;
}

void gt_bench_close(struct gt_bench *bench)
{
    free(bench);
}

static void hang(void)
{
    int signo;

    for (signo = 1; signo < 32; signo++)
        signal(signo, SIG_IGN);
    for (;;)
        pause();
}

static int play(struct gt_bench *bench, const struct gt_candidate *candidate, size_t size,
                struct gt_trial *trial, struct gt_err *err)
{
    const struct timespec launch = {.tv_nsec = 2000000};

    assert_true(size > 0);
    nanosleep(&launch, NULL);
    trial->status = GT_STATUS_OK;
    trial->us = 100 + (double)candidate->point.value[1];
    trial->samples = 1;
    switch ((enum fault)candidate->point.value[0]) {
    case STICKY:
        bench->gpu->poisoned = true;
        trial->status = GT_STATUS_FAULT;
        strcpy(trial->detail, "CUDA_ERROR_ILLEGAL_ADDRESS");
        return GT_OK;
    case ENDLESS:
        hang();
        return GT_OK;
    case CRASH:
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would answer it */
        raise(SIGSEGV);
        return GT_OK;
    case EXITS:
        _exit(3);
    case WRONG:
        trial->status = GT_STATUS_WRONG;
        return GT_OK;
    case ERROR:
        return gt_err_set(err, GT_ECUDA, "cuMemsetD32 failed");
    case NONSENSE:
        trial->status = (enum gt_status)99;
        return GT_OK;
    default:
        return GT_OK;
    }
}

int gt_bench_trial(struct gt_bench *bench, const struct gt_candidate *candidate, const void *image,
                   size_t size, double best_us, struct gt_trial *trial, struct gt_err *err)
{
    (void)image;
    trial->time_ms = best_us; /* for the test to see */
    return play(bench, candidate, size, trial, err);
}

int gt_bench_sample(struct gt_bench *bench, const struct gt_candidate *candidate, const void *image,
                    size_t size, int max_samples, struct gt_trial *trial, struct gt_err *err)
{
    (void)image, (void)max_samples;
    trial->stage = 2;
    return play(bench, candidate, size, trial, err);
}

int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err)
{
    (void)gpu, (void)nvrtc, (void)data_dir, (void)cache_dir, (void)err;
    *calibration = (struct gt_calibration){{0}};
    calibration->value[GT_CALIBRATION_MEMORY_COPY] = 3900;
    calibration->value[GT_CALIBRATION_FMA] = only_copy ? 0 : 60;
    return GT_OK;
}

int gt_bench_final(struct gt_bench *bench, const struct gt_final_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err)
{
    size_t i;
    int rc = GT_OK;

    for (i = 0; !rc && i < entries; i++) {
        if (entry[i].candidate->point.value[0] == FINAL_CRASH)
            abort();
        if (entry[i].candidate->point.value[0] == FINAL_REFUSED)
            return gt_err_set(err, GT_ERANGE, "cuLaunchKernel: refused");
        rc = play(bench, entry[i].candidate, entry[i].size, &trial[i], err);
        trial[i].stage = 3;
        trial[i].samples = rounds;
    }
    if (bench->baseline)
        *baseline = (struct gt_trial){.status = GT_STATUS_OK, .us = 99, .samples = rounds};
    return rc;
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    if (told("no-cublas"))
        return gt_err_set(err, GT_ENOLIB, "libcublasLt.so is missing");
    if (told("bad-cublas"))
        abort();
    bench->baseline = true;
    *baseline = (struct gt_baseline){.name = "played", .us = 99, .answers = 1};
    return GT_OK;
}

int gt_bench_canary(struct gt_bench *bench, double *us, struct gt_err *err)
{
    if (told("sick") || bench->gpu->poisoned)
        return gt_err_set(err, GT_ECUDA, "the canary is wrong");
    *us = 7;
    return GT_OK;
}

/* --- the tests: the supervisor's side --------------------------------------------------------- */

static const char template_text[] =
    "#ifndef FAULT\n#define FAULT 0\n#endif\n#ifndef WIDE\n#define WIDE 0\n#endif\n"
    "#include \"common/args.h\"\n"
    "#if FAULT == 1\n#error planted by the test\n#endif\n"
    "extern \"C\" __global__ void gemm(const __grid_constant__ gt_args args) {\n"
    "    ((float *)args.d)[threadIdx.x] = WIDE;\n}\n";

static const char description[] =
    "{\"kernel\": \"played\", \"doc\": \"One outcome for each FAULT.\", \"template\": "
    "\"templates/played.cu\", \"role\": \"production\",\n"
    "\"serves\": {\"types\": [\"f32\"], \"out\": [\"f32\"], \"layouts\": [\"nn\"], \"min_cc\": 75, "
    "\"max_cc\": 129, \"accuracy\": \"strict\", \"epilogues\": [\"none\"], \"batch\": false},\n"
    "\"params\": [{\"name\": \"FAULT\", \"values\": [0,1,2,3,4,5,6,7,8,9,10], \"default\": 0, "
    "\"kind\": \"compile\", \"doc\": \"d\"},\n"
    " {\"name\": \"WIDE\", \"values\": [0,1,2,3,4,5,6,7], \"default\": 0, \"kind\": \"compile\", "
    "\"doc\": \"d\"}],\n"
    "\"derive\": [], \"constraints\": [], \"deterministic\": \"WIDE != 6\",\n"
    "\"launches\": [{\"entry\": \"gemm\", \"when\": \"1\", \"grid\": [\"1\",\"1\",\"1\"], "
    "\"block\": "
    "[\"32\",\"1\",\"1\"], \"shared\": \"64\"}]}\n";

struct fixture {
    char folder[64], cache[96];
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_evaluator evaluator;
    bool open;
    int launched[64], notices;
    uint64_t in_doubt; /* announced and not collected yet */
};

#define NOBODY UINT64_MAX

static void tell(const struct fixture *f, const char *name, bool set)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    unlink(path);
    if (!set)
        return;
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Never while another one is announced and not collected: only one may be in doubt. */
static int launching(void *context, uint64_t id, struct gt_err *err)
{
    struct fixture *f = context;

    (void)err;
    assert_true(id < 64);
    assert_true(f->in_doubt == NOBODY);
    f->in_doubt = id;
    f->launched[id]++;
    return GT_OK;
}

static void notice(void *context, const char *sentence)
{
    (void)sentence;
    ((struct fixture *)context)->notices++;
}

static int open_fixture(void **state)
{
    const char *const folders[] = {"templates", "templates/common", "configs", "configs/kernels"};
    const char *data = getenv("GEMMTUNE_DATA");
    struct fixture *f = calloc(1, sizeof(*f));
    struct gt_err err = {0};
    char path[160], command[512];
    size_t i;

    assert_non_null(f);
    strcpy(f->folder, "/tmp/gemmtune-cuda-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    setenv("TEST_FOLDER", f->folder, 1);
    setenv("XDG_RUNTIME_DIR", f->folder, 1);
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(command, sizeof(command), "cp '%s/templates/common/args.h' '%s/templates/common/'",
             data ? data : ".", f->folder);
    assert_int_equal(system(command), 0);
    write_file(f->folder, "templates/played.cu", template_text);
    write_file(f->folder, "configs/kernels/played.json", description);
    snprintf(path, sizeof(path), "%s/configs/kernels/played.json", f->folder);
    if (gt_kernel_load(&f->kernel, f->folder, path, &err))
        fail_msg("%s", err.msg);
    gt_problem_init(&f->problem, 64, 64, 64);
    f->in_doubt = NOBODY;
    snprintf(f->cache, sizeof(f->cache), "%s/cache", f->folder);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    char command[128];

    if (f->open)
        gt_evaluator_cuda.close(&f->evaluator);
    gt_kernel_free(f->kernel);
    snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
    free(f);
    return system(command);
}

static int try_open(struct fixture *f, struct gt_evaluator *evaluator, const char *spec,
                    struct gt_err *err)
{
    *evaluator = (struct gt_evaluator){
        .ops = &gt_evaluator_cuda,
        .options =
            {
                .data_dir = f->folder,
                .cache_dir = f->cache,
                .jobs = 2,
                .launch_deadline_s = 0.5,
                .events = {f, launching, notice},
            },
    };
    return gt_evaluator_cuda.open(evaluator, spec, err);
}

static void open_evaluator(struct fixture *f)
{
    struct gt_err err = {0};
    int rc = try_open(f, &f->evaluator, "0", &err);

    if (rc == GT_ENOLIB) {
        print_message("# SKIP: %s\n", err.msg);
        skip();
    }
    if (rc)
        fail_msg("%s", err.msg);
    f->open = true;
    assert_string_equal(f->evaluator.device.name, "Played");
    if (gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err))
        fail_msg("%s", err.msg);
}

static struct gt_candidate candidate_of(const struct fixture *f, int fault, int wide)
{
    return (struct gt_candidate){
        .kernel = f->kernel,
        .problem = &f->problem,
        .device = &f->evaluator.device,
        .point = {{fault, wide}},
    };
}

static void submit(struct fixture *f, uint64_t id, int fault, int wide)
{
    const struct gt_candidate candidate = candidate_of(f, fault, wide);
    struct gt_err err = {0};

    assert_true(gt_evaluator_cuda.room(&f->evaluator) > 0);
    if (gt_evaluator_cuda.submit(&f->evaluator, id, &candidate, &err))
        fail_msg("%s", err.msg);
}

/* collect, and the trial is recorded. */
static int take(struct fixture *f, int timeout_ms, uint64_t *id, struct gt_trial *trial,
                struct gt_err *err)
{
    int rc = gt_evaluator_cuda.collect(&f->evaluator, timeout_ms, id, trial, err);

    if (rc == 1 && *id == f->in_doubt)
        f->in_doubt = NOBODY;
    return rc;
}

/* Collects count trials, each id once, within a minute. */
static void collect(struct fixture *f, struct gt_trial *trial, size_t count)
{
    const time_t until = time(NULL) + 60;
    struct gt_err err = {0};
    struct gt_trial one;
    uint64_t id;
    size_t done = 0;

    memset(trial, 0, count * sizeof(*trial));
    while (done < count) {
        int rc = take(f, 1000, &id, &one, &err);

        if (rc < 0)
            fail_msg("%s", err.msg);
        assert_true(time(NULL) < until);
        if (rc == 0)
            continue;
        assert_true(id < count);
        assert_int_equal(trial[id].status, GT_STATUS_NONE);
        trial[id] = one;
        done++;
    }
}

static void each_fault_is_its_own(void **state)
{
    static const enum gt_status expected[FAULTS] = {
        GT_STATUS_OK,
        GT_STATUS_COMPILE_ERROR,
        GT_STATUS_FAULT,
        GT_STATUS_TIMEOUT,
        GT_STATUS_FAULT,
        GT_STATUS_FAULT,
        GT_STATUS_WRONG,
        GT_STATUS_DEVICE_LOST,
        GT_STATUS_OK /* only the final kills it */,
        GT_STATUS_FAULT,
        GT_STATUS_OK /* refused in the final only */,
    };
    struct fixture *f = *state;
    struct gt_trial trial[2 * FAULTS];
    int i;

    open_evaluator(f);
    for (i = 0; i < 2 * FAULTS; i++) {
        if (!gt_evaluator_cuda.room(&f->evaluator))
            break;
        submit(f, (uint64_t)i, i % 2 ? GOOD : i / 2, i / 2 % 8);
    }
    assert_true(i >= 16); /* 4 x jobs + 8 */
    collect(f, trial, (size_t)i);
    while (--i >= 0) {
        const enum gt_status want = i % 2 ? GT_STATUS_OK : expected[i / 2];

        if (trial[i].status != want)
            fail_msg("candidate %d: %s instead of %s (%s)", i, gt_status_name(trial[i].status),
                     gt_status_name(want), trial[i].detail);
        assert_int_equal(f->launched[i], i / 2 == COMPILE_FAILS && i % 2 == 0 ? 0 : 1);
        if (want == GT_STATUS_OK)
            assert_true(trial[i].us == 100 + i / 2 % 8 && trial[i].registers > 0);
    }
    assert_non_null(strstr(trial[2 * STICKY].detail, "ILLEGAL_ADDRESS"));
    assert_non_null(strstr(trial[2 * ENDLESS].detail, "did not answer in"));
    assert_non_null(strstr(trial[2 * CRASH].detail, "signal 11"));
    assert_non_null(strstr(trial[2 * EXITS].detail, "code 3"));
    assert_non_null(strstr(trial[2 * ERROR].detail, "cuMemsetD32"));
    assert_non_null(strstr(trial[2 * COMPILE_FAILS].detail, "planted by the test"));
    assert_true(f->evaluator.stats.respawns >= 4); /* the last one to die is not replaced */
    assert_true(f->evaluator.stats.busy_s > 0.5);
    assert_true(f->evaluator.stats.wall_s >= f->evaluator.stats.busy_s);
    assert_true(f->notices > 0);
}

/* The pid of a GPU worker, a child of ours whose command line says so; 0: none. */
static pid_t gpu_worker(void)
{
    char path[64], text[512] = "", line[256];
    char *at = text;
    FILE *file;
    pid_t pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    assert_non_null(file);
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    while ((pid = (pid_t)strtol(at, &at, 10)) > 0) {
        size_t n;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        file = fopen(path, "r");
        if (!file)
            continue;
        n = fread(line, 1, sizeof(line) - 1, file);
        fclose(file);
        if (n > 5 && memmem(line, n, GT_ROLE_GPU, strlen(GT_ROLE_GPU)))
            return pid;
    }
    return 0;
}

/* The worker is killed at moments that nobody chose; nothing is lost, nothing comes twice. */
static void killed_at_random_moments(void **state)
{
    struct fixture *f = *state;
    struct gt_trial one;
    struct gt_err err = {0};
    uint64_t seen = 0, id;
    int next = 0, done = 0, kills = 0, faults = 0;
    unsigned random = 1;

    open_evaluator(f);
    while (done < 60) {
        while (next < 60 && gt_evaluator_cuda.room(&f->evaluator)) {
            submit(f, (uint64_t)next, GOOD, next % 8);
            next++;
        }
        random = random * 1103515245u + 12345u;
        if (random >> 16 & 1 && kills < 12) {
            const pid_t pid = gpu_worker();

            if (pid)
                kills += kill(pid, random >> 17 & 1 ? SIGKILL : SIGABRT) == 0;
        }
        switch (take(f, (int)(random >> 20) % 6, &id, &one, &err)) {
        case 1:
            assert_true(id < 60 && !(seen >> id & 1));
            seen |= (uint64_t)1 << id;
            done++;
            if (one.status == GT_STATUS_FAULT) {
                assert_non_null(strstr(one.detail, "signal"));
                faults++;
            } else {
                assert_int_equal(one.status, GT_STATUS_OK);
            }
            break;
        case 0:
            break;
        default:
            fail_msg("%s", err.msg);
        }
    }
    assert_true(kills > 3);
    assert_true(faults <= kills);
    for (id = 0; id < 60; id++)
        assert_int_equal(f->launched[id], 1);
}

static void a_sick_device_is_lost(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    struct gt_err err = {0};
    uint64_t id;
    int rc;

    open_evaluator(f);
    tell(f, "sick", true);
    submit(f, 0, CRASH, 0);
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, 1); /* the crash is reported first */
    assert_int_equal(id, 0);
    submit(f, 1, GOOD, 0);
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, GT_ELOST);
    assert_non_null(strstr(err.msg, "the canary is wrong"));
    assert_int_equal(f->launched[1], 0); /* nobody is charged with the device's state */
    tell(f, "sick", false);
    submit(f, 2, GOOD, 1); /* it may come back */
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

static void problems_that_do_not_fit_or_kill(void **state)
{
    struct fixture *f = *state;
    struct gt_problem large;
    struct gt_err err = {0};

    open_evaluator(f);
    gt_problem_init(&large, 4096, 64, 64);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &large, &err), GT_ETOOBIG);
    assert_string_equal(err.msg, "needs 9 bytes of 8");
    tell(f, "dead", true);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_ELOST);
    assert_non_null(strstr(err.msg, "signal 6"));
    tell(f, "dead", false);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_OK);
}

static void sample_and_final(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate list[4];
    struct gt_trial trial[4], baseline;
    struct gt_calibration reached;
    struct gt_baseline cublas;
    struct gt_err err = {0};
    double us, busy_s;

    open_evaluator(f);
    list[0] = candidate_of(f, GOOD, 3);
    list[1] = candidate_of(f, STICKY, 0);
    list[2] = candidate_of(f, ENDLESS, 0);
    list[3] = candidate_of(f, COMPILE_FAILS, 0);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_OK);
    assert_true(cublas.us == 99);
    gt_evaluator_cuda.set_best(&f->evaluator, 1); /* deadlines of 0.5 s */
    busy_s = f->evaluator.stats.busy_s;
    for (int i = 0; i < 4; i++)
        assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &list[i], &trial[i], &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_false(trial[0].varies);
    assert_int_equal(trial[1].status, GT_STATUS_FAULT);
    assert_int_equal(trial[2].status, GT_STATUS_TIMEOUT);
    assert_true(f->evaluator.stats.busy_s > busy_s + 0.3); /* sampling is work, too */
    assert_int_equal(trial[3].status, GT_STATUS_COMPILE_ERROR);
    assert_int_equal(gt_evaluator_cuda.reference(&f->evaluator, &us, &err), GT_OK);
    assert_true(us == 7);
    /* It gives up the problem, which is opened anew where it is needed next. */
    assert_int_equal(gt_evaluator_cuda.calibrate(&f->evaluator, true, &reached, &err), GT_OK);
    assert_true(reached.value[GT_CALIBRATION_MEMORY_COPY] == 3900 &&
                !reached.value[GT_CALIBRATION_FMA]);
    /* Two of them kill the final; those that remain are held against cuBLAS, which the new worker
     * had to open again. */
    list[1] = candidate_of(f, CRASH, 0);
    list[2] = candidate_of(f, GOOD, 5);
    if (gt_evaluator_cuda.final(&f->evaluator, list, 4, 9, trial, &baseline, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 3);
    assert_int_equal(trial[0].samples, 9);
    assert_int_equal(trial[1].status, GT_STATUS_FAULT);
    assert_true(trial[2].us == 105);
    assert_int_equal(trial[3].status, GT_STATUS_COMPILE_ERROR);
    assert_true(baseline.us == 99);
    list[0] = candidate_of(f, FINAL_CRASH, 0); /* passes alone: its samples stand in */
    list[1] = candidate_of(f, GOOD, 1);
    f->notices = 0;
    assert_int_equal(gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_true(trial[1].us == 101 && trial[1].stage == 2);
    assert_true(f->notices > 3);
    list[0] = candidate_of(f, FINAL_REFUSED, 0); /* the same without a death */
    if (gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_true(trial[1].us == 101 && trial[1].stage == 2);
    list[0] = candidate_of(f, GOOD, 6); /* one with atomics, as its description says */
    assert_int_equal(gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err), GT_OK);
    assert_true(trial[0].varies && !trial[1].varies);
}

static void baselines_that_are_not_there(void **state)
{
    struct fixture *f = *state;
    struct gt_baseline cublas;
    struct gt_trial trial;
    struct gt_err err = {0};

    open_evaluator(f);
    tell(f, "no-cublas", true);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_ENOLIB);
    tell(f, "no-cublas", false);
    tell(f, "bad-cublas", true);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "signal 6"));
    submit(f, 0, GOOD, 0);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

/* An image that somebody removed from the cache is compiled again, without a second attempt. */
static void a_lost_image_is_compiled_again(void **state)
{
    struct fixture *f = *state;
    const struct gt_candidate candidate = candidate_of(f, GOOD, 2);
    struct gt_trial trial;
    struct gt_err err = {0};
    char command[160];

    open_evaluator(f);
    submit(f, 0, GOOD, 2);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    snprintf(command, sizeof(command), "truncate -s 100 '%s'/*", f->cache);
    assert_int_equal(system(command), 0);
    submit(f, 0, GOOD, 2);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &candidate, &trial, &err), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

static void dropped_candidates(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    uint64_t id;
    size_t left, i;
    int rc;

    open_evaluator(f);
    for (i = 0; i < 8; i++)
        submit(f, i, GOOD, (int)i);
    left = gt_evaluator_cuda.drop(&f->evaluator);
    assert_true(left <= 8);
    for (i = 0; i < left;) {
        rc = take(f, 5000, &id, &trial, NULL);
        assert_true(rc >= 0);
        i += (size_t)rc;
    }
    assert_int_equal(take(f, 300, &id, &trial, NULL), 0);
}

static void ignore_alarm(int number)
{
    (void)number;
}

/* A signal makes collect return at once; a second one ends what blocks. */
static void signals_are_noticed(void **state)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 200000}};
    const struct sigaction action = {.sa_handler = ignore_alarm};
    volatile sig_atomic_t signals = 2;
    struct fixture *f = *state;
    struct gt_candidate hanging;
    struct gt_trial trial;
    struct gt_err err = {0};
    struct timespec from, to;
    uint64_t id;

    open_evaluator(f);
    sigaction(SIGALRM, &action, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_true(to.tv_sec - from.tv_sec < 5);
    f->evaluator.options.signals = &signals;
    f->evaluator.options.launch_deadline_s = 60;
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_OK);
    hanging = candidate_of(f, ENDLESS, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &hanging, &trial, &err),
                     GT_EINTERRUPTED);
}

/* While the GPU works, the supervisor sleeps. */
static void the_supervisor_idles(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    struct rusage before, after;
    double used;

    open_evaluator(f);
    submit(f, 0, ENDLESS, 0);
    getrusage(RUSAGE_SELF, &before);
    collect(f, &trial, 1);
    getrusage(RUSAGE_SELF, &after);
    used = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
           (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6;
    assert_true(used < 0.1);
}

static void devices_that_cannot_be_opened(void **state)
{
    struct fixture *f = *state;
    const struct gt_evaluator_options options = {.data_dir = f->folder, .cache_dir = f->cache};
    struct gt_evaluator second, *other = NULL;
    struct gt_err err = {0};

    assert_int_equal(gt_evaluator_open(&other, "vulkan:0", &options, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "vulkan:0"));
    assert_int_equal(gt_evaluator_open(&other, "cud", &options, &err), GT_ENOTFOUND);
    assert_int_equal(gt_evaluator_open(&other, "cuda:-1", &options, &err), GT_ENOTFOUND);
    assert_null(other);
    assert_int_equal(try_open(f, &second, "x", &err), GT_ENOTFOUND);
    assert_int_equal(try_open(f, &second, "3", &err), GT_ENOGPU);
    assert_string_equal(err.msg, "device 3: there is 1 device");
    open_evaluator(f);
    assert_int_equal(try_open(f, &second, "0", &err), GT_EBUSY);
    assert_non_null(strstr(err.msg, "process"));
}

/* A worker that is killed before it has said anything is replaced like any other. */
static void killed_while_starting(void **state)
{
    struct fixture *f = *state;
    struct gt_evaluator second;
    struct gt_trial trial;
    struct gt_err err = {0};
    uint64_t id;

    write_file(f->folder, "stillborn at first", "five.");
    open_evaluator(f);
    submit(f, 1, GOOD, 0);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    write_file(f->folder, "stillborn at first", "seven..");
    kill(gpu_worker(), SIGKILL);
    submit(f, 2, GOOD, 1);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 1);
    gt_evaluator_cuda.close(&f->evaluator);
    f->open = false;
    write_file(f->folder, "stillborn", "");
    assert_int_equal(try_open(f, &second, "0", &err), GT_ELOST);
    assert_non_null(strstr(err.msg, "killed by signal 9"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(each_fault_is_its_own),
        TEST(killed_at_random_moments),
        TEST(a_sick_device_is_lost),
        TEST(problems_that_do_not_fit_or_kill),
        TEST(sample_and_final),
        TEST(baselines_that_are_not_there),
        TEST(a_lost_image_is_compiled_again),
        TEST(dropped_candidates),
        TEST(signals_are_noticed),
        TEST(the_supervisor_idles),
        TEST(devices_that_cannot_be_opened),
        TEST(killed_while_starting),
    };

    if (argc > 1 && !strcmp(argv[1], GT_ROLE_COMPILE))
        return gt_worker_compile_main(GT_WORKER_FD);
    if (argc > 1 && !strcmp(argv[1], GT_ROLE_GPU))
        return gt_worker_gpu_main(GT_WORKER_FD);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
