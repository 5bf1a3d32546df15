/* test_cmd_record.c - one description of a record's fields gives its line, its JSON and its CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/options.h"
#include "console/terminal.h"

#define FIELDS                                                                                \
    "  cc=sm_%-4d  name=%-6s .known=%i us=%8.2f lo_us=%+7.3f ratio=%g_x count=%zu long=%lld " \
    "=%5.1f missing=%s .carveout=%d .bytes=%u"

static void add(const struct gt_records *records)
{
    const char *volatile nothing = NULL; /* the compiler is not to see that a text is absent */

    gt_records_add(records, FIELDS, 90, "a,\033b", 1, 1.23456, 0.0, 0.5, (size_t)7, -8LL, 2.0,
                   nothing, -1, 4000000000u);
}

static void test_line(void **state)
{
    struct gt_cli cli = {0};
    struct gt_records records = {0};
    char *text;
    size_t size;

    (void)state;
    cli.out = open_memstream(&text, &size);
    gt_records_open(&records, &cli, "heading");
    add(&records);
    assert_int_equal(gt_records_close(&records, &cli, GT_OK, NULL), GT_OK);
    fclose(cli.out);
    assert_string_equal(text, "heading\n  sm_90    a,?b       1.23       - 0.5_x 7 -8   2.0 -\n");
    free(text);
}

static void test_json_and_csv(void **state)
{
    char path[] = "/tmp/gt_record_XXXXXX", *text;
    struct gt_cli cli = {.json = true};
    struct gt_records records = {0};
    struct gt_strbuf csv = GT_STRBUF_INIT;
    size_t size;
    cJSON *json;

    (void)state;
    close(mkstemp(path));
    cli.out = open_memstream(&text, &size);
    gt_cmd_json_watch();
    assert_int_equal(gt_csv_new(&records.csv, path, "heading", NULL), GT_OK);
    gt_records_document(&records, &cli, "rows", "format=%s", "test 1");
    add(&records);
    assert_int_equal(gt_records_close(&records, &cli, GT_OK, NULL), GT_OK);
    fclose(cli.out);
    json = cJSON_Parse(text);
    free(text);
    text = cJSON_PrintUnformatted(json);
    assert_string_equal(text, "{\"format\":\"test 1\",\"rows\":[{\"cc\":90,\"name\":\"a,\\u001bb\","
                              "\"known\":true,\"us\":1.23456,\"ratio\":0.5,\"count\":7,"
                              "\"long\":-8,\"carveout\":-1,\"bytes\":4000000000}]}");
    assert_int_equal(gt_strbuf_add_file(&csv, path, NULL), GT_OK);
    assert_string_equal(csv.text, "heading\n90,\"a,\033b\",1,1.23,,0.5,7,-8,,-1,4000000000\n");
    cJSON_free(text);
    cJSON_Delete(json);
    gt_strbuf_release(&csv);
    unlink(path);
}

static void test_columns(void **state)
{
    static const struct gt_column column[] = {{"us", 6, 0}, {"share", 7, 1}, {"what", 5, 2}};
    struct gt_columns columns;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    gt_columns_choose(&columns, column, 3, 8, 0);
    gt_columns_print(&columns, out, "lead", "tail", "%.2f|%.1f %%|%s", 1.5, 99.95, "x");
    gt_columns_print(&columns, out, "lead", "tail", "%+.2f|%.1f %%|%s", 0.0, gt_if(false, 1), "");
    fclose(out);
    assert_string_equal(text, "lead       1.50 100.0 %     x  tail\n"
                              "lead          -       -        tail\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_json_and_csv),
        cmocka_unit_test(test_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
