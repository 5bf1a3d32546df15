/* maps.h - the second argument of kernels that use tensor maps (Hopper's TMA), read by the host (C)
 * and by the templates (CUDA C++).
 *
 * map[i] is the i-th of the description's "tensor_maps", encoded for the launch's pointers. A map
 * whose "when" is 0 is undefined and must not be used. A map with a dimension of size 0 may be
 * prefetched, but nothing may be loaded or stored through it. In the emulator a map holds what the
 * driver was asked for instead of the driver's encoding. */
#ifndef GT_MAPS_H
#define GT_MAPS_H

#define GT_MAX_MAPS     17
#define GT_MAX_MAP_RANK 5

#ifdef __cplusplus
#define GT_MAP_ALIGNED alignas(64)
#else
#define GT_MAP_ALIGNED _Alignas(64)
#endif

#ifdef GT_EMULATE
struct gt_map {
    GT_MAP_ALIGNED unsigned char *base; /* of the first element */
    int rank, element_bytes;
    int swizzle;                        /* bytes of the pattern: 0 (none), 32, 64, 128 */
    int rounds;                         /* 1: loads round floats to TF32 */
    unsigned box[GT_MAX_MAP_RANK];      /* elements, innermost first */
    long long dims[GT_MAX_MAP_RANK];    /* elements; elements outside of them read as 0 */
    long long strides[GT_MAX_MAP_RANK]; /* bytes between neighbours; [0]: element_bytes */
};
#else
struct gt_map { /* CUtensorMap */
    GT_MAP_ALIGNED unsigned char opaque[128];
};
#endif

/* A launch copies all maps, so that a template may say how many it uses, the first GT_MAPS; else it
 * has the first 16. */
#ifdef GT_EMULATE
#undef GT_MAPS
#endif
#ifndef GT_MAPS
#if defined(GT_EMULATE) || !defined(__cplusplus)
#define GT_MAPS GT_MAX_MAPS
#else
#define GT_MAPS 16
#endif
#endif

struct gt_maps {
    struct gt_map map[GT_MAPS];
};

#endif
