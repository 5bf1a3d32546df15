/* emulate_hopper.h - the functions of hopper.cuh for the emulator (tests/emu/machine_async.c),
 * which also reports the place of a thread whose wait never ends. */
#ifndef GT_EMULATE_HOPPER_H
#define GT_EMULATE_HOPPER_H

#include "mma_emulate.h"

extern "C" {
void gt_emu_mbarrier_init(void *barrier, unsigned arrivals, const char *file, int line);
void gt_emu_mbarrier_publish(void);
void gt_emu_mbarrier_arrive(void *barrier, const char *file, int line);
void gt_emu_mbarrier_arrive_at(void *barrier, unsigned rank, const char *file, int line);
void gt_emu_mbarrier_arrive_expect_tx(void *barrier, unsigned bytes, const char *file, int line);
void gt_emu_mbarrier_wait(void *barrier, unsigned parity, const char *file, int line);
void gt_emu_tma_load(void *shared, const gt_map *map, void *barrier, const int *at, unsigned ranks,
                     const char *file, int line);
void gt_emu_tma_fence(void);
void gt_emu_pdl_wait(const char *file, int line);
void gt_emu_tma_store(const gt_map *map, const void *shared, const int *at, const char *file,
                      int line);
void gt_emu_tma_store_commit(void);
void gt_emu_tma_store_wait(int pending);
unsigned gt_emu_shared_address(const void *pointer, const char *file, int line);
void gt_emu_wgmma(int type, int n, int a_along_mn, int b_along_mn, void *sums, unsigned long long a,
                  unsigned long long b, int scale_d, const char *file, int line);
void gt_emu_wgmma_rs(int type, int n, int b_along_mn, void *sums, const unsigned *a,
                     unsigned long long b, int scale_d, const char *file, int line);
void gt_emu_wgmma_fence(void);
void gt_emu_wgmma_commit(void);
void gt_emu_wgmma_wait(int pending, const char *file, int line);
}

/* Macros, so that the place is that of the template. */
#define GT_EMU_HERE __FILE__, __LINE__

#define gt_mbarrier_init(barrier, arrivals)  gt_emu_mbarrier_init(barrier, arrivals, GT_EMU_HERE)
#define gt_mbarrier_publish()                gt_emu_mbarrier_publish()
#define gt_mbarrier_arrive(barrier)          gt_emu_mbarrier_arrive(barrier, GT_EMU_HERE)
#define gt_mbarrier_arrive_at(barrier, rank) gt_emu_mbarrier_arrive_at(barrier, rank, GT_EMU_HERE)
#define gt_mbarrier_arrive_expect_tx(barrier, bytes) \
    gt_emu_mbarrier_arrive_expect_tx(barrier, bytes, GT_EMU_HERE)
#define gt_mbarrier_wait(barrier, parity) gt_emu_mbarrier_wait(barrier, parity, GT_EMU_HERE)

#define gt_tma_prefetch(map) ((void)(map))
#define gt_tma_prefetch_box(map, x, y, z) \
    ((void)(map), (void)(x), (void)(y), (void)(z)) /* changes no result */
#define gt_tma_load_multicast(shared, map, barrier, x, y, z, ranks)           \
    do {                                                                      \
        const int gt_emu_at[3] = {x, y, z};                                   \
        gt_emu_tma_load(shared, map, barrier, gt_emu_at, ranks, GT_EMU_HERE); \
    } while (0)
#define gt_tma_load(shared, map, barrier, x, y, z) \
    gt_tma_load_multicast(shared, map, barrier, x, y, z, 1u << gt_cluster_rank())
#define gt_tma_fence() gt_emu_tma_fence()
#define gt_tma_store(map, shared, x, y, z)                     \
    do {                                                       \
        const int gt_emu_at[3] = {x, y, z};                    \
        gt_emu_tma_store(map, shared, gt_emu_at, GT_EMU_HERE); \
    } while (0)
#define gt_tma_store_commit() gt_emu_tma_store_commit()

template <int pending> inline void gt_tma_store_wait_read()
{
    gt_emu_tma_store_wait(pending);
}

inline unsigned gt_cluster_rank()
{
    return gt_emu_now.rank;
}

/* Threads that only arrive wait too. */
#define gt_cluster_sync_relaxed() gt_emu_cluster_barrier(GT_EMU_HERE)
#define gt_cluster_arrive()
#define gt_cluster_wait() gt_emu_cluster_barrier(GT_EMU_HERE)

/* Only the compiler can check whether a block has the registers. */
template <int count> inline void gt_setmaxnreg_dec()
{
    static_assert(count % 8 == 0 && count >= 24 && count <= 256, "counts of setmaxnreg");
}

template <int count> inline void gt_setmaxnreg_inc()
{
    static_assert(count % 8 == 0 && count >= 24 && count <= 256, "counts of setmaxnreg");
}

/* Each lane writes its own words, or their halves, where the lanes that own their rows say. */
inline void gt_emu_stmatrix_x4(void *row, const unsigned *word, bool transposed, const char *file,
                               int line)
{
    gt_emu_check_shared(row, 16, file, line);
    const void *rows = gt_emu_gather(&row, sizeof row, file, line);
    const int high = (int)GT_EMU_LANE / 4, low = (int)GT_EMU_LANE % 4 * 2;
    for (int i = 0; i < 4; i++)
        for (int half = 0; half < 2; half++) {
            const int to_row = transposed ? low + half : high, at = transposed ? high : low + half;
            char *to = *(char *const *)gt_emu_of_lane<char>(rows, i * 8 + to_row);
            __builtin_memcpy(to + at * 2, (const char *)&word[i] + half * 2, 2);
        }
}
#define gt_stmatrix_x4(row, word)       gt_emu_stmatrix_x4(row, word, false, GT_EMU_HERE)
#define gt_stmatrix_x4_trans(row, word) gt_emu_stmatrix_x4(row, word, true, GT_EMU_HERE)

#define gt_pdl_wait() gt_emu_pdl_wait(GT_EMU_HERE)

inline void gt_pdl_trigger()
{
}

#define gt_shared_address(pointer) gt_emu_shared_address(pointer, GT_EMU_HERE)

#endif
