/* copy.cuh - asynchronous copies from global to shared memory (cp.async, sm_80 and later; a load
 * and a store on older devices).
 *
 * A copy is complete for the thread that issued it after gt_cp_async_wait, and for the other
 * threads after a barrier that follows. Both addresses are multiples of the copy's size. Where no
 * byte is valid zeros are written; the global address is not read then, but should lie within the
 * operand. */
#ifndef GT_COPY_CUH
#define GT_COPY_CUH

#ifdef GT_EMULATE

template <int size> GT_DEVICE void gt_cp_async(void *shared, const void *global, int valid_bytes)
{
    gt_emu_copy(shared, global, size, valid_bytes);
}

template <int size> GT_DEVICE void gt_cp_async_whole(void *shared, const void *global)
{
    gt_cp_async<size>(shared, global, size);
}

GT_DEVICE void gt_cp_async_commit()
{
    gt_emu_copy_commit();
}

template <int pending> GT_DEVICE void gt_cp_async_wait()
{
    gt_emu_copy_wait(pending);
}

#elif __CUDA_ARCH__ >= 800

GT_DEVICE unsigned gt_shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/* Copies of 16 bytes bypass L1 (.cg); smaller copies cannot (.ca). */
#define GT_CP_ASYNC(operands, ...)                                                  \
    if (size == 16)                                                                 \
        asm volatile("cp.async.cg.shared.global " operands __VA_ARGS__ : "memory"); \
    else                                                                            \
        asm volatile("cp.async.ca.shared.global " operands __VA_ARGS__ : "memory")

/* Copies `size` (4, 8 or 16) bytes: the first valid_bytes are read, the rest are zeros. */
template <int size> GT_DEVICE void gt_cp_async(void *shared, const void *global, int valid_bytes)
{
    static_assert(size == 4 || size == 8 || size == 16, "sizes of cp.async");
    GT_CP_ASYNC("[%0], [%1], %2, %3;", ::"r"(gt_shared_address(shared)), "l"(global), "n"(size),
                "r"(valid_bytes));
}

/* The same with all bytes valid, which saves a register and an instruction. */
template <int size> GT_DEVICE void gt_cp_async_whole(void *shared, const void *global)
{
    static_assert(size == 4 || size == 8 || size == 16, "sizes of cp.async");
    GT_CP_ASYNC("[%0], [%1], %2;", ::"r"(gt_shared_address(shared)), "l"(global), "n"(size));
}

#undef GT_CP_ASYNC

/* Makes a group of the thread's copies issued since the last commit. */
GT_DEVICE void gt_cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the `pending` youngest groups of the thread are complete. */
template <int pending> GT_DEVICE void gt_cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#else

template <int size> GT_DEVICE void gt_cp_async(void *shared, const void *global, int valid_bytes)
{
    typedef typename gt_float_vector<size / 4>::type word;
    if (valid_bytes == size) {
        *static_cast<word *>(shared) = __ldg(static_cast<const word *>(global));
        return;
    }
    for (int i = 0; i < size; i++)
        static_cast<char *>(shared)[i] = i < valid_bytes ? static_cast<const char *>(global)[i] : 0;
}

template <int size> GT_DEVICE void gt_cp_async_whole(void *shared, const void *global)
{
    gt_cp_async<size>(shared, global, size);
}

GT_DEVICE void gt_cp_async_commit()
{
}

template <int pending> GT_DEVICE void gt_cp_async_wait()
{
}

#endif

/* Copies of a given size: all of it, or zeros. */
GT_DEVICE void gt_cp_async_4(void *shared, const void *global, bool valid)
{
    gt_cp_async<4>(shared, global, valid ? 4 : 0);
}

GT_DEVICE void gt_cp_async_8(void *shared, const void *global, bool valid)
{
    gt_cp_async<8>(shared, global, valid ? 8 : 0);
}

GT_DEVICE void gt_cp_async_16(void *shared, const void *global, bool valid)
{
    gt_cp_async<16>(shared, global, valid ? 16 : 0);
}

#endif
