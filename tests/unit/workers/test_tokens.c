/* test_tokens.c - tests that a token is held once, within a process and between processes, and that
 * those of a process that is killed are free again. */
#include "gemmtune.h"
#include "workers/processors.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_within_a_process(void **state)
{
    struct gt_tokens tokens;
    bool held[GT_TOKENS_MAX] = {false};
    int first = -1, second = -1, third = -1;

    (void)state;
    assert_int_equal(gt_tokens_open(&tokens, 2, NULL), GT_OK);
    assert_true(gt_tokens_take(&tokens, held, &first));
    assert_true(gt_tokens_take(&tokens, held, &second));
    assert_int_not_equal(first, second);
    assert_false(gt_tokens_take(&tokens, held, &third));
    gt_tokens_give(&tokens, held, first);
    assert_true(gt_tokens_take(&tokens, held, &third));
    assert_int_equal(third, first);
    gt_tokens_close(&tokens);
    gt_tokens_close(&tokens);
}

static void test_none_asked_for(void **state)
{
    bool held[GT_TOKENS_MAX] = {false};
    int token = 7;

    (void)state;
    assert_true(gt_tokens_take(NULL, held, &token));
    gt_tokens_give(NULL, held, token);
}

/* A child takes one of two tokens, says so, and waits to be killed. */
static void test_a_killed_process_gives_its_token_back(void **state)
{
    struct gt_tokens tokens;
    bool held[GT_TOKENS_MAX] = {false};
    int ready[2], token, status;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(gt_tokens_open(&tokens, 2, NULL), GT_OK);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (gt_tokens_take(&tokens, held, &token) && write(ready[1], "r", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(gt_tokens_take(&tokens, held, &token));
    assert_false(gt_tokens_take(&tokens, held, &token));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(gt_tokens_take(&tokens, held, &token));
    close(ready[0]);
    close(ready[1]);
    gt_tokens_close(&tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within_a_process),
        cmocka_unit_test(test_none_asked_for),
        cmocka_unit_test(test_a_killed_process_gives_its_token_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
