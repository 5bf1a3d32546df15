/* kernel_serves.c - vocabulary: "serves" of a kernel description, read and asked. */
#include "kernel/kernel_reader.h"

#include "base/err.h"
#include "problem/problem.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* Reads a list of names under `key`; `parse` turns each into a bit, and `known` is for the error
 * sentence.  *bits is unchanged if the member is absent. */
GT_READS_ONCE static void read_bits(struct gt_reader *r, unsigned *bits, const cJSON *object,
                                    const char *key, enum gt_presence presence, const char *known,
                                    bool (*parse)(unsigned *bit, const char *text, size_t length))
{
    const cJSON *list = gt_reader_get(r, object, key, cJSON_Array, presence), *item;
    unsigned bit;

    if (!list)
        return;
    *bits = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";

        if (!parse(&bit, text, strlen(text))) {
            gt_reader_fail(r, "\"%s\" lists \"%.32s\"; it must be one of: %s", key, text, known);
            return;
        }
        if (*bits & 1u << bit)
            gt_reader_fail(r, "\"%s\" lists \"%.32s\" twice", key, text);
        *bits |= 1u << bit;
    }
    if (!*bits)
        gt_reader_fail(r, "\"%s\" is empty; it must list some of: %s", key, known);
}

GT_READS_ONCE static bool parse_type(unsigned *bit, const char *text, size_t length)
{
    enum gt_dtype type;

    if (!gt_dtype_parse(&type, text, length))
        return false;
    *bit = type;
    return true;
}

/* A type that A and B may have: sums alone are of s32. */
GT_READS_ONCE static bool parse_operand_type(unsigned *bit, const char *text, size_t length)
{
    return parse_type(bit, text, length) && *bit != GT_S32;
}

GT_READS_ONCE static enum gt_accuracy read_accuracy(struct gt_reader *r, const cJSON *object,
                                                    enum gt_accuracy before,
                                                    enum gt_presence presence)
{
    const cJSON *member = gt_reader_get(r, object, "accuracy", cJSON_String, presence);
    const char *text = member ? member->valuestring : "";

    if (member && !gt_accuracy_parse(&before, text, strlen(text)))
        gt_reader_fail(r, "\"accuracy\" is \"%.32s\"; it must be strict, f32, tf32 or low", text);
    return before;
}

/* Reads an entry; what it does not specify is taken from the entry before it. */
GT_READS_ONCE static void read_entry(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "types out layouts min_cc max_cc accuracy epilogues batch max_m";
    static const char types[] = "f32 tf32 f16 bf16 e4m3 e5m2 s8";
    static const char outs[] = "f32 tf32 f16 bf16 e4m3 e5m2 s8 s32";
    struct gt_serves *entry = &r->kernel->entry[index];
    enum gt_presence presence = index ? GT_OPTIONAL : GT_REQUIRED;

    *entry = index ? entry[-1]
                   : (struct gt_serves){.epilogues = 1u << GT_EPILOGUE_NONE,
                                        .max_cc = 9999,
                                        .max_m = GT_MAX_EXTENT};
    r->kernel->entries++;
    if (!gt_reader_object(r, object, allowed))
        return;
    read_bits(r, &entry->types, object, "types", presence, types, parse_operand_type);
    read_bits(r, &entry->outs, object, "out", presence, outs, parse_type);
    read_bits(r, &entry->layouts, object, "layouts", presence, "nn nt tn tt", gt_layout_parse);
    read_bits(r, &entry->epilogues, object, "epilogues", GT_OPTIONAL,
              "none bias relu gelu bias+relu bias+gelu", gt_epilogue_parse);
    entry->min_cc = (int)(index ? gt_reader_integer(r, object, "min_cc", 75, 9999, entry->min_cc)
                                : gt_reader_needed(r, object, "min_cc", 75, 9999));
    entry->max_cc = (int)gt_reader_integer(r, object, "max_cc", 75, 9999, entry->max_cc);
    if (entry->max_cc < entry->min_cc)
        gt_reader_fail(r, "max_cc %d is below min_cc %d", entry->max_cc, entry->min_cc);
    entry->max_m = gt_reader_integer(r, object, "max_m", 1, GT_MAX_EXTENT, entry->max_m);
    entry->batched = gt_reader_bool(r, object, "batch", entry->batched);
    entry->accuracy = read_accuracy(r, object, entry->accuracy, presence);
}

GT_READS_ONCE void gt_reader_serves(struct gt_reader *r)
{
    const cJSON *serves = cJSON_GetObjectItemCaseSensitive(r->root, "serves");

    if (cJSON_IsObject(serves)) { /* means a list with this one entry */
        gt_reader_at(r, "serves");
        read_entry(r, serves, 0);
        snprintf(r->where, sizeof(r->where), "%s", r->kernel->path);
        return;
    }
    gt_reader_list(r, "serves", GT_MAX_SERVES, GT_REQUIRED, read_entry);
    if (!r->kernel->entries)
        gt_reader_fail(r, "\"serves\" is empty");
}

/* ---- asking ---- */

enum gt_serves_check gt_serves_check(const struct gt_serves *entry,
                                     const struct gt_problem *problem,
                                     const struct gt_device *device)
{
    const bool holds[GT_SERVES_CHECKS] = {
        [GT_SERVES_TYPE] = entry->types >> problem->type & 1,
        [GT_SERVES_OUT] = entry->outs >> problem->out & 1,
        [GT_SERVES_LAYOUT] = entry->layouts >> gt_problem_layout(problem) & 1,
        [GT_SERVES_EPILOGUE] = entry->epilogues >> problem->epilogue & 1,
        [GT_SERVES_ROWS] = problem->m <= entry->max_m,
        [GT_SERVES_BATCH] = problem->batch == 1 || entry->batched,
        [GT_SERVES_ACCURACY] = entry->accuracy <= problem->accuracy,
        [GT_SERVES_MIN_CC] = device->cc >= entry->min_cc,
        [GT_SERVES_MAX_CC] = device->cc <= entry->max_cc,
    };
    unsigned held = 0;

    while (held < GT_SERVES_CHECKS && holds[held])
        held++;
    return (enum gt_serves_check)held;
}

bool gt_kernel_serves(const struct gt_kernel *kernel, const struct gt_problem *problem,
                      const struct gt_device *device)
{
    size_t i = 0;

    while (i < kernel->entries &&
           gt_serves_check(&kernel->entry[i], problem, device) < GT_SERVES_CHECKS)
        i++;
    return i < kernel->entries;
}
