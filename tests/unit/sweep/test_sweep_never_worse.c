/* test_sweep_never_worse.c - tests on 200 made-up problems that no sweep, however short and
 * wherever it ends, makes the answer of a look-up slower.  The model knows the device within a
 * third.  The race's times are off by up to 15 %, so that its order alone would mislead; times that
 * were taken in turns are off by 0.5 %. */
#include "sweep_fixture.h"

#include "db/store_internal.h"
#include "lookup/predict.h"
#include "lookup/table.h"
#include "whole.h"

#define PROBLEMS (int)gt_whole(200, 60)
#define SHIPPED  6
#define NOISE    1.02

static uint64_t device_seed; /* of the device, which has other times in each test */

/* A number from 0 to 1 that belongs to a problem, kernel, point and purpose. */
static double unit_of(const struct gt_problem *problem, const struct gt_kernel *kernel,
                      const struct gt_point *point, uint64_t purpose)
{
    struct gt_random random = {device_seed + purpose};

    random.state += (uint64_t)problem->m << 40 ^ (uint64_t)problem->n << 20 ^ (uint64_t)problem->k;
    gt_random_unit(&random);
    random.state +=
        (uint64_t)(point->value[0] * SIDE + point->value[1]) << 8 ^ (uint64_t)*kernel->name;
    gt_random_unit(&random);
    return gt_random_unit(&random);
}

/* What the candidate takes: from 3/4 to 4/3 of what the model expects. */
static double true_us(const struct gt_problem *problem, const struct gt_device *device,
                      const struct gt_kernel *kernel, const struct gt_point *point)
{
    const struct gt_candidate candidate = {kernel, problem, device, *point};
    struct gt_geometry geometry;
    double us;

    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), GT_OK);
    assert_int_equal(gt_predict(&candidate, &geometry, 0, 0, &us, NULL), GT_OK);
    return us * (0.75 + 0.58 * unit_of(problem, kernel, point, 0));
}

static double raced_us(const struct gt_candidate *c)
{
    return true_us(c->problem, c->device, c->kernel, &c->point) *
           (0.85 + 0.3 * unit_of(c->problem, c->kernel, &c->point, 1));
}

static double final_us(const struct gt_candidate *c)
{
    return true_us(c->problem, c->device, c->kernel, &c->point) *
           (0.995 + 0.01 * unit_of(c->problem, c->kernel, &c->point, 2));
}

struct table {
    struct gt_table_row row[SHIPPED];
    char text[SHIPPED][GT_PROBLEM_TEXT_MAX], point[SHIPPED][32];
    struct gt_table table;
};

/* Winners of problems that are not asked for, some of a kernel that is not searched. */
static void make_shipped(struct table *table, struct search *s, const struct gt_kernels *known,
                         struct gt_random *random)
{
    for (int i = 0; i < SHIPPED; i++) {
        struct gt_table_row *row = &table->row[i];
        const struct gt_kernel *kernel = known->kernel[i % 2];
        struct gt_point point = {{0}};

        *row = (struct gt_table_row){
            .text = table->text[i],
            .device = "made up",
            .kernel = kernel->name,
            .signature = kernel->signature,
            .point = table->point[i],
            .cc = s->device.cc,
            .contested = true,
        };
        gt_problem_init(&row->problem, 100 + 500 * i, 3000 - 400 * i, 700);
        gt_problem_format(&row->problem, table->text[i]);
        point.value[0] = (int64_t)gt_random_below(random, SIDE);
        point.value[1] = (int64_t)gt_random_below(random, SIDE);
        snprintf(table->point[i], sizeof(table->point[i]), "P=%d,Q=%d", (int)point.value[0],
                 (int)point.value[1]);
        row->us = true_us(&row->problem, &s->device, kernel, &point);
    }
    table->table = (struct gt_table){.row = table->row, .rows = SHIPPED};
}

/* What the answer of a look-up takes. */
static double answer_us(struct bench *bench, const struct gt_problem *problem)
{
    struct search *s = bench->s;
    struct gt_snapshot now;
    struct gt_resolved resolved;
    double us;

    OK(&s->err,
       gt_snapshot_take(&now, bench->options.known, bench->store, bench->options.shipped, &s->err));
    OK(&s->err, gt_snapshot_lookup(&now, &s->device, problem, &resolved, &s->err));
    us = true_us(problem, &s->device, resolved.kernel, &resolved.point);
    gt_resolved_release(&resolved);
    gt_snapshot_release(&now);
    return us;
}

/* One sweep of a kind: one trial, few trials, a short time, an interrupt, the end of the tuner in
 * the finals. */
static void sweep(struct bench *bench, int kind, struct gt_random *random)
{
    struct fake fake = new_fake(bench->s, true);
    int64_t few = 2 + (int64_t)gt_random_below(random, 12);

    fake.us_of = raced_us;
    fake.final_us_of = final_us;
    fake.ops.now = trial_clock;
    fake.evaluator.device = bench->s->device;
    bench->options.budget = (struct gt_budget){.trials = kind == 0 ? 1 : few};
    if (kind == 2)
        bench->options.budget = (struct gt_budget){.seconds = 1e-3 * (double)few};
    if (kind == 3)
        fake.signal_after = 1 + gt_random_below(random, (size_t)few);
    fake.finals_lost = kind == 4;
    run(bench, &fake);
}

static void test_no_answer_gets_slower(void **state)
{
    struct search *s = *state;
    struct bench bench = open_bench(s);
    struct gt_random random = {7};
    struct gt_kernel *list[2];
    struct gt_kernels known = {.kernel = list, .count = 2};
    struct table shipped;
    int better = 0;

    device_seed = 1;
    bench.kernel[1] = grid_kernel(s, "other");
    memcpy(list, bench.kernel, sizeof(list));
    s->device.profile = false;
    strcpy(s->device.uuid, "GPU-1");
    make_shipped(&shipped, s, &known, &random);
    bench.options.known = &known;
    bench.options.shipped = &shipped.table;
    bench.options.strategy = "random";
    for (int i = 0; i < PROBLEMS; i++) {
        double before, after;

        gt_problem_init(&s->problem, 1 + (int64_t)gt_random_below(&random, 4000),
                        1 + (int64_t)gt_random_below(&random, 4000),
                        1 + (int64_t)gt_random_below(&random, 4000));
        bench.options.kernels = i % 3 ? 2 : 1;
        before = answer_us(&bench, &s->problem);
        assert_true(before > 0);
        for (int again = 0; again < 1 + !(i % 4); again++) { /* after another end than the first */
            sweep(&bench, (i + again * (1 + i / 5 % 4)) % 5, &random);
            after = answer_us(&bench, &s->problem);
            if (after > NOISE * before)
                fail_msg("problem %d: %.1f us before, %.1f us after sweep %d", i, before, after,
                         again);
        }
        better += after < 0.9 * before;
    }
    assert_in_range(better, PROBLEMS / 4,
                    PROBLEMS); /* three fifths end before a final or try one */
    close_bench(&bench);
}

/* The database takes no more than the first time of a final: the answer stays, whether that one is
 * the incumbent's or none was kept. */
static void test_a_cut_among_the_times_of_a_final(void **state)
{
    struct search *s = *state;
    struct bench bench = open_bench(s);
    struct gt_random random = {3};
    struct gt_kernel *list[1] = {bench.kernel[0]};
    struct gt_kernels known = {.kernel = list, .count = 1};
    struct fake fake = new_fake(s, true);
    struct gt_table_row row = {
        .problem = s->problem,
        .text = "512x1024x1024:f32:nn",
        .device = "made up",
        .kernel = "grid",
        .signature = bench.kernel[0]->signature,
        .point = "P=2,Q=13",
        .cc = s->device.cc,
        .us = 50,
        .contested = true,
    };
    const struct gt_table shipped = {.row = &row, .rows = 1};
    double before;

    device_seed = random.state;
    row.problem.m = 512;
    s->device = fake.evaluator.device;
    fake.us_of = raced_us;
    fake.final_us_of = final_us;
    bench.options.known = &known;
    bench.options.shipped = &shipped;
    bench.options.budget.trials = 7;
    before = answer_us(&bench, &s->problem);
    OK(&s->err,
       gt_store_exec(bench.store,
                     "CREATE TEMP TRIGGER cut BEFORE INSERT ON main.trial WHEN NEW.stage = 3 AND"
                     " EXISTS (SELECT 1 FROM main.trial WHERE stage = 3)"
                     " BEGIN SELECT RAISE(ABORT, 'cut'); END",
                     &s->err));
    assert_int_equal(run(&bench, &fake), GT_EDB);
    assert_int_equal(fake.contests, 1);
    assert_true(answer_us(&bench, &s->problem) == before);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_no_answer_gets_slower),
        WITH_FOLDER(test_a_cut_among_the_times_of_a_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
