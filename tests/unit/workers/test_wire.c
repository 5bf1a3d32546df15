/* test_wire.c - tests that messages arrive unchanged and that malformed frames are refused. */
#include "base/err.h"
#include "workers/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct ends {
    int fd[2];
    struct gt_wire wire;
    struct gt_strbuf frame;
};

static int open_ends(void **state)
{
    struct ends *ends = calloc(1, sizeof(*ends));

    assert_non_null(ends);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends->fd), 0);
    gt_wire_init(&ends->wire, ends->fd[1]);
    gt_strbuf_init(&ends->frame);
    *state = ends;
    return 0;
}

static int close_ends(void **state)
{
    struct ends *ends = *state;

    gt_wire_release(&ends->wire);
    gt_strbuf_release(&ends->frame);
    if (ends->fd[0] >= 0)
        close(ends->fd[0]);
    close(ends->fd[1]);
    free(ends);
    return 0;
}

static void fields_come_back(void **state)
{
    struct ends *ends = *state;
    struct gt_wire_in in;
    char text[8];
    const char *bytes;
    size_t count;

    gt_wire_begin(&ends->frame, GT_MSG_TRIAL);
    gt_wire_put_int(&ends->frame, INT64_MIN);
    gt_wire_put_real(&ends->frame, -0.125);
    gt_wire_put_text(&ends->frame, "BM=128");
    gt_wire_put_text(&ends->frame, NULL);
    gt_wire_put_bytes(&ends->frame, "a\0b", 3);
    assert_int_equal(gt_wire_send(ends->fd[0], &ends->frame, 1000, NULL), GT_OK);
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 1000, NULL), 1);
    assert_int_equal(in.type, GT_MSG_TRIAL);
    assert_true(gt_wire_get_int(&in) == INT64_MIN);
    assert_true(gt_wire_get_real(&in) == -0.125);
    gt_wire_get_string(&in, text, sizeof(text));
    assert_string_equal(text, "BM=128");
    assert_string_equal(gt_wire_get_text(&in), "");
    bytes = gt_wire_get_bytes(&in, &count);
    assert_int_equal(count, 3);
    assert_memory_equal(bytes, "a\0b", 3);
    assert_int_equal(gt_wire_finish(&in, NULL), GT_OK);
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 0, NULL), 0);
}

static void wrong_reads_fail(void **state)
{
    struct ends *ends = *state;
    struct gt_wire_in in;
    struct gt_err err = {0};
    char text[4];

    gt_wire_begin(&ends->frame, GT_MSG_DONE);
    gt_wire_put_text(&ends->frame, "four");
    gt_wire_put_int(&ends->frame, 7);
    assert_int_equal(gt_wire_send(ends->fd[0], &ends->frame, 1000, NULL), GT_OK);
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 1000, NULL), 1);
    assert_int_equal(gt_wire_finish(&in, &err), GT_ESYNTAX); /* unread fields */
    assert_non_null(strstr(err.msg, "malformed"));
    gt_wire_get_string(&in, text, sizeof(text)); /* one byte too long */
    assert_true(in.failed);
    assert_string_equal(text, "");
    assert_int_equal(gt_wire_get_int(&in), 0); /* failure is sticky */
    assert_int_equal(gt_wire_finish(&in, NULL), GT_ESYNTAX);
}

/* A frame that arrives byte by byte, then two at once. */
static void pieces_and_pairs(void **state)
{
    struct ends *ends = *state;
    struct gt_wire_in in;
    uint32_t length;
    size_t i;

    gt_wire_begin(&ends->frame, GT_MSG_READY);
    gt_wire_put_int(&ends->frame, 42);
    length = (uint32_t)(ends->frame.length - sizeof(length));
    memcpy(ends->frame.text, &length, sizeof(length));
    for (i = 0; i < ends->frame.length; i++) {
        assert_int_equal(gt_wire_receive(&ends->wire, &in, 0, NULL), 0);
        assert_int_equal(write(ends->fd[0], ends->frame.text + i, 1), 1);
    }
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 0, NULL), 1);
    assert_int_equal(gt_wire_get_int(&in), 42);
    for (i = 0; i < 2; i++)
        assert_int_equal(gt_wire_send(ends->fd[0], &ends->frame, 1000, NULL), GT_OK);
    for (i = 0; i < 2; i++) {
        assert_int_equal(gt_wire_receive(&ends->wire, &in, 0, NULL), 1);
        assert_int_equal(gt_wire_get_int(&in), 42);
    }
    close(ends->fd[0]);
    ends->fd[0] = -1;
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 1000, NULL), GT_EIO);
}

static void a_large_frame_in_both_directions(void **state)
{
    struct ends *ends = *state;
    struct gt_wire_in in;
    char *source = malloc(2u << 20);
    size_t count;
    pid_t pid;

    assert_non_null(source);
    memset(source, 'x', 2u << 20);
    pid = fork();
    if (pid == 0) {
        gt_wire_begin(&ends->frame, GT_MSG_COMPILE);
        gt_wire_put_bytes(&ends->frame, source, 2u << 20);
        _exit(gt_wire_send(ends->fd[0], &ends->frame, 10000, NULL) ? 1 : 0);
    }
    assert_int_equal(gt_wire_receive(&ends->wire, &in, 10000, NULL), 1);
    assert_memory_equal(gt_wire_get_bytes(&in, &count), source, 2u << 20);
    assert_int_equal(count, 2u << 20);
    free(source);
    /* nobody reads: the sender gives up */
    gt_wire_begin(&ends->frame, GT_MSG_COMPILE);
    while (ends->frame.length < 4u << 20)
        gt_wire_put_text(&ends->frame, "a kernel");
    assert_int_equal(gt_wire_send(ends->fd[0], &ends->frame, 50, NULL), GT_EIO);
}

/* Every prefix of a good frame, and every frame with one byte changed, is read without harm. */
static void damaged_frames(void **state)
{
    struct ends *ends = *state;
    struct gt_wire_in in;
    const size_t head = sizeof(uint32_t);
    size_t i, size;
    int flip;

    gt_wire_begin(&ends->frame, GT_MSG_DONE);
    gt_wire_put_text(&ends->frame, "abc");
    gt_wire_put_int(&ends->frame, 1);
    size = ends->frame.length - head;
    for (i = 0; i < size; i++) {
        char *copy = malloc(i ? i : 1); /* exactly as large: reading past it is seen by ASan */

        assert_non_null(copy);
        memcpy(copy, ends->frame.text + head, i);
        if (!gt_wire_parse(&in, copy, i, NULL)) {
            gt_wire_get_text(&in);
            gt_wire_get_int(&in);
            assert_int_equal(gt_wire_finish(&in, NULL), GT_ESYNTAX);
        }
        free(copy);
    }
    for (i = 0; i < size; i++) {
        for (flip = 1; flip < 256; flip <<= 1) {
            char *copy = malloc(size);

            assert_non_null(copy);
            memcpy(copy, ends->frame.text + head, size);
            copy[i] ^= (char)flip;
            if (!gt_wire_parse(&in, copy, size, NULL)) {
                const char *text = gt_wire_get_text(&in);

                assert_true(strlen(text) <= 3);
                gt_wire_get_int(&in);
            }
            free(copy);
        }
    }
}

static void impossible_lengths(void **state)
{
    struct ends *ends = *state;
    const uint32_t length[] = {0, 3, GT_WIRE_MAX + 1, UINT32_MAX};
    struct gt_wire_in in;
    struct gt_err err = {0};
    size_t i;

    for (i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
        assert_int_equal(write(ends->fd[0], &length[i], sizeof(length[i])), sizeof(length[i]));
        assert_int_equal(gt_wire_receive(&ends->wire, &in, 1000, &err), GT_ESYNTAX);
        ends->wire.used = 0;
    }
    assert_non_null(strstr(err.msg, "length"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_come_back, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(wrong_reads_fail, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(pieces_and_pairs, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(a_large_frame_in_both_directions, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(damaged_frames, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(impossible_lengths, open_ends, close_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
