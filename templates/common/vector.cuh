/* vector.cuh - vectors of 1, 2 or 4 floats, moved by one instruction between registers and memory.
 * Their address is a multiple of their size. */
#ifndef GT_VECTOR_CUH
#define GT_VECTOR_CUH

template <int n> struct gt_float_vector;
template <> struct gt_float_vector<1> {
    typedef float type;
};
template <> struct gt_float_vector<2> {
    typedef float2 type;
};
template <> struct gt_float_vector<4> {
    typedef float4 type;
};

GT_DEVICE void gt_unpack(float *to, float from)
{
    to[0] = from;
}

GT_DEVICE void gt_unpack(float *to, float2 from)
{
    to[0] = from.x;
    to[1] = from.y;
}

GT_DEVICE void gt_unpack(float *to, float4 from)
{
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
    to[3] = from.w;
}

GT_DEVICE void gt_pack(float *to, const float *from)
{
    *to = from[0];
}

GT_DEVICE void gt_pack(float2 *to, const float *from)
{
    *to = make_float2(from[0], from[1]);
}

GT_DEVICE void gt_pack(float4 *to, const float *from)
{
    *to = make_float4(from[0], from[1], from[2], from[3]);
}

/* n floats from shared or global memory to registers. */
template <int n> GT_DEVICE void gt_load(float *to, const float *from)
{
    gt_unpack(to, *reinterpret_cast<const typename gt_float_vector<n>::type *>(from));
}

/* The same through the read-only path: global memory that no thread writes during the launch. */
template <int n> GT_DEVICE void gt_load_global(float *to, const float *from)
{
    gt_unpack(to, __ldg(reinterpret_cast<const typename gt_float_vector<n>::type *>(from)));
}

/* n floats from registers to shared or global memory. */
template <int n> GT_DEVICE void gt_store(float *to, const float *from)
{
    gt_pack(reinterpret_cast<typename gt_float_vector<n>::type *>(to), from);
}

/* count floats, a multiple of n, by count / n instructions. */
template <int n, int count> GT_DEVICE void gt_load_many(float *to, const float *from)
{
    static_assert(count % n == 0, "whole vectors only");
#pragma unroll
    for (int i = 0; i < count; i += n)
        gt_load<n>(to + i, from + i);
}

/* The first `valid` (0..n) of n floats of global memory, zeros for the rest. */
template <int n> GT_DEVICE void gt_load_masked(float *to, const float *from, long long valid)
{
    if (valid >= n) {
        gt_load_global<n>(to, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < n; i++)
        to[i] = i < valid ? __ldg(from + i) : 0.0f;
}

#endif
