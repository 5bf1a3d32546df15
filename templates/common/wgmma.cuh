/* wgmma.cuh - products of tiles in shared memory by the four warps of a warpgroup (sm_90a).
 *
 *              n columns of op(B)
 *            +-------------------+      The warpgroup adds the product of 64 rows of op(A) and n
 *   warp 0   | 16 rows           |      columns of op(B), 32 bytes deep along k, to sums that its
 *   warp 1   | 16 rows           |  64  threads hold. Of columns 8 * j to 8 * j + 7 a thread has
 *   warp 2   | 16 rows           |          d[4 * j + 0, 1]: row r,     columns 8 * j + 2 * c, + 1
 *   warp 3   | 16 rows           |          d[4 * j + 2, 3]: row r + 8, the same columns
 *            +-------------------+      with r = lane / 4, c = lane % 4.
 *
 * Operands are in shared memory as TMA's swizzled boxes leave them, in one of two layouts:
 *
 * along k   Rows of 128 bytes of k, one for each m (or n), swizzled by 128. Eight rows are 1024
 *           bytes; the next 32 bytes of k begin 32 bytes further on.
 * along mn  (16-bit types only) Boxes of W = 32, 64 or 128 bytes of m (or n), one row for each k,
 *           swizzled by W. Eight rows are 8 * W bytes; the next 16 k begin 16 * W bytes further on,
 *           the next box of m (or n) one box further on.
 *
 * Order of calls: gt_wgmma_fence; any number of gt_wgmma; gt_wgmma_commit; gt_wgmma_wait. From the
 * fence to the wait nothing else may access the sums, and the operands must not change. */
#ifndef GT_WGMMA_CUH
#define GT_WGMMA_CUH

/* The descriptor of an operand in shared memory. `lbo` (leading byte offset) is the distance in
 * bytes of two boxes along mn; along k it has no meaning and is 16. `sbo` (stride byte offset) is
 * the distance of two groups of eight rows. swizzle is 0, 32, 64 or 128. The swizzle must not move
 * the operand's first byte: what one box or several make up begins at a multiple of 8 * swizzle
 * bytes, and the operand in its first row, or in a row whose number is a multiple of 8, at most the
 * swizzle's width along it. */
GT_DEVICE unsigned long long gt_smem_descriptor(const void *shared, unsigned lbo, unsigned sbo,
                                              int swizzle)
{
    unsigned long long pattern = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return (gt_shared_address(shared) & 0x3ffff) >> 4 | (unsigned long long)(lbo >> 4) << 16 |
           (unsigned long long)(sbo >> 4) << 32 | pattern << 62;
}

/* The descriptor of what lies `units` of 16 bytes further on. The address is in the lower word,
 * which it cannot leave: so no carry is added to the upper one, which mostly is a constant. */
GT_DEVICE unsigned long long gt_smem_descriptor_advance(unsigned long long operand, unsigned units)
{
    return operand >> 32 << 32 | ((unsigned)operand + units);
}

/* A value that all threads of the warp have, as one that the compiler knows to be the same for them:
 * what follows from it is computed once for the warp, in uniform registers, where wgmma wants its
 * descriptors. All threads of the warp call it. */
GT_DEVICE int gt_warp_uniform(int value)
{
    return __shfl_sync(0xffffffffu, value, 0);
}

/* The same descriptor as such a value, which is then kept: the compiler would compute it anew for
 * each step from where the block's shared memory begins. */
GT_DEVICE unsigned long long gt_smem_descriptor_keep(unsigned long long operand)
{
    return operand >> 32 << 32 | (unsigned)gt_warp_uniform((int)operand);
}

#define WGMMA_ALL (-1) /* types of WGMMA_TYPE below */

/* The type of a sum. */
template <int code> struct gt_wgmma_sum {
    typedef float type;
};
template <> struct gt_wgmma_sum<GT_S8> {
    typedef int type;
};

#ifdef GT_EMULATE

template <int code, int n, int a_along_mn, int b_along_mn>
GT_DEVICE void gt_wgmma(typename gt_wgmma_sum<code>::type *d, unsigned long long a,
                        unsigned long long b, int scale_d)
{
    gt_emu_wgmma(code, n, a_along_mn, b_along_mn, d, a, b, scale_d, __FILE__, __LINE__);
}

GT_DEVICE void gt_wgmma_fence()
{
    gt_emu_wgmma_fence();
}

GT_DEVICE void gt_wgmma_commit()
{
    gt_emu_wgmma_commit();
}

template <int pending> GT_DEVICE void gt_wgmma_wait()
{
    gt_emu_wgmma_wait(pending, __FILE__, __LINE__);
}

#else

/* Orders the thread's earlier writes of the sums before the products that follow. */
GT_DEVICE void gt_wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Makes a group of the products since the last commit. */
GT_DEVICE void gt_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all but the `pending` youngest groups are complete: their operands may be
 * overwritten, and their sums read. */
template <int pending> GT_DEVICE void gt_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* There is one instruction for each type and n. Its text names every register of the sums: the
 * lists below name them, eight a line, each list by appending to the one before. */
#define GT_W8   "%0, %1, %2, %3, %4, %5, %6, %7"
#define GT_W16  GT_W8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GT_W24  GT_W16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define GT_W32  GT_W24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define GT_W40  GT_W32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define GT_W48  GT_W40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define GT_W56  GT_W48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define GT_W64  GT_W56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define GT_W72  GT_W64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define GT_W80  GT_W72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define GT_W88  GT_W80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define GT_W96  GT_W88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define GT_W104 GT_W96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define GT_W112 GT_W104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define GT_W120 GT_W112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define GT_W128 GT_W120 ", %120, %121, %122, %123, %124, %125, %126, %127"

#define GT_D8(c, i)                                                                   \
    c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), \
        c(d[i + 7])
#define GT_D8_(c)  GT_D8(c, 0)
#define GT_D16(c)  GT_D8_(c), GT_D8(c, 8)
#define GT_D24(c)  GT_D16(c), GT_D8(c, 16)
#define GT_D32(c)  GT_D24(c), GT_D8(c, 24)
#define GT_D40(c)  GT_D32(c), GT_D8(c, 32)
#define GT_D48(c)  GT_D40(c), GT_D8(c, 40)
#define GT_D56(c)  GT_D48(c), GT_D8(c, 48)
#define GT_D64(c)  GT_D56(c), GT_D8(c, 56)
#define GT_D72(c)  GT_D64(c), GT_D8(c, 64)
#define GT_D80(c)  GT_D72(c), GT_D8(c, 72)
#define GT_D88(c)  GT_D80(c), GT_D8(c, 80)
#define GT_D96(c)  GT_D88(c), GT_D8(c, 88)
#define GT_D104(c) GT_D96(c), GT_D8(c, 96)
#define GT_D112(c) GT_D104(c), GT_D8(c, 104)
#define GT_D120(c) GT_D112(c), GT_D8(c, 112)
#define GT_D128(c) GT_D120(c), GT_D8(c, 120)

template <int code, int n> struct gt_wgmma_instruction;

/* p, a, b, ta, tb are the numbers of the operands that follow the sums. */
#define GT_WGMMA_DEFINE(code, shape, c, tail, n, words, sums, p, a, b, ta, tb)                 \
    template <> struct gt_wgmma_instruction<code, n> {                                         \
        template <int a_along_mn, int b_along_mn>                                              \
        static GT_DEVICE void issue(gt_wgmma_sum<code>::type *d, unsigned long long operand_a,   \
                                  unsigned long long operand_b, int scale_d)                      \
        {                                                                                      \
            asm volatile("{\n.reg .pred scale_d;\nsetp.ne.b32 scale_d, " p ", 0;\n"           \
                         "wgmma.mma_async.sync.aligned.m64n" #n shape " {" words "}, " a ", " b \
                         ", scale_d" tail(ta, tb) ";\n}"                                          \
                         : sums(c)                                                             \
                         : "r"(scale_d), "l"(operand_a), "l"(operand_b), "n"(a_along_mn),         \
                           "n"(b_along_mn));                                                   \
        }                                                                                      \
    };

#define GT_WGMMA_TYPE(...)                                                                   \
    GT_WGMMA_DEFINE(__VA_ARGS__, 16, GT_W8, GT_D8_, "%8", "%9", "%10", "%11", "%12") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 32, GT_W16, GT_D16, "%16", "%17", "%18", "%19", "%20") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 48, GT_W24, GT_D24, "%24", "%25", "%26", "%27", "%28") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 64, GT_W32, GT_D32, "%32", "%33", "%34", "%35", "%36") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 80, GT_W40, GT_D40, "%40", "%41", "%42", "%43", "%44") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 96, GT_W48, GT_D48, "%48", "%49", "%50", "%51", "%52") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 112, GT_W56, GT_D56, "%56", "%57", "%58", "%59", "%60") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 128, GT_W64, GT_D64, "%64", "%65", "%66", "%67", "%68") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 144, GT_W72, GT_D72, "%72", "%73", "%74", "%75", "%76") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 160, GT_W80, GT_D80, "%80", "%81", "%82", "%83", "%84") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 176, GT_W88, GT_D88, "%88", "%89", "%90", "%91", "%92") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 192, GT_W96, GT_D96, "%96", "%97", "%98", "%99", "%100") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 208, GT_W104, GT_D104, "%104", "%105", "%106", "%107", "%108") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 224, GT_W112, GT_D112, "%112", "%113", "%114", "%115", "%116") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 240, GT_W120, GT_D120, "%120", "%121", "%122", "%123", "%124") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 256, GT_W128, GT_D128, "%128", "%129", "%130", "%131", "%132")

#define GT_TAIL_16(ta, tb)      ", 1, 1, " ta ", " tb
#define GT_TAIL_NARROW(ta, tb)  ", 1, 1"
#define GT_TAIL_INTEGER(ta, tb) ""

/* Only one type's, because the compiler takes 14 ms to read those of all. An includer that needs
 * another type than the problem's names it (WGMMA_TYPE), or none for all. */
#ifndef WGMMA_TYPE
#define WGMMA_TYPE GT_TYPE
#endif
#if WGMMA_TYPE == GT_F16 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_F16, "k16.f32.f16.f16", "+f", GT_TAIL_16)
#endif
#if WGMMA_TYPE == GT_BF16 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_BF16, "k16.f32.bf16.bf16", "+f", GT_TAIL_16)
#endif
#if WGMMA_TYPE == GT_TF32 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_TF32, "k8.f32.tf32.tf32", "+f", GT_TAIL_NARROW)
#endif
#if WGMMA_TYPE == GT_E4M3 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_E4M3, "k32.f32.e4m3.e4m3", "+f", GT_TAIL_NARROW)
#endif
#if WGMMA_TYPE == GT_E5M2 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_E5M2, "k32.f32.e5m2.e5m2", "+f", GT_TAIL_NARROW)
#endif
#if WGMMA_TYPE == GT_S8 || WGMMA_TYPE == WGMMA_ALL
GT_WGMMA_TYPE(GT_S8, "k32.s32.s8.s8", "+r", GT_TAIL_INTEGER)
#endif

/* Adds the product of 64 x 32 bytes of a and 32 bytes x n of b to d[0 .. n / 2), which is indexed
 * by constants only. With scale_d 0 the sums start from this product. n is a multiple of 16 up to
 * 256. */
template <int code, int n, int a_along_mn, int b_along_mn>
GT_DEVICE void gt_wgmma(typename gt_wgmma_sum<code>::type *d, unsigned long long a,
                        unsigned long long b, int scale_d)
{
    static_assert(code == GT_F16 || code == GT_BF16 || (!a_along_mn && !b_along_mn),
                  "only 16-bit operands may lie along m and n");
    gt_wgmma_instruction<code, n>::template issue<a_along_mn, b_along_mn>(d, a, b, scale_d);
}

#endif
#endif
