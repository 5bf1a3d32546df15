/* kernel_serves.c - vocabulary: which problems and devices a kernel serves ("serves" of its
 * description), and why no kernel serves a problem. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "kernel/kernel.h"
#include "problem/problem.h"

/* The checks of an entry of "serves", in this order. */
enum serves_check {
    SERVES_TYPE,
    SERVES_OUT,
    SERVES_LAYOUT,
    SERVES_EPILOGUE,
    SERVES_WORDS,
    SERVES_ROWS,
    SERVES_BATCH,
    SERVES_ACCURACY,
    SERVES_MIN_CC,
    SERVES_MAX_CC,
    SERVES_CHECKS
};

static bool has_scale(const struct gt_served_scales *served, const struct gt_scale *asked)
{
    if (!served->count)
        return !asked->kind;
    for (size_t i = 0; i < served->count; i++)
        if (!memcmp(&served->scale[i], asked, sizeof(*asked)))
            return true;
    return false;
}

/* Whether the entry serves what a plain problem does not have, and its absence. */
static bool has_words(const struct gt_serves *entry, const struct gt_problem *p)
{
    const enum gt_dtype b = gt_problem_type_b(p), bias = gt_problem_bias(p);

    return (b == p->type || entry->types_b >> b & 1) &&
           (bias == p->out || entry->biases >> bias & 1) && entry->sums >> p->sums & 1 &&
           has_scale(&entry->scale_a, &p->scale_a) && has_scale(&entry->scale_b, &p->scale_b) &&
           has_scale(&entry->scale_d, &p->scale_d) && (!(p->conj_a | p->conj_b) || entry->conj) &&
           (!(p->zero_a | p->zero_b) || entry->zero) && (!p->symmetric || entry->symmetric) &&
           (!p->same_bits || entry->same_bits) && entry->gates >> p->gate & 1 &&
           (p->groups ? entry->sizes >> p->sizes & 1 && entry->by >> p->by & 1 : !entry->sizes);
}

/* The first check that fails; SERVES_CHECKS: the entry serves the problem on the device. */
static enum serves_check first_failing(const struct gt_serves *entry,
                                       const struct gt_problem *problem,
                                       const struct gt_device *device)
{
    const bool holds[SERVES_CHECKS] = {
        [SERVES_TYPE] = entry->types >> problem->type & 1,
        [SERVES_OUT] = entry->outs >> problem->out & 1,
        [SERVES_LAYOUT] = entry->layouts >> gt_problem_layout(problem) & 1,
        [SERVES_EPILOGUE] = entry->epilogues >> problem->epilogue & 1,
        [SERVES_WORDS] = has_words(entry, problem),
        [SERVES_ROWS] = problem->m <= entry->max_m,
        [SERVES_BATCH] = problem->batch == 1 || entry->batched,
        [SERVES_ACCURACY] = entry->accuracy <= problem->accuracy,
        [SERVES_MIN_CC] = device->cc >= entry->min_cc,
        [SERVES_MAX_CC] = device->cc <= entry->max_cc,
    };
    unsigned held = 0;

    while (held < SERVES_CHECKS && holds[held])
        held++;
    return (enum serves_check)held;
}

bool gt_kernel_serves(const struct gt_kernel *kernel, const struct gt_problem *problem,
                      const struct gt_device *device)
{
    size_t i = 0;

    while (i < kernel->entries && first_failing(&kernel->entry[i], problem, device) < SERVES_CHECKS)
        i++;
    return i < kernel->entries;
}

/* ---- why no kernel serves a problem: a sentence made from "serves" of the descriptions ---- */

/* The entries that come closest to the problem, joined into one. */
struct reach {
    enum serves_check check; /* the first check that these entries fail */
    struct gt_serves all;
};

static const char *type_name(unsigned type)
{
    return gt_dtype_name((enum gt_dtype)type);
}

/* Joins one more entry.  Of the archs it keeps the least min_cc that is newer than the device, and
 * the newest max_cc. */
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

/* Finds the check up to which the closest entries come, and joins these entries.  The two checks of
 * the arch count as one, because an entry for older GPUs is no closer than an entry for newer
 * GPUs. */
static void find_reach(struct reach *reach, const struct gt_kernel *const *kernel, size_t count,
                       bool production, const struct gt_problem *problem,
                       const struct gt_device *device)
{
    *reach = (struct reach){.check = SERVES_TYPE};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < kernel[i]->entries && (kernel[i]->production || !production); j++) {
            const struct gt_serves *entry = &kernel[i]->entry[j];
            enum serves_check check = first_failing(entry, problem, device);

            if (check == SERVES_MAX_CC)
                check = SERVES_MIN_CC;
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

/* "the kernels cannot take scale_a=1x128 and scale_b=1x128 with FP8"; of a plain problem "it cannot
 * take FP8 without scales" */
static void add_words(struct gt_strbuf *buf, const char *who, const char *type,
                      const struct gt_problem *problem)
{
    char word[GT_WORD_TEXT_MAX], next[GT_WORD_TEXT_MAX];
    bool more = gt_problem_word(problem, 0, word);

    if (!more) {
        gt_strbuf_addf(buf, "%s cannot take %s without scales", who, type);
        return;
    }
    gt_strbuf_addf(buf, "%s cannot take", who);
    for (unsigned i = 1; more; i++) {
        more = gt_problem_word(problem, i, next);
        gt_strbuf_addf(buf, "%s %s", i == 1 ? "" : more ? "," : " and", word);
        memcpy(word, next, sizeof(word));
    }
    gt_strbuf_addf(buf, " with %s", type);
}

bool gt_unserved(char text[GT_UNSERVED_MAX], const char *who, const struct gt_kernel *const *kernel,
                 size_t count, const struct gt_problem *problem, const struct gt_device *device)
{
    const char *type = gt_type_of(problem->type)->arithmetic, *subject = who ? who : "the kernels";
    struct gt_strbuf buf = GT_STRBUF_INIT;
    struct reach reach;
    const struct gt_serves *all = &reach.all;

    find_reach(&reach, kernel, count, !who, problem, device);
    if (reach.check == SERVES_CHECKS)
        return false;
    if (!all->types)
        gt_strbuf_add(&buf, "there is no kernel");
    else if (reach.check == SERVES_TYPE)
        add_choice(&buf, subject, "multiply", all->types, type_name, "", problem->type);
    else if (reach.check == SERVES_OUT)
        add_choice(&buf, subject, "write D of", all->outs, type_name, type, problem->out);
    else if (reach.check == SERVES_LAYOUT)
        add_choice(&buf, subject, "take layout", all->layouts, gt_layout_name, type,
                   gt_problem_layout(problem));
    else if (reach.check == SERVES_EPILOGUE)
        add_choice(&buf, subject, "compute epilogue", all->epilogues, gt_epilogue_name, type,
                   problem->epilogue);
    else if (reach.check == SERVES_WORDS)
        add_words(&buf, subject, type, problem);
    else if (reach.check == SERVES_ROWS)
        gt_strbuf_addf(&buf, "%s can make at most %lld rows of such a D of %s, not %lld", subject,
                       (long long)all->max_m, type, (long long)problem->m);
    else if (reach.check == SERVES_BATCH)
        gt_strbuf_addf(&buf, "%s cannot take batches of %s", subject, type);
    else if (reach.check == SERVES_ACCURACY)
        gt_strbuf_addf(&buf, "%s can reach accuracy %s at best with %s, not %s", subject,
                       gt_accuracy_name(all->accuracy), type, gt_accuracy_name(problem->accuracy));
    else
        add_arch(&buf, who, all, type, device->cc);
    snprintf(text, GT_UNSERVED_MAX, "%s", buf.text);
    gt_strbuf_release(&buf);
    return true;
}
