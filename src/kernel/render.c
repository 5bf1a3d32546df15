/* render.c - stage: candidate -> CUDA source: definitions in front of the unchanged template. */
#include "kernel/render.h"

#include "base/err.h"
#include "problem/problem.h"

static void add_first_line(struct gt_strbuf *source, const struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const char *separator = "";

    gt_strbuf_addf(source, "// gemmtune kernel %s, point ", kernel->name);
    for (size_t i = 0; i < kernel->params; i++) {
        if (kernel->param[i].launch)
            continue;
        gt_strbuf_addf(source, "%s%s=%lld", separator, kernel->param[i].name,
                       (long long)candidate->point.value[i]);
        separator = ",";
    }
    gt_strbuf_add_char(source, '\n');
}

static void add_parameters(struct gt_strbuf *source, const struct gt_candidate *candidate,
                           bool docs)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int place = 0;

    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];

        gt_strbuf_addf(source, "#define %s ", param->name);
        if (param->launch)
            gt_strbuf_addf(source, "(args.launch[%d])", place++);
        else
            gt_strbuf_addf(source, "%lld", (long long)candidate->point.value[i]);
        if (docs)
            gt_strbuf_addf(source, " // %s", param->doc);
        gt_strbuf_add_char(source, '\n');
    }
}

static void add_scale(struct gt_strbuf *source, char operand, const struct gt_scale *scale)
{
    const struct {
        const char *name;
        int value;
    } facts[] = {{"", scale->kind},      {"_ROWS", scale->rows},   {"_DEPTH", scale->depth},
                 {"_TYPE", scale->type}, {"_ORDER", scale->order}, {"_TENSOR", scale->tensor}};

    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        if (facts[i].value)
            gt_strbuf_addf(source, "#define GT_SCALE_%c%s %d\n", operand, facts[i].name,
                           facts[i].value);
}

/* Defines what a plain problem does not have, where it is not 0 (templates/common/operands.cuh has
 * the zeros): the source of a plain problem stays as it was. */
static void add_words(struct gt_strbuf *source, const struct gt_problem *p)
{
    const struct {
        const char *name;
        int value;
    } facts[] = {
        {"GT_SUMS", p->sums},           {"GT_ZERO_A", p->zero_a},
        {"GT_ZERO_B", p->zero_b},       {"GT_CONJ_A", p->conj_a},
        {"GT_CONJ_B", p->conj_b},       {"GT_GATE", p->gate},
        {"GT_GROUPS", p->groups != 0},  {"GT_GROUPS_BY", p->by},
        {"GT_GROUP_SIZES", p->sizes},   {"GT_SYMMETRIC", p->symmetric},
        {"GT_SAME_BITS", p->same_bits},
    };

    gt_strbuf_addf(source, "#define GT_TYPE_B %d\n#define GT_BIAS %d\n", (int)gt_problem_type_b(p),
                   (int)gt_problem_bias(p));
    add_scale(source, 'A', &p->scale_a);
    add_scale(source, 'B', &p->scale_b);
    add_scale(source, 'D', &p->scale_d);
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        if (facts[i].value)
            gt_strbuf_addf(source, "#define %s %d\n", facts[i].name, facts[i].value);
}

static void add_header(struct gt_strbuf *source, const struct gt_candidate *candidate, bool docs)
{
    const struct gt_problem *problem = candidate->problem;
    const struct {
        const char *name;
        int value;
    } facts[] = {
        {"GT_TRANS_A", problem->trans_a},   {"GT_TRANS_B", problem->trans_b},
        {"GT_EPILOGUE", problem->epilogue}, {"GT_TYPE", (int)problem->type},
        {"GT_OUT", (int)problem->out},      {"GT_ACC", (int)problem->acc},
    };

    add_first_line(source, candidate);
    add_parameters(source, candidate, docs);
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        gt_strbuf_addf(source, "#define %s %d\n", facts[i].name, facts[i].value);
    if (!gt_problem_plain(problem))
        add_words(source, problem);
}

int gt_render(struct gt_strbuf *source, const struct gt_candidate *candidate, struct gt_err *err)
{
    add_header(source, candidate, false);
    gt_strbuf_addf(source, "#line 1 \"%s\"\n", candidate->kernel->template_path);
    gt_strbuf_add(source, candidate->kernel->text);
    return gt_strbuf_check(source, err);
}

int gt_render_header(struct gt_strbuf *header, const struct gt_candidate *candidate,
                     struct gt_err *err)
{
    add_header(header, candidate, true);
    return gt_strbuf_check(header, err);
}
