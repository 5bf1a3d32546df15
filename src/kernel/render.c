/* render.c - stage: candidate -> CUDA source: definitions in front of the unchanged template. */
#include "kernel/render.h"

#include "base/err.h"

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
