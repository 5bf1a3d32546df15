/* test_digest.c - content digests: stable, sensitive to pieces, one call equal to many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/digest.h"

static void pieces(const char *const *piece, char hex[GT_DIGEST_HEX])
{
    struct gt_digest digest;

    assert_int_equal(gt_digest_init(&digest), 0);
    for (; *piece; piece++)
        gt_digest_add(&digest, *piece, strlen(*piece));
    gt_digest_final(&digest, hex);
    assert_null(digest.state);
}

static void test_pieces_differ(void **state)
{
    static const char *const lists[][4] = {
        {NULL},
        {"", NULL},
        {"", "", NULL},
        {"abc", NULL},
        {"ab", "c", NULL},
        {"a", "bc", NULL},
        {"abc", "", NULL},
    };
    char hex[7][GT_DIGEST_HEX];

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        pieces(lists[i], hex[i]);
        assert_int_equal(strspn(hex[i], "0123456789abcdef"), 32);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(hex[i], hex[j]);
    }
}

static void test_one_piece(void **state)
{
    static const char *const list[] = {"abc", NULL};
    char many[GT_DIGEST_HEX], one[GT_DIGEST_HEX];

    (void)state;
    pieces(list, many);
    assert_true(gt_digest_number("96x80x64:f32:nn", 15, 0) == 0x8f89191cf4b2bd8a);
    gt_digest_bytes("abc", 3, one);
    assert_string_equal(one, many);
    assert_string_equal(
        one, "45bcdc88efffd44520b986a5e7fe1438"); /* stored in databases: must never change */
    gt_digest_bytes(NULL, 0, one);
    assert_int_equal(strlen(one), 32);
}

/* Every single flipped bit of a block changes the digest. */
static void test_bit_flips(void **state)
{
    unsigned char block[512] = {0};
    char before[GT_DIGEST_HEX], after[GT_DIGEST_HEX];

    (void)state;
    gt_digest_bytes(block, sizeof(block), before);
    for (size_t bit = 0; bit < 8 * sizeof(block); bit++) {
        block[bit / 8] ^= (unsigned char)(1u << bit % 8);
        gt_digest_bytes(block, sizeof(block), after);
        assert_string_not_equal(before, after);
        block[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_differ),
        cmocka_unit_test(test_one_piece),
        cmocka_unit_test(test_bit_flips),
    };

    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
