/* fuzz_t1.c - fuzz target: any bytes as a T1 file, and as one of its conditions; what is read is
 * enumerated, what is parsed is evaluated. */
#include <stdint.h>
#include <stdlib.h>

#include "exchange/t1.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_space(const char *text, size_t length)
{
    struct gt_err err = {0};
    uint8_t *index = NULL;
    struct gt_t1 t1;
    size_t count;
    double points = 1;

    if (gt_t1_parse(&t1, "fuzz", text, length, &err) == GT_OK) {
        for (size_t p = 0; p < t1.params; p++)
            points *= (double)t1.param[p].count;
        if (points < 1e5 && gt_t1_points(&t1, 1000, &index, &count, &err) == GT_OK)
            for (size_t i = 0; i < count * t1.params; i++)
                if (index[i] >= t1.param[i % t1.params].count)
                    abort();
        free(index);
    } else if (!*err.msg) {
        abort();
    }
    gt_t1_release(&t1);
}

static void use_condition(const char *text)
{
    const struct gt_names names = {{"A", "B"}, 2};
    const struct gt_python_value slots[] = {{NULL, 6}, {"row", 0}};
    struct gt_python_value value;
    struct gt_python *python;
    struct gt_err err = {0};

    if (gt_python_parse(&python, text, &names, &err) == GT_OK) {
        if (gt_python_eval(python, slots, &value, &err) && !*err.msg)
            abort();
        gt_python_free(python);
    } else if (!*err.msg) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    if (!text)
        return 0;
    use_space(text, size);
    use_condition(text);
    free(text);
    return 0;
}
