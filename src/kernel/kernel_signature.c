/* kernel_signature.c - vocabulary: the signature of a kernel, to which stored rows belong.
 *
 * It covers everything that decides the code, the launches or the validity of a candidate: the
 * tokens of the template with its includes, and the parts of the description that are listed here.
 * It leaves out everything else: names of kernels and files, remarks, values, defaults, seeds,
 * bets, the performance model, and derived values that only these use. */
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "kernel/kernel.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"

/* The canonical text that is being built, and the derived values that it has used so far (bit i for
 * derived[i]). */
struct signing {
    const struct gt_kernel *kernel;
    struct gt_strbuf *to;
    uint64_t derived;
};

static void use_derived(struct signing *s, const struct gt_expr *expr)
{
    for (size_t i = 0; i < s->kernel->deriveds; i++)
        if (gt_kernel_uses_derived(s->kernel, expr, (uint64_t)1 << i))
            s->derived |= (uint64_t)1 << i;
}

static void add_expr(struct signing *s, const char *key, const struct gt_expr *expr)
{
    gt_strbuf_addf(s->to, " %s=", key);
    gt_tokens_add(s->to, gt_expr_text(expr));
    use_derived(s, expr);
}

static void add_list(struct signing *s, const char *key, struct gt_expr *const *expr, int count)
{
    gt_strbuf_addf(s->to, " %s", key);
    for (int i = 0; i < count; i++)
        add_expr(s, "", expr[i]);
}

/* Adds the names of the bits that are set. */
static void add_bits(struct signing *s, const char *key, unsigned bits,
                     const char *(*name)(unsigned bit))
{
    gt_strbuf_addf(s->to, " %s=", key);
    for (unsigned bit = 0; bit < 8 * sizeof(bits); bit++)
        if (bits >> bit & 1)
            gt_strbuf_addf(s->to, " %s", name(bit));
}

static const char *type_name(unsigned bit)
{
    return gt_dtype_name((enum gt_dtype)bit);
}

static void add_serves(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->entries; i++) {
        const struct gt_serves *entry = &s->kernel->entry[i];

        gt_strbuf_add(s->to, "serves");
        add_bits(s, "types", entry->types, type_name);
        add_bits(s, "out", entry->outs, type_name);
        add_bits(s, "layouts", entry->layouts, gt_layout_name);
        add_bits(s, "epilogues", entry->epilogues, gt_epilogue_name);
        gt_strbuf_addf(s->to, " cc=%d..%d max_m=%lld accuracy=%s batch=%d\n", entry->min_cc,
                       entry->max_cc, (long long)entry->max_m, gt_accuracy_name(entry->accuracy),
                       entry->batched);
    }
}

static void add_launches(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->launches; i++) {
        const struct gt_launch *launch = &s->kernel->launch[i];

        gt_strbuf_addf(s->to, "launch %s maps=%d", launch->entry, launch->maps);
        add_list(s, "grid", launch->grid, 3);
        add_list(s, "block", launch->block, 3);
        add_list(s, "cluster", launch->cluster, 3);
#define ADD(member, standard) add_expr(s, #member, launch->member);
        GT_LAUNCH_EXPRS(ADD)
#undef ADD
        gt_strbuf_add_char(s->to, '\n');
    }
}

static void add_maps(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->maps; i++) {
        const struct gt_tensor_map *map = &s->kernel->map[i];
        const char *element = map->element == GT_MAP_IN    ? "in"
                              : map->element == GT_MAP_OUT ? "out"
                                                           : type_name((unsigned)map->element);

        gt_strbuf_addf(s->to, "map %s of %s", element, gt_map_operand_names[map->operand]);
        add_list(s, "dims", map->dims, map->rank);
        add_list(s, "strides", map->strides, map->rank - 1);
        add_list(s, "box", map->box, map->rank);
#define ADD(member, standard) add_expr(s, #member, map->member);
        GT_MAP_EXPRS(ADD)
#undef ADD
        gt_strbuf_add_char(s->to, '\n');
    }
}

static void add_description(struct signing *s)
{
    const struct gt_kernel *kernel = s->kernel;

    for (size_t i = 0; i < kernel->params; i++)
        gt_strbuf_addf(s->to, "param %s %s\n", kernel->param[i].name,
                       kernel->param[i].launch ? "launch" : "compile");
    add_serves(s);
    for (size_t i = 0; i < kernel->constraints; i++)
        if (!kernel->constraint[i].bet) {
            add_expr(s, "must", kernel->constraint[i].expr);
            gt_strbuf_add_char(s->to, '\n');
        }
    add_launches(s);
    add_maps(s);
#define ADD(member, standard) add_expr(s, #member, kernel->member);
    GT_COMPILE_EXPRS(ADD)
    GT_CANDIDATE_EXPRS(ADD)
#undef ADD
    for (size_t i = kernel->deriveds; i-- > 0;)
        if (s->derived >> i & 1) {
            gt_strbuf_add_char(s->to, '\n');
            add_expr(s, kernel->derived[i].name, kernel->derived[i].expr);
        }
}

int gt_kernel_sign(struct gt_kernel *kernel, const char *code, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct signing s = {.kernel = kernel, .to = &text};
    struct gt_digest digest;
    int rc;

    add_description(&s);
    rc = gt_strbuf_check(&text, err);
    if (!rc && gt_digest_init(&digest))
        rc = gt_err_nomem(err);
    if (!rc) {
        gt_digest_add(&digest, code, strlen(code));
        gt_digest_add(&digest, text.text, text.length);
        gt_digest_final(&digest, kernel->signature);
    }
    gt_strbuf_release(&text);
    return rc;
}

/* Vocabulary: a candidate of which a few parameters got other values.
 *
 * A look-up asks thousands of times whether a neighbour of a valid candidate is valid, too.  Only
 * what asks for a value that is another one now is computed for that. */

static void compare(struct gt_change *change, size_t slot)
{
    change->differ[slot / 64] |= (uint64_t)(change->now[slot] != change->before[slot]) << slot % 64;
}

void gt_change_begin(struct gt_change *change, const struct gt_candidate *candidate,
                     uint64_t changed, const int64_t before[GT_MAX_SLOTS],
                     int64_t now[GT_MAX_SLOTS])
{
    const struct gt_kernel *kernel = candidate->kernel;

    *change = (struct gt_change){.kernel = kernel, .before = before, .now = now};
    memcpy(now, before, kernel->names.count * sizeof(*now));
    for (uint64_t left = changed; left; left &= left - 1) {
        const size_t i = (size_t)__builtin_ctzll(left);

        now[kernel->first_param + i] = candidate->point.value[i];
        compare(change, kernel->first_param + i);
        change->stale |= kernel->param[i].derived;
    }
}

bool gt_change_derive(struct gt_change *change, uint64_t derived)
{
    const struct gt_kernel *kernel = change->kernel;
    const size_t first = kernel->first_param + kernel->params;

    derived &= change->stale;
    change->stale &= ~derived;
    for (; derived; derived &= derived - 1) {
        const size_t i = (size_t)__builtin_ctzll(derived);
        const struct gt_expr *expr = kernel->derived[i].expr;

        if (!gt_change_asked(change, expr))
            continue;
        if (gt_expr_eval(expr, change->now, &change->now[first + i], NULL))
            return false;
        compare(change, first + i);
    }
    return true;
}

bool gt_change_asked(const struct gt_change *change, const struct gt_expr *expr)
{
    return gt_expr_uses_any(expr, change->differ);
}

/* Whether a constraint that held still does.  False also where it cannot be computed. */
static bool holds(struct gt_change *change, const struct gt_constraint *constraint)
{
    int64_t value;

    if (!gt_change_derive(change, constraint->derived))
        return false;
    return !gt_change_asked(change, constraint->expr) ||
           (gt_expr_eval(constraint->expr, change->now, &value, NULL) == GT_OK && value);
}

bool gt_candidate_still_valid(const struct gt_candidate *candidate, uint64_t changed,
                              const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                              size_t *likely)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_change change;

    gt_change_begin(&change, candidate, changed, before, now);
    if (*likely < kernel->constraints && !holds(&change, &kernel->constraint[*likely]))
        return false;
    for (size_t i = 0; i < kernel->constraints; i++)
        if (kernel->constraint[i].depends & changed && i != *likely &&
            !holds(&change, &kernel->constraint[i])) {
            *likely = i;
            return false;
        }
    return gt_change_derive(&change, change.stale);
}

bool gt_candidate_breaks(const struct gt_candidate *candidate, uint64_t changed,
                         const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                         uint64_t *broken)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_change change;
    int64_t value;

    gt_change_begin(&change, candidate, changed, before, now);
    *broken = changed;
    if (!gt_change_derive(&change, change.stale))
        return true;
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];

        if (!(constraint->depends & changed) || !gt_change_asked(&change, constraint->expr))
            continue;
        if (gt_expr_eval(constraint->expr, now, &value, NULL))
            return true;
        if (!value) {
            *broken = constraint->depends;
            return true;
        }
    }
    *broken = 0;
    return false;
}
