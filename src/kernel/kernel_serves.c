/* kernel_serves.c - vocabulary: "serves" of a kernel description, read and asked. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "kernel/kernel.h"
#include "kernel/kernel_reader.h"
#include "problem/problem.h"

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

/* Why kernels do not serve a problem on a device: one sentence, made of what
 * their descriptions say under "serves". */

/* What the entries serve that come closest to the problem, all of them together. */
struct reach {
    enum gt_serves_check check; /* the first that these entries do not pass */
    struct gt_serves all;
};

static const char *type_name(unsigned type)
{
    return gt_dtype_name((enum gt_dtype)type);
}

/* As people call the types that not every GPU computes with. */
static const char *arithmetic(enum gt_dtype type)
{
    static const char *const names[GT_DTYPE_COUNT] = {
        [GT_F32] = "FP32", [GT_TF32] = "TF32", [GT_F16] = "FP16", [GT_BF16] = "BF16",
        [GT_E4M3] = "FP8", [GT_E5M2] = "FP8",  [GT_S8] = "INT8"};

    return names[type] ? names[type] : gt_dtype_name(type);
}

/* Adds what one more entry serves.  Of the archs the least counts that is newer than the device,
 * and the newest of all. */
static void extend(struct gt_serves *all, const struct gt_serves *entry, int cc)
{
    const bool first = !all->types;

    all->types |= entry->types;
    all->outs |= entry->outs;
    all->layouts |= entry->layouts;
    all->epilogues |= entry->epilogues;
    if (first || entry->max_m > all->max_m)
        all->max_m = entry->max_m;
    if (first || entry->accuracy < all->accuracy)
        all->accuracy = entry->accuracy;
    if (entry->min_cc > cc && (!all->min_cc || entry->min_cc < all->min_cc))
        all->min_cc = entry->min_cc;
    if (entry->max_cc > all->max_cc)
        all->max_cc = entry->max_cc;
}

/* Finds the check up to which the closest entries come, and what these serve.  The two checks of
 * the arch count as one: what serves older GPUs is no closer than what serves newer ones. */
static void find_reach(struct reach *reach, const struct gt_kernel *const *kernel, size_t count,
                       bool production, const struct gt_problem *problem,
                       const struct gt_device *device)
{
    *reach = (struct reach){.check = GT_SERVES_TYPE};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < kernel[i]->entries && (kernel[i]->production || !production); j++) {
            const struct gt_serves *entry = &kernel[i]->entry[j];
            enum gt_serves_check check = gt_serves_check(entry, problem, device);

            if (check == GT_SERVES_MAX_CC)
                check = GT_SERVES_MIN_CC;
            if (check > reach->check)
                *reach = (struct reach){.check = check};
            if (check == reach->check)
                extend(&reach->all, entry, device->cc);
        }
}

/* Adds the names of the bits: "f32, f16 or bf16". */
static void add_names(struct gt_strbuf *buf, unsigned bits, const char *(*name)(unsigned))
{
    const char *between = "";

    for (unsigned bit = 0; bits; bit++) {
        if (!(bits & 1u << bit))
            continue;
        bits &= ~(1u << bit);
        gt_strbuf_addf(buf, "%s%s", between, name(bit));
        between = bits & (bits - 1) ? ", " : " or ";
    }
}

/* "it can take layouts nn or nt with FP16, not tt" */
static void add_choice(struct gt_strbuf *buf, const char *who, const char *what, unsigned bits,
                       const char *(*name)(unsigned), const char *with, unsigned asked)
{
    gt_strbuf_addf(buf, "%s can %s ", who, what);
    add_names(buf, bits, name);
    gt_strbuf_addf(buf, "%s%s, not %s", *with ? " with " : "", with, name(asked));
}

/* "FP8 needs sm_89 or later, and this is sm_86" */
static void add_arch(struct gt_strbuf *buf, const char *who, const struct gt_serves *all,
                     const char *type, int cc)
{
    gt_strbuf_addf(buf, "%s%s%s ", type, who ? " with " : "", who ? who : "");
    if (all->min_cc)
        gt_strbuf_addf(buf, "needs sm_%d%s", all->min_cc,
                       all->max_cc > all->min_cc ? " or later" : "");
    else
        gt_strbuf_addf(buf, "is served up to sm_%d", all->max_cc);
    gt_strbuf_addf(buf, ", and this is sm_%d", cc);
}

bool gt_unserved(char text[GT_UNSERVED_MAX], const char *who, const struct gt_kernel *const *kernel,
                 size_t count, const struct gt_problem *problem, const struct gt_device *device)
{
    const char *type = arithmetic(problem->type), *subject = who ? who : "the kernels";
    struct gt_strbuf buf = GT_STRBUF_INIT;
    struct reach reach;
    const struct gt_serves *all = &reach.all;

    find_reach(&reach, kernel, count, !who, problem, device);
    if (reach.check == GT_SERVES_CHECKS)
        return false;
    if (!all->types)
        gt_strbuf_add(&buf, "there is no kernel");
    else if (reach.check == GT_SERVES_TYPE)
        add_choice(&buf, subject, "multiply", all->types, type_name, "", problem->type);
    else if (reach.check == GT_SERVES_OUT)
        add_choice(&buf, subject, "write D of", all->outs, type_name, type, problem->out);
    else if (reach.check == GT_SERVES_LAYOUT)
        add_choice(&buf, subject, "take layout", all->layouts, gt_layout_name, type,
                   gt_problem_layout(problem));
    else if (reach.check == GT_SERVES_EPILOGUE)
        add_choice(&buf, subject, "compute epilogue", all->epilogues, gt_epilogue_name, type,
                   problem->epilogue);
    else if (reach.check == GT_SERVES_ROWS)
        gt_strbuf_addf(&buf, "%s can make at most %lld rows of such a D of %s, not %lld", subject,
                       (long long)all->max_m, type, (long long)problem->m);
    else if (reach.check == GT_SERVES_BATCH)
        gt_strbuf_addf(&buf, "%s cannot take batches of %s", subject, type);
    else if (reach.check == GT_SERVES_ACCURACY)
        gt_strbuf_addf(&buf, "%s can reach accuracy %s at best with %s, not %s", subject,
                       gt_accuracy_name(all->accuracy), type, gt_accuracy_name(problem->accuracy));
    else
        add_arch(&buf, who, all, type, device->cc);
    snprintf(text, GT_UNSERVED_MAX, "%s", buf.text);
    gt_strbuf_release(&buf);
    return true;
}
