/* proof_served.c - test program: the kernels that compare a served product with cuBLAS's
 * (templates/proof/served.cu) on the CPU, for every type, layout and shape of rows.  One wrong
 * element is found wherever it is; right ones, and what cuBLAS has wrong, are not.  Prints TAP. */
#include "proof_fixture.h"

enum { BATCH = 2 };

static void call_served(const struct gt_emu_launch *launch)
{
    void (*function)(struct gt_served_args);
    *(void **)&function = launch->entry;
    function(*(const struct gt_served_args *)launch->args);
}

struct served {
    struct matrix a, b, c, bias, ours, theirs;
    struct gt_served_finding finding[GT_SERVED_LOOKED_AT];
    struct gt_served_args args;
};

/* The kernels' own reference, whose results are rounded once, becomes both results. */
static void compute(const struct proof *proof, struct served *s, const struct gt_span *d)
{
    const struct gt_served_args *args = &s->args;
    const size_t size = (size_t)gt_dtype_size((enum gt_dtype)d->type);
    char *exact = malloc((size_t)(d->rows * d->cols) * BATCH * size);
    struct gt_reference_args reference = {.a = args->a,
                                          .b = args->b,
                                          .c = args->c,
                                          .bias = args->bias,
                                          .type = args->type,
                                          .type_b = args->type,
                                          .type_bias = d->type,
                                          .out = d->type,
                                          .m = d->rows,
                                          .n = d->cols,
                                          .k = args->k,
                                          .lda = args->lda,
                                          .ldb = args->ldb,
                                          .ldc = args->ldc,
                                          .stride_a = args->stride_a,
                                          .stride_b = args->stride_b,
                                          .stride_c = args->stride_c,
                                          .trans_a = args->trans_a,
                                          .trans_b = args->trans_b,
                                          .epilogue = args->epilogue,
                                          .alpha = args->alpha,
                                          .beta = args->beta,
                                          .exact = exact};

    if (!exact)
        abort();
    RUN(proof->reference, proof_reference, &reference, (unsigned)(d->cols + 63) / 64, 1, BATCH);
    for (long long row = 0; row < d->rows * BATCH; row++) {
        const size_t at = (size_t)(row / d->rows * d->stride + row % d->rows * d->ld) * size;
        const size_t bytes = (size_t)d->cols * size;
        memcpy((char *)s->ours.span.data + at, exact + (size_t)row * bytes, bytes);
        memcpy((char *)s->theirs.span.data + at, exact + (size_t)row * bytes, bytes);
    }
    free(exact);
}

static struct served served(const struct proof *proof, enum gt_dtype type, enum gt_dtype out,
                            int layout, long long rows, long long cols, long long pad, int shift)
{
    enum { K = 37 };
    const int ta = layout / 2, tb = layout % 2;
    const size_t size = (size_t)gt_dtype_size(out);
    struct served s;

    memset(&s, 0, sizeof(s));
    s.a = filled(proof, typed(type, ta ? K : rows, ta ? rows : K, 3, BATCH, 2, 0), GT_FILL_NORMAL,
                 0, 1);
    s.b = filled(proof, typed(type, tb ? cols : K, tb ? K : cols, 1, BATCH, 0, 0), GT_FILL_NORMAL,
                 0, 2);
    s.c = filled(proof, typed(out, rows, cols, 5, BATCH, 1, 0), GT_FILL_NORMAL, 0, 3);
    s.bias = filled(proof, typed(out, 1, cols, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 4);
    s.ours = typed(out, rows, cols, pad, BATCH, 0, (size_t)shift * size);
    s.theirs = typed(out, rows, cols, pad, BATCH, 0, 0);
    s.args = (struct gt_served_args){.ours = s.ours.span,
                                     .theirs = s.theirs.span.data,
                                     .a = s.a.span.data,
                                     .b = s.b.span.data,
                                     .c = layout ? s.c.span.data : NULL,
                                     .bias = layout == 3 ? s.bias.span.data : NULL,
                                     .k = K,
                                     .lda = s.a.span.ld,
                                     .ldb = s.b.span.ld,
                                     .ldc = s.c.span.ld,
                                     .stride_a = s.a.span.stride,
                                     .stride_b = s.b.span.stride,
                                     .stride_c = s.c.span.stride,
                                     .type = (int)type,
                                     .trans_a = ta,
                                     .trans_b = tb,
                                     .epilogue = layout == 3 ? 1 | 2 : 0,
                                     .wide = !shift && (cols + pad) * (long long)size % 16 == 0,
                                     .alpha = 1,
                                     .beta = layout ? 2 : 0,
                                     .of_sums = out == GT_S32 ? 0 : 1e-5,
                                     .of_result = out == GT_S32 ? 0 : 0x1p-7,
                                     .absolute = out == GT_S32 ? 0 : 0x1p-24};
    if (out == GT_E4M3 || out == GT_E5M2)
        s.args.of_result = 0.25;
    compute(proof, &s, &s.ours.span);
    return s;
}

/* Elements that are found wrong. */
static int findings(void *object, struct served *s)
{
    int wrong = 0;

    memset(s->finding, 0, sizeof(s->finding));
    s->args.finding = s->finding;
    run(object, "served_compare", call_served, &s->args, (unsigned[]){2, 1, 1});
    run(object, "served_exact", call_served, &s->args, (unsigned[]){2, GT_SERVED_LOOKED_AT, 1});
    for (int i = 0; i < GT_SERVED_LOOKED_AT; i++)
        wrong += (int)s->finding[i].wrong;
    return wrong;
}

/* Changes the element's highest bit but one. */
static void change(void *data, long long at, size_t size)
{
    ((unsigned char *)data)[(size_t)at * size + size - 1] ^= 0x40;
}

static void test_served(struct proof *proof, void *object, enum gt_dtype type, enum gt_dtype out)
{
    static const struct {
        long long rows, cols, pad;
        int shift;
    } shapes[] = {{5, 48, 0, 0},  {7, 35, 13, 0}, {9, 33, 0, 0},
                  {1, 300, 4, 0}, {64, 1, 3, 0},  {6, 40, 8, 1}};
    const size_t size = (size_t)gt_dtype_size(out);
    int right = 0, found = 0, theirs = 0, count = 0;

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int layout = 0; layout < 4; layout++, count++) {
            struct served s = served(proof, type, out, layout, shapes[i].rows, shapes[i].cols,
                                     shapes[i].pad, shapes[i].shift);
            const struct gt_span *d = &s.ours.span;
            const long long at =
                (count % BATCH) * d->stride + count * 5 % d->rows * d->ld + count * 7 % d->cols;

            right += findings(object, &s) == 0;
            change(s.ours.span.data, at, size);
            found += findings(object, &s) == 1;
            change(s.ours.span.data, at, size);
            change(s.theirs.span.data, at, size);
            theirs += findings(object, &s) == 0;
            free(s.a.base);
            free(s.b.base);
            free(s.c.base);
            free(s.bias.base);
            free(s.ours.base);
            free(s.theirs.base);
        }
    test(proof, right == count && found == count && theirs == count,
         "%s to %s: of %d products %d are right, in %d the one wrong element is found, in %d it is "
         "not ours",
         gt_dtype_name(type), gt_dtype_name(out), count, right, found, theirs);
}

int main(void)
{
    static const enum gt_dtype types[][2] = {
        {GT_F32, GT_F32},   {GT_TF32, GT_F32}, {GT_F16, GT_F16}, {GT_BF16, GT_BF16},
        {GT_F16, GT_F32},   {GT_BF16, GT_F32}, {GT_S8, GT_S32},  {GT_E4M3, GT_BF16},
        {GT_E4M3, GT_E4M3}, {GT_E5M2, GT_E5M2}};
    struct proof proof = {0};
    char folder[256];
    const char *build = getenv("BUILD");
    void *object = NULL;

    proof_begin(&proof, "proof_served");
    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    open_file(&proof, &object, folder, "served");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        test_served(&proof, object, types[i][0], types[i][1]);
    dlclose(object);
    return proof_end(&proof);
}
