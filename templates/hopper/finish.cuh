/* finish.cuh - of hopper/gemm.cu: from sums to what is stored, two neighbours of a row at a time:
 * elements of D or, with SPLIT, the sums of a part of the depth as they are. */
typedef gt_vec<stored_type, 2> pair_type;

/* Behind copies of operands the workspace holds, for each matrix of the batch and each part of the
 * depth, sums of m rows that are this long. */
GT_DEVICE long long partial_row(const gt_args &args)
{
    return gt_cdiv(args.n, 4) * 4;
}

GT_DEVICE sum_type *partial_sums(const gt_args &args, int batch, int split)
{
    char *const sums = static_cast<char *>(args.workspace) + gt_packed_bytes(args);
    return reinterpret_cast<sum_type *>(sums) +
           ((long long)batch * SPLITS + split) * args.m * partial_row(args);
}

/* What a consumer stores: from its first row and the tile's first column on. */
struct target {
    gt_typed_output output;
    stored_type *first;
    const stored_type *c; /* the element of C there; read only with READ_C */
    long long ld;
    int row, column;   /* of the first, in D; of a strand, among its rows, which lie ld apart */
    int rows, columns; /* that exist from there on; may be none */
};

#if SPLIT

GT_DEVICE target target_of(const gt_args &args, const work &work, int first_row)
{
    target target;
    target.row = work.row + first_row;
    target.column = work.column;
    target.ld = partial_row(args);
    target.first =
        partial_sums(args, work.batch, work.split) + target.row * target.ld + target.column;
    target.rows = (int)args.m - target.row;
    target.columns = (int)target.ld - target.column;
    return target;
}

GT_DEVICE pair_type finish_pair(const target &, pair_type, int, const sum_type *sum)
{
    pair_type pair;
    pair.at[0] = sum[0];
    pair.at[1] = sum[1];
    return pair;
}

#else

GT_DEVICE target target_of(const gt_args &args, const work &work, int first_row)
{
    target target;
    target.output = gt_typed_output_of(args, work.batch);
    target.row = work.row + first_row;
    target.column = work.column;
    target.ld = args.ldc * ROW_PHASES;
    const long long place = work.phase * args.ldc + target.row * target.ld + target.column;
    target.first = target.output.d + place;
    target.c = target.output.c + place;
    target.rows = ((int)args.m - work.phase + ROW_PHASES - 1) / ROW_PHASES - target.row;
    target.columns = (int)args.n - target.column;
    return target;
}

template <int code>
GT_DEVICE gt_vec<typename gt_element<code>::type, 2> round_pair(float x, float y)
{
    gt_vec<typename gt_element<code>::type, 2> pair;
    pair.at[0] = gt_from_float<code>(x);
    pair.at[1] = gt_from_float<code>(y);
    return pair;
}

#ifndef GT_EMULATE
/* One instruction for both. */
template <> GT_DEVICE gt_vec<gt_f16, 2> round_pair<GT_F16>(float x, float y)
{
    gt_vec<gt_f16, 2> pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair.word) : "f"(y), "f"(x));
    return pair;
}

template <> GT_DEVICE gt_vec<gt_bf16, 2> round_pair<GT_BF16>(float x, float y)
{
    gt_vec<gt_bf16, 2> pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair.word) : "f"(y), "f"(x));
    return pair;
}
#endif

/* `column` counts from the target's; beyond D there is no bias, and what is computed is not stored.
 */
GT_DEVICE pair_type finish_pair(const target &target, pair_type c, int column, const sum_type *sum)
{
#if GT_OUT == GT_S32
    pair_type pair;
#pragma unroll
    for (int i = 0; i < 2; i++)
        pair.at[i] = gt_typed_finish(target.output, sum[i], c.at[i], 0);
    return pair;
#else
    float value[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        value[i] = target.output.alpha * (float)sum[i];
        if (READ_C)
            value[i] = fmaf(target.output.beta, gt_to_float<GT_OUT>(c.at[i]), value[i]);
        value[i] = gt_typed_activate(target.output, value[i],
                                     target.column + min(column + i, target.columns - 1));
    }
    return round_pair<GT_OUT>(value[0], value[1]);
#endif
}

#endif

/* The elements of C for a pair at `column` of `row`, as far as they exist. */
GT_DEVICE pair_type load_pair(const target &target, int row, int column)
{
    pair_type c = {};
    if (target.output.beta == 0.0f)
        return c;
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (row < target.rows && column + i < target.columns)
            c.at[i] = target.c[row * target.ld + column + i];
    return c;
}
