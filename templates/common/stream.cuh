/* stream.cuh - loads of data that a launch reads only once: they bypass L1, and fetch whole lines
 * into L2. */
#ifndef GT_STREAM_CUH
#define GT_STREAM_CUH

#ifdef GT_EMULATE

template <class E, int count> GT_DEVICE gt_vec<E, count> gt_stream_vec(const E *from)
{
    return gt_load_vec_global<E, count>(from);
}

#else

#define GT_STREAM "ld.global.nc.L1::no_allocate.L2::128B"

GT_DEVICE void gt_stream_word(uint4 &to, const void *from)
{
    asm volatile(GT_STREAM ".v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
                 : "l"(from));
}

GT_DEVICE void gt_stream_word(uint2 &to, const void *from)
{
    asm volatile(GT_STREAM ".v2.u32 {%0, %1}, [%2];" : "=r"(to.x), "=r"(to.y) : "l"(from));
}

GT_DEVICE void gt_stream_word(unsigned &to, const void *from)
{
    asm volatile(GT_STREAM ".u32 %0, [%1];" : "=r"(to) : "l"(from));
}

GT_DEVICE void gt_stream_word(unsigned short &to, const void *from)
{
    asm volatile(GT_STREAM ".u16 %0, [%1];" : "=h"(to) : "l"(from));
}

GT_DEVICE void gt_stream_word(unsigned char &to, const void *from)
{
    unsigned short wide;
    asm volatile(GT_STREAM ".u8 %0, [%1];" : "=h"(wide) : "l"(from));
    to = (unsigned char)wide;
}

#undef GT_STREAM

/* A vector of global memory that no thread writes during the launch; its address is a multiple of
 * its size. The loads are volatile, so that they stay where they are written, all loads of a round
 * in flight together. */
template <class E, int count> GT_DEVICE gt_vec<E, count> gt_stream_vec(const E *from)
{
    gt_vec<E, count> vec;
    gt_stream_word(vec.word, from);
    return vec;
}

#endif

#endif
