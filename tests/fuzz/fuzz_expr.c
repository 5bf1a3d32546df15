/* fuzz_expr.c - fuzz target: any text as an expression, evaluated over odd values. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/expr.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct gt_names names = {{"M", "N", "K", "BM", "ZERO", "LEAST", "MOST"}, 7};
    static const int64_t slots[2][7] = {{4096, 100, 0, 128, 0, INT64_MIN, INT64_MAX},
                                        {-7, 3, 1, 2, 0, -1, 1}};
    char *text = fuzz_text(data, size);
    struct gt_expr *expr;
    struct gt_err err;

    if (!text)
        return 0;
    if (!gt_expr_parse(&expr, text, &names, &err)) {
        for (int i = 0; i < 2; i++) {
            int64_t value = 1, again = 2;
            int rc = gt_expr_eval(expr, slots[i], &value, &err);

            if (rc != gt_expr_eval(expr, slots[i], &again, NULL) || (!rc && value != again))
                abort();
            if (rc && (rc != err.code || !*err.msg))
                abort();
        }
        if (strcmp(gt_expr_text(expr), text))
            abort();
    } else if (expr || !*err.msg) {
        abort();
    }
    gt_expr_free(expr);
    free(text);
    return 0;
}
