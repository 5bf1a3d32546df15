// stub_proof.cc - part of the stub driver: runs the project's own device kernels (templates/proof),
// compiled for the CPU, one thread after the other.  Those with barriers or of pure arithmetic have
// a plain version in stub_launch.c and stub_gemm.c instead.
#define GT_EMULATE
#include "emulate.h"

#include "stub_values.h"

#include <cstdlib>

gt_emu_position gt_emu_now;

// Threads of a warp run in descending order, and what they exchange is a maximum of floats that are
// not negative: lane 0, which runs last, sees that of all.
static unsigned warp_maximum;

extern "C" unsigned gt_emu_shuffle(unsigned, unsigned value, int, const char *, int)
{
    if (value > warp_maximum)
        warp_maximum = value;
    return warp_maximum;
}

#include "proof/fill.cu"
#include "proof/check.cu"
#include "proof/served.cu"

extern "C" int stub_proof_run(const char *entry, const unsigned grid[3], unsigned threads,
                              const void *args);

double stub_load(const void *data, long long at, int type)
{
    return gt_proof_get(data, at, type);
}

void stub_store(void *data, long long at, int type, double value)
{
    gt_proof_put(data, at, type, value);
}

double *stub_vectors(const void *data, long long begin, long long count, long long depth,
                     long long ld, int along, int type)
{
    double *made = static_cast<double *>(malloc((count * depth + 1) * sizeof(double)));

    for (long long i = 0; i < count; i++)
        for (long long k = 0; k < depth; k++)
            made[i * depth + k] = stub_load(data, begin + (along ? i * ld + k : k * ld + i), type);
    return made;
}

long long stub_bytes(int type)
{
    return gt_proof_bytes(type);
}

double stub_saturate(double x, int type)
{
    return gt_proof_saturate(x, type);
}

namespace
{

template <class T>
void run_blocks(void (*kernel)(const T), const unsigned grid[3], unsigned threads, const void *args)
{
    gt_emu_now.grid_size = {grid[0], grid[1], grid[2]};
    gt_emu_now.block_size = {threads, 1, 1};
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++)
                for (unsigned thread = threads; thread-- > 0;) {
                    if (thread % 32 == 31)
                        warp_maximum = 0;
                    gt_emu_now.block = {x, y, z};
                    gt_emu_now.thread = {thread, 0, 0};
                    kernel(*static_cast<const T *>(args));
                }
}

} // namespace

extern "C" int stub_proof_run(const char *entry, const unsigned grid[3], unsigned threads,
                              const void *args)
{
#define RUN(name, type)                                 \
    if (__builtin_strcmp(entry, #name) == 0) {          \
        run_blocks<type>(name, grid, threads, args);    \
        return 1;                                       \
    }
    RUN(proof_fill, gt_fill_args)
    RUN(proof_compare, gt_compare_args)
    RUN(proof_look, gt_look_args)
    RUN(proof_equal, gt_equal_args)
    RUN(proof_guard, gt_guard_args)
    RUN(proof_hash, gt_hash_args)
    RUN(served_compare, gt_served_args)
    RUN(served_exact, gt_served_args)
    return 0;
}
