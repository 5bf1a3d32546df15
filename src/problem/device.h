/* device.h - vocabulary: what is known of a GPU, present (facts from the driver) or not (a profile
 * of configs/devices, numbers only). */
#ifndef GT_DEVICE_H
#define GT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "gemmtune.h"

struct gt_device {
    char name[96]; /* "NVIDIA H200", or the profile's name */
    char uuid[64]; /* "" for a profile */
    bool profile;  /* true: nothing can be measured on it */
    int cc;        /* 90 for sm_90 */
    int ordinal;   /* CUDA ordinal, -1 for a profile */
    int sms;
    int64_t smem_block;    /* bytes of shared memory a block may opt in to */
    int64_t smem_sm;       /* bytes of shared memory of an SM */
    int64_t smem_reserved; /* bytes the system takes per block */
    int64_t regs_sm;
    int max_threads_sm, max_blocks_sm;
    int64_t l2_bytes;
    bool chained; /* candidates run in chains of launches (--timing graph); set by the tuner, and
                     false for whoever runs a winner */
    int64_t memory_bytes;             /* total */
    double clock_mhz;                 /* sustained SM clock */
    double memory_gbps;               /* achievable copy bandwidth, read + written, GB/s */
    double l2_gbps;                   /* achievable L2 read bandwidth, GB/s */
    double launch_us, next_launch_us; /* an empty kernel; each further one right behind it */
    int fma_lanes;                    /* FP32 FMA per clock and SM */
    /* Tensor cores, per clock and SM: additions and multiplications of dense products with sums in
     * FP32 (or S32); 0: they have no such type.  f16 is bf16's, too, where there is one. */
    int tensor_tf32, tensor_f16, tensor_f8, tensor_s8;
    int driver;     /* CUDA version of the driver, e.g. 13000; 0 for a profile */
    double power_w; /* its power limit as NVML has it; 0: not known */
};

/* Whether the device's driver may take code of that version of NVRTC: drivers refuse code of a
 * compiler of a later major version.  True where no driver is known. */
static inline bool gt_device_takes_code(const struct gt_device *device, int nvrtc)
{
    return !device->driver || device->driver / 1000 >= nvrtc / 1000;
}

/* "sm_86", "86", "SM86" or "sm_90a" -> 86, 90; an unknown arch is an error that lists the known
 * ones. */
int gt_arch_parse(const char *text, int *cc, struct gt_err *err);

/* Whether code can be compiled for the arch. */
bool gt_arch_known(int cc);

/* Reads configs/devices/sm_<cc>.json of the data folder. */
int gt_device_profile(struct gt_device *device, const char *data_dir, int cc, struct gt_err *err);

/* The same for a device by name, "NVIDIA H100 80GB HBM3" or words of that, "h100": with what the
 * profile's "devices" say of it, its name included; other devices are the profile's.  NULL: none is
 * named. */
int gt_device_profile_of(struct gt_device *device, const char *data_dir, int cc, const char *name,
                         struct gt_err *err);

/* Whether the device or profile of that name is meant by `asked`, words of it in any order and
 * writing, "h100", "RTX-4090" or "a100 pcie"; what all names have in common, as NVIDIA, counts for
 * nothing. */
bool gt_device_called(const char *name, const char *asked);

/* Whether two names are of one device: "NVIDIA GeForce RTX 3090", "RTX 3090 (profile)". */
bool gt_device_same(const char *x, const char *y);

/* Reads a profile of the arch cc from any file. */
int gt_device_read(struct gt_device *device, const char *path, int cc, struct gt_err *err);

/* Operations (2 per multiply-add) per clock and SM of the tensor cores in a type of A and B, F32
 * standing for TF32; 0: they do not have it. */
int gt_device_tensor_rate(const struct gt_device *device, enum gt_dtype type);

/* Resident blocks of an SM for a kernel's registers, threads and shared bytes (static + dynamic);
 * 0: it cannot be launched.  Register allocation: 256 per warp granules, rounded up (CUDA occupancy
 * calculator's rule for cc >= 7). */
int gt_device_occupancy(const struct gt_device *device, int registers, int threads,
                        int64_t shared_bytes);

#endif
