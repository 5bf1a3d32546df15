/* wgmma_odd.cuh - the instructions of wgmma.cuh whose n is an odd multiple of 8, from 8 to 248.
 *
 * They stand apart because few points of a kernel need them, and the compiler takes as long to read
 * them as it takes for all the others. */
#ifndef GT_WGMMA_ODD_CUH
#define GT_WGMMA_ODD_CUH

#include "common/wgmma.cuh"

#ifndef GT_EMULATE

#define GT_W4   "%0, %1, %2, %3"
#define GT_W12  GT_W8 ", %8, %9, %10, %11"
#define GT_W20  GT_W16 ", %16, %17, %18, %19"
#define GT_W28  GT_W24 ", %24, %25, %26, %27"
#define GT_W36  GT_W32 ", %32, %33, %34, %35"
#define GT_W44  GT_W40 ", %40, %41, %42, %43"
#define GT_W52  GT_W48 ", %48, %49, %50, %51"
#define GT_W60  GT_W56 ", %56, %57, %58, %59"
#define GT_W68  GT_W64 ", %64, %65, %66, %67"
#define GT_W76  GT_W72 ", %72, %73, %74, %75"
#define GT_W84  GT_W80 ", %80, %81, %82, %83"
#define GT_W92  GT_W88 ", %88, %89, %90, %91"
#define GT_W100 GT_W96 ", %96, %97, %98, %99"
#define GT_W108 GT_W104 ", %104, %105, %106, %107"
#define GT_W116 GT_W112 ", %112, %113, %114, %115"
#define GT_W124 GT_W120 ", %120, %121, %122, %123"

#define GT_D4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define GT_D4_(c)  GT_D4(c, 0)
#define GT_D12(c)  GT_D8_(c), GT_D4(c, 8)
#define GT_D20(c)  GT_D16(c), GT_D4(c, 16)
#define GT_D28(c)  GT_D24(c), GT_D4(c, 24)
#define GT_D36(c)  GT_D32(c), GT_D4(c, 32)
#define GT_D44(c)  GT_D40(c), GT_D4(c, 40)
#define GT_D52(c)  GT_D48(c), GT_D4(c, 48)
#define GT_D60(c)  GT_D56(c), GT_D4(c, 56)
#define GT_D68(c)  GT_D64(c), GT_D4(c, 64)
#define GT_D76(c)  GT_D72(c), GT_D4(c, 72)
#define GT_D84(c)  GT_D80(c), GT_D4(c, 80)
#define GT_D92(c)  GT_D88(c), GT_D4(c, 88)
#define GT_D100(c) GT_D96(c), GT_D4(c, 96)
#define GT_D108(c) GT_D104(c), GT_D4(c, 104)
#define GT_D116(c) GT_D112(c), GT_D4(c, 112)
#define GT_D124(c) GT_D120(c), GT_D4(c, 120)

#define GT_WGMMA_ODD_TYPE(...) \
    GT_WGMMA_DEFINE(__VA_ARGS__, 8, GT_W4, GT_D4_, "%4", "%5", "%6", "%7", "%8") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 24, GT_W12, GT_D12, "%12", "%13", "%14", "%15", "%16") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 40, GT_W20, GT_D20, "%20", "%21", "%22", "%23", "%24") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 56, GT_W28, GT_D28, "%28", "%29", "%30", "%31", "%32") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 72, GT_W36, GT_D36, "%36", "%37", "%38", "%39", "%40") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 88, GT_W44, GT_D44, "%44", "%45", "%46", "%47", "%48") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 104, GT_W52, GT_D52, "%52", "%53", "%54", "%55", "%56") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 120, GT_W60, GT_D60, "%60", "%61", "%62", "%63", "%64") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 136, GT_W68, GT_D68, "%68", "%69", "%70", "%71", "%72") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 152, GT_W76, GT_D76, "%76", "%77", "%78", "%79", "%80") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 168, GT_W84, GT_D84, "%84", "%85", "%86", "%87", "%88") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 184, GT_W92, GT_D92, "%92", "%93", "%94", "%95", "%96") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 200, GT_W100, GT_D100, "%100", "%101", "%102", "%103", "%104") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 216, GT_W108, GT_D108, "%108", "%109", "%110", "%111", "%112") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 232, GT_W116, GT_D116, "%116", "%117", "%118", "%119", "%120") \
    GT_WGMMA_DEFINE(__VA_ARGS__, 248, GT_W124, GT_D124, "%124", "%125", "%126", "%127", "%128")

#if GT_TYPE == GT_F16
GT_WGMMA_ODD_TYPE(GT_F16, "k16.f32.f16.f16", "+f", GT_TAIL_16)
#elif GT_TYPE == GT_BF16
GT_WGMMA_ODD_TYPE(GT_BF16, "k16.f32.bf16.bf16", "+f", GT_TAIL_16)
#elif GT_TYPE == GT_TF32
GT_WGMMA_ODD_TYPE(GT_TF32, "k8.f32.tf32.tf32", "+f", GT_TAIL_NARROW)
#elif GT_TYPE == GT_E4M3
GT_WGMMA_ODD_TYPE(GT_E4M3, "k32.f32.e4m3.e4m3", "+f", GT_TAIL_NARROW)
#elif GT_TYPE == GT_E5M2
GT_WGMMA_ODD_TYPE(GT_E5M2, "k32.f32.e5m2.e5m2", "+f", GT_TAIL_NARROW)
#endif

#endif
#endif
