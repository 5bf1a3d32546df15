/* test_book.c - the table of problems: many threads, equal keys, a full table; and workspaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "serve/book.h"
#include "serve/workspace.h"

#define THREADS  8
#define PROBLEMS 3000

static struct gt_call_key key_of(int64_t number)
{
    struct gt_call_key key;

    memset(&key, 0, sizeof(key));
    key.size[0] = number;
    return key;
}

static void release(struct gt_book *book)
{
    free(book->slot);
    free(book->entry);
}

struct asking {
    struct gt_book *book;
    struct gt_entry *entry[PROBLEMS];
    int fresh, seed;
};

static void *ask(void *argument)
{
    struct asking *asking = argument;

    for (int i = 0; i < PROBLEMS; i++) {
        const int number = (i * 7 + asking->seed * 311) % PROBLEMS;
        const struct gt_call_key key = key_of(number);
        bool fresh;

        asking->entry[number] = gt_book_find(asking->book, &key, &fresh);
        asking->fresh += fresh;
    }
    return NULL;
}

/* Every thread gets the same entry for the same key, and one of them made it. */
static void test_threads(void **state)
{
    static struct asking asking[THREADS];
    pthread_t thread[THREADS];
    struct gt_book book = {0};
    int fresh = 0, undecided = 0;

    (void)state;
    assert_true(gt_book_begin(&book));
    for (int i = 0; i < THREADS; i++) {
        asking[i] = (struct asking){.book = &book, .seed = i};
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &asking[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        fresh += asking[i].fresh;
        assert_memory_equal(asking[i].entry, asking[0].entry, sizeof(asking[0].entry));
    }
    assert_int_equal(fresh, PROBLEMS);
    for (uint32_t i = 0; i < gt_book_entries(&book); i++) {
        int entry = atomic_load(&book.entry[i].state);

        assert_true(entry == GT_ENTRY_UNDECIDED || entry == GT_ENTRY_LOST);
        undecided += entry == GT_ENTRY_UNDECIDED;
    }
    assert_int_equal(undecided, PROBLEMS);
    release(&book);
}

static void test_full(void **state)
{
    struct gt_book book = {0};
    bool fresh;

    (void)state;
    assert_true(gt_book_begin(&book));
    for (int64_t i = 0; i < GT_BOOK_ENTRIES; i++) {
        const struct gt_call_key key = key_of(i);

        assert_non_null(gt_book_find(&book, &key, &fresh));
        assert_true(fresh);
    }
    for (int64_t i = 0; i < 100; i++) {
        const struct gt_call_key more = key_of(GT_BOOK_ENTRIES + i), known = key_of(i);

        assert_null(gt_book_find(&book, &more, &fresh));
        assert_non_null(gt_book_find(&book, &known, &fresh));
        assert_false(fresh);
    }
    release(&book);
}

static uint64_t allocated;

static int allocate(uint64_t *address, size_t bytes)
{
    if (bytes > (size_t)64 << 20)
        return 2;
    *address = allocated += 1 << 12;
    return 0;
}

static int enter(void *context)
{
    return context == NULL;
}

static int leave(void **context)
{
    *context = NULL;
    return 0;
}

static void test_workspaces(void **state)
{
    static struct gt_workspaces all;
    const struct gt_serve_driver driver = {
        .MemAlloc = allocate, .CtxPushCurrent = enter, .CtxPopCurrent = leave};
    char context, stream, handle, buffer[64];
    void *first, *given;
    size_t bytes;
    bool ask;

    (void)state;
    gt_workspace_given(&all, &handle, &given, &bytes);
    assert_true(!given && !bytes);
    gt_workspace_note(&all, &handle, buffer, sizeof(buffer));
    gt_workspace_given(&all, &handle, &given, &bytes);
    assert_true(given == buffer && bytes == sizeof(buffer));
    gt_workspace_note(&all, &handle, NULL, 0);
    gt_workspace_given(&all, &handle, &given, &bytes);
    assert_true(!given && !bytes);

    assert_null(gt_workspace_own(&all, &context, &stream, 1000, &ask));
    assert_true(ask);
    assert_null(gt_workspace_own(&all, &context, &stream, 1000, &ask));
    assert_false(ask); /* it was asked for already */
    gt_workspace_make(&all, &driver);
    first = gt_workspace_own(&all, &context, &stream, 1000, &ask);
    assert_non_null(first);
    assert_ptr_equal(gt_workspace_own(&all, &context, &stream, 500, &ask), first);
    assert_null(gt_workspace_own(&all, &context, &stream, 3 << 20, &ask));
    gt_workspace_make(&all, &driver);
    assert_non_null(gt_workspace_own(&all, &context, &stream, 3 << 20, &ask));
    assert_ptr_not_equal(gt_workspace_own(&all, &context, &stream, 1000, &ask), first);
    assert_null(gt_workspace_own(&all, &context, &context, 1000, &ask)); /* another stream */
    /* Of streams that mean another one in each thread there is none. */
    assert_null(gt_workspace_own(&all, &context, (void *)(uintptr_t)2, 1000, &ask));
    assert_false(ask);
    /* What the driver has refused is not asked for again. */
    assert_null(gt_workspace_own(&all, &context, &stream, (size_t)1 << 30, &ask));
    assert_true(ask);
    gt_workspace_make(&all, &driver);
    assert_null(gt_workspace_own(&all, &context, &stream, (size_t)1 << 30, &ask));
    assert_false(ask);
    assert_non_null(gt_workspace_own(&all, &context, &stream, 1000, &ask));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_workspaces),
    };

    return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}
