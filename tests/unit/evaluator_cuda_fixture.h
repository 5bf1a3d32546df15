/* evaluator_cuda_fixture.h - the supervisor of GPU workers over a device that is played: real
 * processes, pipes, compilations and deadlines. */
#ifndef EVALUATOR_CUDA_FIXTURE_H
#define EVALUATOR_CUDA_FIXTURE_H

#include "played_device.h"

#include "evaluate/evaluator.h"
#include "workers/process.h"

extern const struct gt_evaluator_ops gt_evaluator_cuda;

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
    " {\"name\": \"WIDE\", \"values\": [0,1,2,3,4,5,6,7,8], \"default\": 0, \"kind\": \"compile\", "
    "\"doc\": \"d\"}],\n"
    "\"derive\": [], \"constraints\": [], \"workspace\": \"WIDE == 8 ? 300000000 : 0\",\n"
    "\"deterministic\": \"WIDE != 6\",\n"
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
    bool open_attempt[64]; /* announced and not collected yet */
    bool suspect[64];      /* an earlier attempt of it never ended */
};

static inline void tell(const struct fixture *f, const char *name, bool set)
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

static inline void write_file(const char *folder, const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline bool in_doubt(void *context, uint64_t id)
{
    const struct fixture *f = context;

    assert_true(id < 64);
    return f->suspect[id];
}

/* Never more than two are announced and not collected, and one that was in doubt before is alone.
 */
static inline int launching(void *context, uint64_t id, struct gt_err *err)
{
    struct fixture *f = context;
    int others = 0;

    (void)err;
    assert_true(id < 64);
    for (int i = 0; i < 64; i++) {
        others += f->open_attempt[i];
        assert_false(f->open_attempt[i] && (f->suspect[i] || f->suspect[id]));
    }
    assert_true(others < 2);
    f->open_attempt[id] = true;
    f->launched[id]++;
    return GT_OK;
}

static inline void notice(void *context, const char *sentence)
{
    (void)sentence;
    ((struct fixture *)context)->notices++;
}

static inline int open_fixture(void **state)
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
    setenv("GEMMTUNE_LOCKS", f->folder, 1);
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
    snprintf(f->cache, sizeof(f->cache), "%s/cache", f->folder);
    *state = f;
    return 0;
}

static inline int close_fixture(void **state)
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

static inline int try_open(struct fixture *f, struct gt_evaluator *evaluator, const char *spec,
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
                .events = {f, launching, in_doubt, notice},
            },
    };
    return gt_evaluator_cuda.open(evaluator, spec, err);
}

static inline void open_evaluator(struct fixture *f)
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

static inline struct gt_candidate candidate_of(const struct fixture *f, int fault, int wide)
{
    return (struct gt_candidate){
        .kernel = f->kernel,
        .problem = &f->problem,
        .device = &f->evaluator.device,
        .point = {{fault, wide}},
    };
}

static inline void submit(struct fixture *f, uint64_t id, int fault, int wide)
{
    const struct gt_candidate candidate = candidate_of(f, fault, wide);
    struct gt_err err = {0};

    if (gt_evaluator_cuda.submit(&f->evaluator, id, &candidate, &err))
        fail_msg("%s", err.msg);
}

/* collect, and the trial is recorded. */
static inline int take(struct fixture *f, int timeout_ms, uint64_t *id, struct gt_trial *trial,
                       struct gt_err *err)
{
    int rc = gt_evaluator_cuda.collect(&f->evaluator, timeout_ms, id, trial, err);

    if (rc == 1)
        f->open_attempt[*id] = false;
    return rc;
}

/* Collects count trials, each id once, within a minute. */
static inline void collect(struct fixture *f, struct gt_trial *trial, size_t count)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

/* The result of a program that was started as a worker, or -1: it is the test itself. */
static inline int work(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], GT_ROLE_COMPILE))
        return gt_worker_compile_main(GT_WORKER_FD);
    if (argc > 1 && !strcmp(argv[1], GT_ROLE_GPU))
        return gt_worker_gpu_main(GT_WORKER_FD);
    return -1;
}

#endif
