/* finish.cuh - of hopper/gemm.cu: turns sums into what is stored, two neighbours of a row at a
 * time: elements of D or, with SPLIT, the plain sums of a part of the depth. */
#ifndef GT_HOPPER_FINISH_CUH
#define GT_HOPPER_FINISH_CUH

typedef gt_vec<Stored, 2> Pair;

/* The workspace holds the copies of operands and then, with SPLIT 1, for each matrix of the batch
 * and each part of the depth, the sums of m rows of this length. */
GT_DEVICE long long partial_row(const gt_args &args)
{
    return gt_cdiv(args.n, 4) * 4;
}

GT_DEVICE Sum *partial_sums(const gt_args &args, int batch, int split)
{
    char *const sums = static_cast<char *>(args.workspace) + gt_packed_bytes(args);
    return reinterpret_cast<Sum *>(sums) +
           ((long long)batch * SPLITS + split) * args.m * partial_row(args);
}

/* Where a consumer stores: from its first row and the tile's first column on. */
struct Target {
    gt_typed_output output;
    Stored *first;
    const Stored *c; /* the element of C for `first`; read only with READ_C */
    long long ld;
    int row, column;   /* of `first` in D; with row phases, the row counts the rows of its phase,
                        * which are ld apart */
    int rows, columns; /* that exist from `first` on; may be 0 or less */
};

#if SPLIT

GT_DEVICE Target target_of(const gt_args &args, const Work &work, int first_row)
{
    Target target;
    target.row = work.row + first_row;
    target.column = work.column;
    target.ld = partial_row(args);
    target.first =
        partial_sums(args, work.batch, work.split) + target.row * target.ld + target.column;
    target.rows = (int)args.m - target.row;
    target.columns = (int)target.ld - target.column;
    return target;
}

GT_DEVICE Pair finish_pair(const Target &, Pair, int, const Sum *sum)
{
    Pair pair;
    pair.at[0] = sum[0];
    pair.at[1] = sum[1];
    return pair;
}

#else

GT_DEVICE Target target_of(const gt_args &args, const Work &work, int first_row)
{
    Target target;
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
/* One instruction rounds both. */
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

/* Turns two sums into elements of D, of the columns `first` and `second`. */
GT_DEVICE Pair finish_two(const gt_typed_output &output, Pair c, long long first, long long second,
                          const Sum *sum)
{
#if GT_OUT == GT_S32
    Pair pair;
#pragma unroll
    for (int i = 0; i < 2; i++)
        pair.at[i] = gt_typed_finish(output, sum[i], c.at[i], 0);
    return pair;
#else
    float value[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        value[i] = output.alpha * (float)sum[i];
        if (READ_C)
            value[i] = fmaf(output.beta, gt_to_float<GT_OUT>(c.at[i]), value[i]);
        value[i] = gt_typed_activate(output, value[i], i == 0 ? first : second);
    }
    return round_pair<GT_OUT>(value[0], value[1]);
#endif
}

/* `column` counts from the target's. Beyond D's last column the last bias is read, which changes
 * nothing: such results are not stored. */
GT_DEVICE Pair finish_pair(const Target &target, Pair c, int column, const Sum *sum)
{
    return finish_two(target.output, c, target.column + min(column, target.columns - 1),
                      target.column + min(column + 1, target.columns - 1), sum);
}

#endif

/* The elements of C for a pair at `column` of `row`; zeros for those that do not exist. */
GT_DEVICE Pair load_pair(const Target &target, int row, int column)
{
    Pair c = {};
    if (target.output.beta == 0.0f)
        return c;
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (row < target.rows && column + i < target.columns)
            c.at[i] = target.c[row * target.ld + column + i];
    return c;
}

#endif
