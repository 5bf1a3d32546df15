/* test_book.c - the table of problems: many threads, equal keys, a full table; workspaces;
 * and the settings of handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "serve/report.h"
#include "serve/handle.h"

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
    char context, stream;
    void *first;
    bool ask;

    (void)state;
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

/* ---- handles ---- */

static struct gt_settings really; /* what cuBLAS would say */
static int asked, rarely;         /* for the stream; for the limit of multiprocessors */

static int get_stream(void *handle, void **stream)
{
    (void)handle;
    asked++;
    *stream = really.stream;
    return 0;
}

#define GETTER(name, field)                   \
    static int name(void *handle, int *value) \
    {                                         \
        (void)handle;                         \
        *value = really.field;                \
        return 0;                             \
    }
GETTER(get_pointers, pointers)
GETTER(get_math, math)
GETTER(get_atomics, atomics)

static int get_sms(void *handle, int *value)
{
    (void)handle;
    rarely++;
    *value = really.sms;
    return 0;
}

/* What decides where a product goes is asked for each time, the rest now and then; a setting that
 * no hook has seen is found out. */
static void test_handles(void **state)
{
    static struct gt_handles all;
    const struct gt_real real = {.GetStream = get_stream,
                                 .GetPointerMode = get_pointers,
                                 .GetMathMode = get_math,
                                 .GetAtomicsMode = get_atomics,
                                 .GetSmCountTarget = get_sms};
    struct gt_settings settings;
    char one, two, stream;
    struct gt_handle *slot = gt_handle_find(&all, &one);

    (void)state;
    assert_non_null(slot);
    assert_ptr_equal(gt_handle_find(&all, &one), slot);
    assert_ptr_not_equal(gt_handle_find(&all, &two), slot);
    for (int i = 0; i < 1000; i++)
        assert_true(gt_handle_settings(slot, &real, &one, &settings));
    assert_true(asked == 1000 && rarely >= 10 && rarely < 200);
    asked = 0;
    really.stream = &stream; /* set, and seen */
    gt_handle_set_workspace(slot, &two, 100);
    gt_handle_set_stream(slot, &stream);
    assert_null(atomic_load(&slot->workspace));
    assert_true(gt_handle_settings(slot, &real, &one, &settings));
    assert_true(settings.stream == &stream && asked == 1);
    really.pointers = 1; /* set, and not seen */
    assert_true(gt_handle_settings(slot, &real, &one, &settings));
    assert_int_equal(settings.pointers, 1);
    rarely = 0;
    assert_true(gt_handle_settings(slot, &real, &one, &settings));
    assert_int_equal(rarely, 1); /* from now on everything, always */
    gt_handle_free(&all, &one);
    slot = gt_handle_find(&all, &one);
    assert_true(gt_handle_settings(slot, &real, &one, &settings));
    assert_int_equal(settings.pointers, 1);
    assert_true(gt_handle_settings(NULL, &real, &one, &settings));
    assert_false(gt_handle_settings(NULL, &(struct gt_real){.GetStream = NULL}, &one, &settings));
}

#define MADE 20000 /* handles of a thread, one after the other; some live on */
#define LIVE 100

struct making {
    struct gt_handles *all;
    char *address; /* MADE of them, which no other thread has */
    struct gt_handle *shared;
    int number, wrong;
};

static void *make_handles(void *argument)
{
    struct making *making = argument;

    for (int i = 0; i < MADE; i++) {
        struct gt_handle *slot = gt_handle_find(making->all, making->address + i);

        if (!slot || atomic_load(&slot->workspace) || atomic_load(&slot->known)) {
            making->wrong++;
            continue;
        }
        gt_handle_set_workspace(slot, making->address + i, (size_t)i + 1);
        if (i < LIVE)
            continue;
        slot = gt_handle_find(making->all, making->address + i % LIVE);
        making->wrong += atomic_load(&slot->workspace) != making->address + i % LIVE;
        slot = gt_handle_find(making->all, making->address + i);
        making->wrong += atomic_load(&slot->workspace_bytes) != (size_t)i + 1;
        gt_handle_free(making->all, making->address + i);
    }
    return NULL;
}

/* Any number of handles may be made, if only so many live at once; none has another's slot. */
static void test_many_handles(void **state)
{
    static struct gt_handles all;
    static char address[THREADS][MADE];
    static struct making making[THREADS];
    pthread_t thread[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        making[i] = (struct making){&all, address[i], NULL, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, make_handles, &making[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(making[i].wrong, 0);
}

/* Threads that share a handle find its slot, however many are taken and freed beside it. */
static void *share_handle(void *argument)
{
    struct making *making = argument;

    for (int i = 0; i < MADE; i++) {
        gt_handle_find(making->all, making->address + making->number);
        if (gt_handle_find(making->all, making->all) != making->shared)
            making->wrong++;
        gt_handle_free(making->all, making->address + making->number);
    }
    return NULL;
}

static void test_shared_handle(void **state)
{
    static struct gt_handles all;
    static char address[THREADS];
    static struct making making[THREADS];
    struct gt_handle *const shared = gt_handle_find(&all, &all);
    pthread_t thread[THREADS];

    (void)state;
    assert_null(gt_handle_find(&all, NULL));
    for (int i = 0; i < THREADS; i++) {
        making[i] = (struct making){&all, address, shared, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, share_handle, &making[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(making[i].wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_full),
        cmocka_unit_test(test_workspaces),   cmocka_unit_test(test_handles),
        cmocka_unit_test(test_many_handles), cmocka_unit_test(test_shared_handle),
    };

    return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}
