/* test_search_nomem.c - space, strategies and a whole sweep when memory runs out: whichever of
 * their allocations fails, the answer is GT_ENOMEM with its sentence, and nothing leaks. */
#include "sweep_fixture.h"

#include "search/strategy.h"
#include "failmalloc.h"

/* What the actions below work on; made once. */
static struct {
    struct search *s;
    struct gt_kernel *kernel;
    struct gt_space space;
    int number; /* of the next database */
} at;

static int do_space(struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t limit = 0; limit < 200 && !rc; limit += 100) {
        struct gt_space space;

        rc = gt_space_init(&space, at.kernel, &at.s->problem, &at.s->device, limit, err);
        gt_space_release(&space);
    }
    return rc;
}

static int do_strategies(struct gt_err *err)
{
    const size_t point[] = {1, 2, 3};
    const float us[] = {30, 20, 10};
    const struct gt_transfer prior = {point, us, 3};
    const struct gt_seeds seeds = {.point = point, .count = 3, .transfer = &prior, .transfers = 1};
    int rc = GT_OK;

    for (size_t i = 0; gt_strategies[i] && !rc; i++) {
        struct gt_strategy *strategy = NULL;

        rc = gt_strategy_new(&strategy, gt_strategies[i]->name, &at.space, 1, &seeds, err);
        for (int step = 0; step < 40 && !rc; step++) {
            size_t next;

            if (gt_strategy_next(strategy, &next) == GT_NEXT_POINT)
                gt_strategy_tell(strategy, next, 10 + step % 7);
        }
        if (!rc)
            gt_strategy_free(strategy);
    }
    return rc;
}

/* A recording in the form that C reads, and a space in T1 with one of another form. */
static int do_replay(struct gt_err *err)
{
    static const char *const file[] = {"own.json", "t1.json"};
    int rc = GT_OK;

    for (int i = 0; i < 2 && !rc; i++) {
        struct gt_evaluator_options options = {.jobs = 2};
        struct gt_evaluator *evaluator = NULL;
        char device[128];

        snprintf(device, sizeof(device), "replay:%s/%s", at.s->folder, file[i]);
        rc = gt_evaluator_open(&evaluator, device, &options, err);
        if (!rc)
            gt_evaluator_close(evaluator);
    }
    return rc;
}

static void write_recordings(const char *folder)
{
    write_file(
        folder, "own.json",
        "{\"gemmtune_recording\": 1, \"device\": \"G\", \"params\": [{\"name\": \"P\", "
        "\"values\": [1, 2]}, {\"name\": \"Q\", \"words\": [\"x\", \"y\"], \"values\": [0, 1]}], "
        "\"points\": 1, \"samples\": 2}\n{\"point\": [0, 1], \"status\": \"ok\", \"us\": 2, "
        "\"samples\": [1, 3]}\n");
    write_file(folder, "t4.json",
               "{\"results\": [{\"configuration\": {\"P\": 1, \"Q\": \"x\"}, \"times\": "
               "{\"runtimes\": [1, 2]}, \"invalidity\": \"correct\"}]}");
    write_file(folder, "t1.json",
               "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"P\", \"Values\": "
               "\"[i for i in range(1, 3)]\"}, {\"Name\": \"Q\", \"Values\": \"['x', 'y']\"}], "
               "\"Conditions\": [{\"Expression\": \"P * 2 < 9 and Q in ('x', 'y')\"}]}, "
               "\"KernelSpecification\": {\"KernelName\": \"k\", \"SimulationInput\": "
               "\"t4.json\"}}");
}

static int do_sweep(struct gt_err *err)
{
    struct fake fake = new_fake(at.s, true);
    const struct gt_kernel *kernel = at.kernel;
    struct gt_sweep_options options = {
        .problem = &at.s->problem,
        .problems = 1,
        .kernel = &kernel,
        .kernels = 1,
        .evaluator = &fake.evaluator,
        .budget = {.trials = 10},
        .drift_check_s = 1e-9,
    };
    struct gt_sweep_result result = {0};
    char path[128];
    int rc;

    fake.evaluator.ops = &fake.ops;
    fake.drift_at = 4;
    snprintf(path, sizeof(path), "%s/%d.db", at.s->folder, at.number++);
    rc = gt_store_open(&options.store, path, GT_STORE_WRITE, err);
    if (!rc)
        rc = gt_sweep_run(&options, &result, err);
    gt_sweep_result_release(&result);
    gt_failmalloc_relent(); /* closing seals the database, or leaves the digest out: no error */
    gt_store_close(options.store);
    unlink(path);
    return rc;
}

static void test_every_allocation(void **state)
{
    at.s = *state;
    at.kernel = grid_kernel(at.s, "grid");
    OK(&at.s->err,
       gt_space_init(&at.space, at.kernel, &at.s->problem, &at.s->device, 0, &at.s->err));
    gt_failmalloc_every("space", do_space, 8);
    gt_failmalloc_every("strategies", do_strategies, 12);
    gt_failmalloc_every("sweep", do_sweep, 60);
    write_recordings(at.s->folder);
    gt_failmalloc_every("replay", do_replay, 60);
    gt_space_release(&at.space);
    gt_kernel_free(at.kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_allocation, search_setup, search_teardown),
    };

    return cmocka_run_group_tests_name("search_nomem", tests, NULL, NULL);
}
