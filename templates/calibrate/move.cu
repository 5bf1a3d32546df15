/* move.cu - kernels that move what a product must and compute nothing: what
 * tuner/timing/bench.c takes as the bound of problems that memory holds up.
 *
 *   entry                 how it reads A, B and C
 *   move_loads_N          N loads of 16 bytes a thread in flight, past L1
 *   move_bulk             one thread a block: bulk copies to shared memory, BULK in flight (sm_90)
 *
 * The operands are read as one line, whose words the blocks take in turn; D is written first, while
 * reads are on their way. An entry that the arch does not have is empty; the host does not time it.
 */
#include "calibrate/move_args.h"
#include "common/args.h"
#include "common/platform.cuh"

#define THREADS 256
#define CHUNK   512 /* words of 16 bytes that a bulk copy has */
#define BULK    5   /* copies of a block in flight: all of its shared memory */
#define MOVE(name)                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        name(const __grid_constant__ gt_move_args args)

GT_DEVICE long long all_words(const gt_move_args &args)
{
    return args.words[0] + args.words[1] + args.words[2];
}

/* Word i of the line. */
GT_DEVICE const uint4 *word_at(const gt_move_args &args, long long i)
{
    int part = 0;

    if (i >= args.words[0]) {
        i -= args.words[0];
        part = 1;
        if (i >= args.words[1]) {
            i -= args.words[1];
            part = 2;
        }
    }
    return (const uint4 *)args.from[part] + i;
}

GT_DEVICE void write(const gt_move_args &args)
{
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < args.written;
         i += (long long)gridDim.x * THREADS)
        ((uint4 *)args.to)[i] = make_uint4(0, 0, 0, 0);
}

GT_DEVICE uint4 read(const uint4 *from)
{
    uint4 word;

    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from));
    return word;
}

template <int loads> GT_DEVICE void move(const gt_move_args &args)
{
    const long long words = all_words(args), apart = (long long)gridDim.x * THREADS;
    unsigned sum = 0;

    write(args);
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < words;
         i += loads * apart) {
        uint4 word[loads];

#pragma unroll
        for (int j = 0; j < loads; j++)
            word[j] =
                i + j * apart < words ? read(word_at(args, i + j * apart)) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < loads; j++)
            sum ^= word[j].x ^ word[j].y ^ word[j].z ^ word[j].w;
    }
    if (sum == args.never)
        *(unsigned *)args.to = sum;
}

MOVE(move_loads_4)
{
    move<4>(args);
}

MOVE(move_loads_8)
{
    move<8>(args);
}

#if __CUDA_ARCH__ >= 900

GT_DEVICE unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/* The copy of chunk `index` of the line, which may end with it or with an operand. */
GT_DEVICE void copy(const gt_move_args &args, long long index, void *to, void *barrier)
{
    /* Chunks of each operand in turn: none goes over the end of one. */
    long long first = index, left;
    int part = 0;

    for (; part < GT_MOVE_PARTS - 1 && first >= (args.words[part] + CHUNK - 1) / CHUNK; part++)
        first -= (args.words[part] + CHUNK - 1) / CHUNK;
    left = args.words[part] - first * CHUNK;
    unsigned bytes = 16 * (unsigned)(left < CHUNK ? left : CHUNK);
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"((const uint4 *)args.from[part] + first * CHUNK), "r"(bytes),
                 "r"(shared_address(barrier))
                 : "memory");
}

GT_DEVICE void await(void *barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

MOVE(move_bulk)
{
    __shared__ __align__(128) uint4 place[BULK][CHUNK];
    __shared__ __align__(8) unsigned long long full[BULK];
    long long chunks = 0, next = blockIdx.x, done = blockIdx.x;

    for (int part = 0; part < GT_MOVE_PARTS; part++)
        chunks += (args.words[part] + CHUNK - 1) / CHUNK;
    if (threadIdx.x == 0) {
        for (int i = 0; i < BULK; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int i = 0; i < BULK && next < chunks; i++, next += gridDim.x)
            copy(args, next, place[i], &full[i]);
    }
    write(args);
    if (threadIdx.x == 0)
        for (int i = 0, parity = 0; done < chunks; done += gridDim.x) {
            await(&full[i], (unsigned)parity);
            if (next < chunks)
                copy(args, next, place[i], &full[i]);
            next += gridDim.x;
            i = i + 1 < BULK ? i + 1 : 0;
            parity ^= i == 0;
        }
}

#else

MOVE(move_bulk)
{
}

#endif
