/* fuzz_policy.c - fuzz target: any text as a file of settings is read, or refused with a sentence
 * that names the line; what is read is in its ranges. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/policy.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_policy policy = {.margin = 1};
    struct gt_err err = {0};
    char *text = fuzz_text(data, size);

    if (!text)
        return 0;
    if (gt_policy_parse(&policy, "file", text, &err) && strncmp(err.msg, "file: line ", 11))
        abort();
    if (!(policy.margin >= 0 && policy.margin <= 100) || policy.check < 0 ||
        policy.accuracy > GT_ACCURACY_TF32 || policy.serve > GT_SERVE_ANY ||
        !memchr(policy.db, '\0', sizeof(policy.db)))
        abort();
    free(text);
    return 0;
}
