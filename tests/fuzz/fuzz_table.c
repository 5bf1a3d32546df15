/* fuzz_table.c - fuzz target: any bytes as a text table, as they are and, so that the parser behind
 * the digest is reached, as the body of a table with the right one. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "lookup/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t length)
{
    struct gt_table table = {0};
    struct gt_err err = {0};

    if (gt_table_parse(&table, "input", text, length, &err) ? !*err.msg || table.rows : *err.msg)
        abort();
    for (size_t i = 0; i < table.rows; i++) {
        const struct gt_table_row *row = &table.row[i];

        if (gt_problem_check(&row->problem, NULL) || !(row->us > 0) || !isfinite(row->us) ||
            strlen(row->point) + strlen(row->kernel) + strlen(row->device) > length)
            abort();
    }
    gt_table_release(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];

    parse((const char *)data, size);
    gt_digest_bytes(data, size, digest);
    gt_strbuf_addf(&text, "%s%s\n", GT_TABLE_MAGIC, digest);
    gt_strbuf_add_bytes(&text, data, size);
    if (!gt_strbuf_check(&text, NULL))
        parse(text.text, text.length);
    gt_strbuf_release(&text);
    return 0;
}
