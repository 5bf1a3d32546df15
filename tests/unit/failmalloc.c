/* failmalloc.c - the linker's --wrap sends malloc and its relatives here; and the loop that fails
 * every allocation of a piece of work in turn. */
#include "failmalloc.h"

#include "gemmtune.h"
#include "whole.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static struct {
    bool counting, failed;
    long until, live;
} fail;

/* Whether this allocation is to fail; counts it. */
static bool fails(void)
{
    if (!fail.counting || !fail.until || --fail.until)
        return false;
    fail.failed = true;
    errno = ENOMEM;
    return true;
}

static void *count_live(void *block)
{
    if (fail.counting && block)
        fail.live++;
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : count_live(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : count_live(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    void *block;

    if (fails())
        return NULL;
    block = __real_realloc(old, bytes);
    return old ? block : count_live(block);
}

char *__wrap_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = __wrap_malloc(bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

void __wrap_free(void *block)
{
    if (fail.counting && block)
        fail.live--;
    __real_free(block);
}

void gt_failmalloc_start(long n)
{
    cJSON_Hooks hooks = {__wrap_malloc, __wrap_free};

    cJSON_InitHooks(&hooks);
    fail.failed = false;
    fail.until = n;
    fail.live = 0;
    fail.counting = true;
}

void gt_failmalloc_relent(void)
{
    fail.until = 0;
}

bool gt_failmalloc_stop(void)
{
    cJSON_InitHooks(NULL);
    fail.counting = false;
    return fail.failed;
}

long gt_failmalloc_live(void)
{
    return fail.live;
}

void gt_failmalloc_every(const char *what, int (*act)(struct gt_err *), long least)
{
    bool failed;
    long n = 0, tried = 0;

    do {
        struct gt_err err = {0};
        int code;

        n += gt_whole(1, 1 + n / 8);
        tried++;
        gt_failmalloc_start(n);
        code = act(&err);
        failed = gt_failmalloc_stop();
        if (gt_failmalloc_live() > 0)
            fail_msg("%s: %ld blocks leak when allocation %ld fails", what, gt_failmalloc_live(),
                     n);
        if (failed && (code != GT_ENOMEM || err.code != GT_ENOMEM || !strstr(err.msg, "memory")))
            fail_msg("%s: %d \"%s\" when allocation %ld fails", what, code, err.msg, n);
        if (!failed && code)
            fail_msg("%s: %s", what, err.msg);
    } while (failed && n < 100000);
    print_message("%s: %ld of about %ld allocations\n", what, tried - 1, n - 1);
    assert_true(n > least);
}
