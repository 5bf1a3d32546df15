/* fuzz_algo.c - fuzz target: any text as a stored algorithm of cuBLASLt; what is read is written
 * and read again, and is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/cublaslt.h"
#include "tests/fuzz/fuzz_text.h"

#define VERSION "13.1.0"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_lt_answer answer, again;
    struct gt_err err = {0};
    char *text = fuzz_text(data, size), written[GT_CUBLASLT_ALGO_MAX];

    if (!text)
        return 0;
    if (!gt_cublaslt_parse(&answer, VERSION, text, &err)) {
        gt_cublaslt_format(written, VERSION, &answer, gt_cublaslt_gain(text));
        if (gt_cublaslt_parse(&again, VERSION, written, NULL) ||
            memcmp(&answer, &again, sizeof(again)) != 0)
            abort();
    } else if (!*err.msg) {
        abort();
    }
    free(text);
    return 0;
}
