/* fuzz_foreign.c - fuzz target: any bytes as what another program wrote; what is found are valid
 * problems, and every product is one or counted as left out. */
#include <stdint.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "exchange/foreign.h"
#include "problem/problem.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *context, const struct gt_problem *problem, double times, bool counted,
                 struct gt_err *err)
{
    (void)counted;
    (void)err;
    if (gt_problem_check(problem, NULL) || !(times > 0))
        abort();
    ++*(size_t *)context;
    return GT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct gt_strbuf said = GT_STRBUF_INIT;
    struct gt_foreign foreign;
    struct gt_err err = {0};
    size_t visits = 0;

    if (!text)
        return 0;
    gt_foreign_is(text, size);
    if (gt_foreign_read(&foreign, text, size, count, &visits, &err) == GT_OK) {
        if (visits + foreign.left_out != foreign.products)
            abort();
    } else if (!*err.msg) {
        abort();
    }
    gt_foreign_say(&said, &foreign);
    gt_strbuf_release(&said);
    free(text);
    return 0;
}
