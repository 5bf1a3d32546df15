/* fuzz_problem.c - fuzz target: any text as a problem; what is read is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "problem/problem.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct gt_problem *problem)
{
    char text[GT_PROBLEM_TEXT_MAX], twice[GT_PROBLEM_TEXT_MAX];
    struct gt_problem again;

    if (gt_problem_check(problem, NULL))
        abort();
    gt_problem_format(problem, text);
    if (gt_problem_parse(&again, text, NULL))
        abort();
    gt_problem_format(&again, twice);
    if (strcmp(text, twice) || memcmp(problem, &again, sizeof(again)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_problem problem;
    struct gt_err err = {0};
    char *text = fuzz_text(data, size);

    if (!text)
        return 0;
    if (gt_problem_parse(&problem, text, &err)) {
        if (strncmp(err.msg, "problem \"", 9))
            abort();
    } else {
        check_round_trip(&problem);
        for (int i = 0; i < 3; i++) {
            int alignment = gt_problem_alignment(&problem, (enum gt_operand)i);

            if (gt_problem_bytes(&problem, (enum gt_operand)i) < 0 || alignment < 1 ||
                alignment > 16)
                abort();
        }
    }
    free(text);
    return 0;
}
