/* test_lookup_answers.c - what is remembered: how long an answer stays, that memory is bounded, and
 * many threads that find, remember and forget at once. */
#include "lookup_fixture.h"

#include "lookup/lookup_impl.h"

#include <malloc.h>
#include <pthread.h>

static const struct gt_answer *ask_size(struct world *w, int64_t m)
{
    const struct gt_answer *answer = NULL;
    struct gt_problem problem;

    gt_problem_init(&problem, m, 64, 64);
    OK(w, gt_lookup(w->gt, 90, NULL, &problem, &answer, &w->err));
    return answer;
}

static void ask_generation(struct world *w, int64_t first)
{
    for (int64_t m = first; m < first + GT_ANSWERS_KEPT; m++)
        ask_size(w, m);
}

static void test_an_answer_stays_for_a_generation(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    char point[64];

    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=64,VEC=4", 5);
    open_tables(w, NULL);
    answer = ask_size(w, 1);
    snprintf(point, sizeof(point), "%s", answer->point);
    ask_generation(w, 100);
    assert_string_equal(answer->point, point); /* it is in the generation before */
    assert_ptr_equal(ask_size(w, 1), answer);  /* and moves on when it is asked for */
    ask_generation(w, 100 + GT_ANSWERS_KEPT);
    assert_string_equal(answer->point, point);
    assert_ptr_equal(ask_size(w, 1), answer);
}

static void test_memory_is_bounded(void **state)
{
    struct world *w = *state;
    size_t full;

    if (!mallinfo2().uordblks) {
        print_message("a sanitizer's allocator does not tell what is in use\n");
        skip();
    }
    open_tables(w, NULL);
    ask_generation(w, 1);
    ask_generation(w, 1 + GT_ANSWERS_KEPT);
    full = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_true(full < (size_t)16 << 20);
    for (int64_t i = 2; i < 5; i++)
        ask_generation(w, 1 + i * GT_ANSWERS_KEPT);
    assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 1, full + full / 8);
}

#define THREADS 4

struct asker {
    struct world *w;
    int64_t first;
    bool right;
};

/* Problems of its own and problems of all, which are asked for again and again. */
static void *ask_many(void *context)
{
    struct asker *asker = context;

    asker->right = true;
    for (int64_t i = 0; i < GT_ANSWERS_KEPT && asker->right; i++) {
        const int64_t m = i % 4 ? asker->first + i : 64 + i % 512;
        const struct gt_answer *answer = NULL;
        struct gt_problem problem;

        gt_problem_init(&problem, m, 64, 64);
        asker->right = gt_lookup(asker->w->gt, 90, NULL, &problem, &answer, NULL) == GT_OK &&
                       answer->grid[0] == (unsigned)((m + 63) / 64) &&
                       strcmp(answer->point, "BM=64,VEC=4") == 0;
    }
    return NULL;
}

static void test_threads_across_generations(void **state)
{
    struct world *w = *state;
    struct asker asker[THREADS];
    pthread_t thread[THREADS];

    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=64,VEC=4", 5);
    open_tables(w, NULL);
    for (int i = 0; i < THREADS; i++) {
        asker[i] = (struct asker){w, 1000 + 10000 * i, false};
        assert_int_equal(pthread_create(&thread[i], NULL, ask_many, &asker[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_true(asker[i].right);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_answer_stays_for_a_generation),
        TEST(test_memory_is_bounded),
        TEST(test_threads_across_generations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
