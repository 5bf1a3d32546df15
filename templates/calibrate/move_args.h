/* move_args.h - the one argument of the kernels of move.cu, read by the host (C) and by them
 * (CUDA C++). */
#ifndef GT_CALIBRATE_MOVE_ARGS_H
#define GT_CALIBRATE_MOVE_ARGS_H

#define GT_MOVE_PARTS 3 /* A, B and C */

struct gt_move_args {
    const void *from[GT_MOVE_PARTS]; /* multiples of 16 */
    long long words[GT_MOVE_PARTS];  /* of 16 bytes, to be read there; 0: nothing is */
    void *to;                        /* a multiple of 16 */
    long long written;               /* words of 16 bytes, of zeros, written there */
    unsigned never;                  /* a value that no result has: the compiler must not know */
};

#endif
