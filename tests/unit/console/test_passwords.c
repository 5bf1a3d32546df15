/* test_passwords.c - tests that passwords are found in words and sentences, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "console/passwords.h"

static void check(const char *text, const char *expected)
{
    char *masked = strdup(text);

    assert_non_null(masked);
    assert_int_equal(gt_passwords_mask(masked), strcmp(text, expected) != 0);
    assert_string_equal(masked, expected);
    free(masked);
}

static void test_addresses(void **state)
{
    (void)state;
    check("postgresql://me:secret@host/db", "postgresql://me:***@host/db");
    check("postgres://me:secret@host:5432/db?sslmode=require",
          "postgres://me:***@host:5432/db?sslmode=require");
    check("postgresql://:secret@host", "postgresql://:***@host");
    check("postgresql://me:12345@host", "postgresql://me:***@host");
    check("postgresql://me:s/e?c:r@et@host/db", "postgresql://me:***@host/db");
    check("postgresql://me:x@host", "postgresql://me:*@host");
    check("is \"postgresql://me:secret@host\", or http://a:secret@b, or neither",
          "is \"postgresql://me:***@host\", or http://a:***@b, or neither");
    check("--db=postgresql://me:secret@host", "--db=postgresql://me:***@host");
}

static void test_keys(void **state)
{
    (void)state;
    check("host=h password=secret dbname=d", "host=h password=*** dbname=d");
    check("host=h password = 'a secret\\' of two' dbname=d", "host=h password = *** dbname=d");
    check("host=h password='not closed", "host=h password=***");
    check("password=a\\ b dbname=d", "password=*** dbname=d");
    check("postgresql://h/d?password=secret&sslmode=require",
          "postgresql://h/d?password=***&sslmode=require");
    check("postgresql://h/d?pass%77ord=secret", "postgresql://h/d?pass%77ord=***");
    check("postgresql://h/d?%70%61%73%73word=secret", "postgresql://h/d?%70%61%73%73word=***");
    check("sslkey=k sslpassword=secret", "sslkey=k sslpassword=***");
    check("env PGPASSWORD=secret python3", "env PGPASSWORD=*** python3");
    check("postgresql://me:one@h/d?password=two", "postgresql://me:***@h/d?password=***");
}

static void test_what_is_no_password(void **state)
{
    static const char *const text[] = {"",
                                       "postgresql://host/db",
                                       "postgresql://me@host:5432/db",
                                       "postgresql://host:5432/db?user=me@there",
                                       "postgresql://h1:5432,h2:5433/db?user=me@there",
                                       "postgresql://[::1]:5432/db?user=me@there",
                                       "postgresql://me:@host/db",
                                       "host=h dbname=d passfile=p",
                                       "the password is in ~/.pgpass",
                                       "/home/me/passwords/a.db",
                                       "password=",
                                       "a:b@c",
                                       "100%",
                                       "pass%7"};

    (void)state;
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        check(text[i], text[i]);
    assert_int_equal(gt_passwords_refuse(NULL, NULL), GT_OK);
    assert_int_equal(gt_passwords_refuse("postgresql://me@host/db", NULL), GT_OK);
}

static void test_refused(void **state)
{
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(gt_passwords_refuse("password=secret", &err), GT_ESYNTAX);
    assert_null(strstr(err.msg, "secret"));
    assert_non_null(strstr(err.msg, "~/.pgpass"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_what_is_no_password),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
