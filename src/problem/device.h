/* device.h - vocabulary: the facts of a GPU, either present (facts from the driver) or not (a
 * profile of configs/devices, numbers only). */
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
    bool chained; /* candidates run in chains of launches (--timing graph).  Only the tuner sets it;
                     programs that run a winner have false */
    int64_t memory_bytes;             /* total memory */
    double clock_mhz;                 /* sustained SM clock */
    double memory_gbps;               /* achievable copy bandwidth, read + written, GB/s */
    double l2_gbps;                   /* achievable L2 read bandwidth, GB/s */
    double launch_us, next_launch_us; /* time of an empty kernel; of each further empty kernel right
                                         behind it */
    int fma_lanes, fma_f64;           /* FMA per clock and SM: FP32, FP64 */
    /* Tensor cores, per clock and SM: additions and multiplications of dense products with sums in
     * FP32 (or S32, or F64); 0: they lack the type.  tensor_f16 is also the rate of bf16, where
     * there is bf16. */
    int tensor_tf32, tensor_f16, tensor_f8, tensor_s8, tensor_f64;
    int driver;     /* CUDA version of the driver, e.g. 13000; 0 for a profile */
    double power_w; /* power limit by NVML; 0: not known */
};

/* FMA per clock and SM, outside of tensor cores, in the type of the sums. */
static inline int gt_device_fma(const struct gt_device *device, enum gt_dtype acc)
{
    return acc == GT_F64 ? device->fma_f64 : device->fma_lanes;
}

/* Whether the device's driver may accept code of that version of NVRTC.  Drivers refuse code of a
 * compiler of a later major version.  True if no driver is known. */
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

/* As gt_device_profile, for a device by name, "NVIDIA H100 80GB HBM3" or words of the name, "h100".
 * If the profile's "devices" list the device, its name and figures are taken from there; else the
 * result is the profile itself.  name NULL: no device is named. */
int gt_device_profile_of(struct gt_device *device, const char *data_dir, int cc, const char *name,
                         struct gt_err *err);

/* Whether `asked` means the device or profile of that name.  `asked` has words of the name in any
 * order and writing: "h100", "RTX-4090" or "a100 pcie".  Words that all names have in common, such
 * as NVIDIA, count for nothing. */
bool gt_device_called(const char *name, const char *asked);

/* Whether two names mean the same device: "NVIDIA GeForce RTX 3090", "RTX 3090 (profile)". */
bool gt_device_same(const char *x, const char *y);

/* Reads a profile of the arch cc from any file. */
int gt_device_read(struct gt_device *device, const char *path, int cc, struct gt_err *err);

/* Operations (2 per multiply-add) per clock and SM of the tensor cores in a type of A and B, F32
 * standing for TF32; 0: the tensor cores lack the type. */
int gt_device_tensor_rate(const struct gt_device *device, enum gt_dtype type);

/* Resident blocks of an SM for a kernel's registers, threads and shared bytes (static + dynamic);
 * 0: the kernel cannot be launched.  Register allocation: 256 per warp granules, rounded up (CUDA
 * occupancy calculator's rule for cc >= 7). */
int gt_device_occupancy(const struct gt_device *device, int registers, int threads,
                        int64_t shared_bytes);

#endif
