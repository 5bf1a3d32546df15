/* test_cmd_json.c - a document of which a part could not be made is not printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "console/cmd_record.h"
#include "console/options.h"
#include "failmalloc.h"

static FILE *nowhere;

/* As most commands build a document: no line looks at what the one before it answered. */
static int print_document(struct gt_err *err)
{
    struct gt_cli cli = {.out = nowhere};
    cJSON *root, *inner;

    gt_cmd_json_watch();
    root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "kernel", "simt");
    cJSON_AddBoolToObject(root, "predicted", 1);
    inner = cJSON_AddObjectToObject(root, "inner");
    cJSON_AddNumberToObject(inner, "us", 7);
    return gt_cmd_print_json(&cli, root, err);
}

static void test_every_allocation(void **state)
{
    (void)state;
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    gt_failmalloc_every("a document", print_document, 8);
    fclose(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
