/* emulate.h - CUDA C++ for a host compiler: what a template uses of the language and its run time,
 * as plain C++.  Part of tests/emu; a GPU build never opens it.
 *
 * The threads of a block are fibers of the emulator (tests/emu/fiber.c); functions named gt_emu_
 * are its own.  Barriers carry their place in the source, so that threads waiting at different ones
 * are found. */
#ifndef GT_EMULATE_H
#define GT_EMULATE_H

#define __device__
#define __host__
#define __global__
#define __constant__    static const
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
/* Blocks run one after the other, so one array does for all of them. It keeps what the block before
 * left, where a GPU's is undefined; GT_STATIC_SHARED is filled with NaN for each block. Blocks of a
 * cluster run side by side: execute.c refuses those. */
#define __shared__       static
#define __align__(bytes) __attribute__((aligned(bytes)))

struct gt_emu_index {
    unsigned x, y, z;
};

/* The running thread; the emulator changes it at every switch. */
struct gt_emu_position {
    gt_emu_index thread, block, block_size, grid_size;
    unsigned rank; /* of the block in its cluster */
};

extern "C" {
extern struct gt_emu_position gt_emu_now;
void gt_emu_barrier(const char *file, int line);
void gt_emu_warp_barrier(unsigned mask, const char *file, int line);
unsigned gt_emu_shuffle(unsigned mask, unsigned value, int lane, const char *file, int line);
void *gt_emu_dynamic_shared(void);
void *gt_emu_static_shared(const void *key, unsigned long bytes);
void gt_emu_copy(void *shared, const void *global, int bytes, int valid);
void gt_emu_copy_commit(void);
void gt_emu_copy_wait(int pending);
void gt_emu_cluster_barrier(const char *file, int line);
void *gt_emu_cluster_shared(const void *own, unsigned rank, const char *file, int line);
}

#define threadIdx (gt_emu_now.thread)
#define blockIdx  (gt_emu_now.block)
#define blockDim  (gt_emu_now.block_size)
#define gridDim   (gt_emu_now.grid_size)
#define warpSize  32

#define __syncthreads()       gt_emu_barrier(__FILE__, __LINE__)
#define __syncwarp(...)       gt_emu_warp_barrier(0xffffffffu, __FILE__, __LINE__)
#define __threadfence()       ((void)0)
#define __threadfence_block() ((void)0)

struct __align__(8) float2
{
    float x, y;
};

struct __align__(8) uint2
{
    unsigned x, y;
};

struct __align__(16) float4
{
    float x, y, z, w;
};

struct __align__(16) int4
{
    int x, y, z, w;
};

struct __align__(16) uint4
{
    unsigned x, y, z, w;
};

inline float2 make_float2(float x, float y)
{
    return float2{x, y};
}

inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

inline float fmaf(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}

inline double fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}

inline float expf(float x)
{
    return __builtin_expf(x);
}

inline float erff(float x)
{
    return __builtin_erff(x);
}

inline double erf(double x)
{
    return __builtin_erf(x);
}

inline float fabsf(float x)
{
    return __builtin_fabsf(x);
}

inline double fabs(double x)
{
    return __builtin_fabs(x);
}

template <class T> inline T __ldg(const T *from)
{
    return *from;
}

template <class T> inline T min(T x, T y)
{
    return y < x ? y : x;
}

template <class T> inline T max(T x, T y)
{
    return x < y ? y : x;
}

template <class T> inline unsigned gt_emu_bits(T value)
{
    static_assert(sizeof(T) == 4, "32-bit shuffles only");
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    return bits;
}

template <class T> inline T gt_emu_from_bits(unsigned bits)
{
    T value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

inline unsigned __float_as_uint(float value)
{
    return gt_emu_bits(value);
}

inline float __uint_as_float(unsigned bits)
{
    return gt_emu_from_bits<float>(bits);
}

/* Four bytes of the eight of y:x, each named by four bits of `selector`. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}

/* sum plus the products of four pairs of signed bytes. */
inline int __dp4a(int x, int y, int sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (signed char)(x >> i) * (signed char)(y >> i);
    return sum;
}

/* Rounds to nearest, ties to even, within the range of int; NaN becomes 0. */
inline int __float2int_rn(float value)
{
    if (value != value)
        return 0;
    if (value >= 0x1p31f)
        return 0x7fffffff;
    return value <= -0x1p31f ? -0x7fffffff - 1 : (int)__builtin_rintf(value);
}

#define GT_EMU_LANE                                                                \
    ((gt_emu_now.thread.x +                                                        \
      gt_emu_now.block_size.x *                                                    \
          (gt_emu_now.thread.y + gt_emu_now.block_size.y * gt_emu_now.thread.z)) % \
     32)

/* Shuffles within a whole warp. */
template <class T>
inline T gt_emu_exchange(unsigned mask, T value, int lane, const char *file, int line)
{
    return gt_emu_from_bits<T>(gt_emu_shuffle(mask, gt_emu_bits(value), lane, file, line));
}

#define __shfl_sync(mask, value, lane) gt_emu_exchange(mask, value, (lane) % 32, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, value, bits) \
    gt_emu_exchange(mask, value, (int)(GT_EMU_LANE ^ (unsigned)(bits)), __FILE__, __LINE__)
#define __shfl_down_sync(mask, value, by)                                                   \
    gt_emu_exchange(mask, value,                                                            \
                    GT_EMU_LANE + (unsigned)(by) < 32 ? (int)(GT_EMU_LANE + (unsigned)(by)) \
                                                      : (int)GT_EMU_LANE,                   \
                    __FILE__, __LINE__)

inline int gt_emu_any(unsigned mask, int found, const char *file, int line)
{
    for (unsigned bits = 16; bits > 0; bits /= 2)
        found |= gt_emu_exchange(mask, found, (int)(GT_EMU_LANE ^ bits), file, line);
    return found != 0;
}

#define __any_sync(mask, found) gt_emu_any(mask, found, __FILE__, __LINE__)

/* Fibers switch only at barriers, so a plain read-modify-write is atomic. */
template <class T> inline T atomicAdd(T *to, T value)
{
    T old = *to;
    *to = old + value;
    return old;
}

template <class T> inline T atomicMax(T *to, T value)
{
    T old = *to;
    *to = old < value ? value : old;
    return old;
}

template <class T> inline T atomicMin(T *to, T value)
{
    T old = *to;
    *to = value < old ? value : old;
    return old;
}

template <class T> inline T atomicExch(T *to, T value)
{
    T old = *to;
    *to = value;
    return old;
}

template <class T> inline T atomicCAS(T *to, T compare, T value)
{
    T old = *to;
    if (old == compare)
        *to = value;
    return old;
}

#endif
