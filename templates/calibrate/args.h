/* args.h - the one argument of every calibration kernel, read by the host (C) and by
 * templates/calibrate (CUDA C++). */
#ifndef GT_CALIBRATE_ARGS_H
#define GT_CALIBRATE_ARGS_H

struct gt_calibrate_args {
    const void *from; /* aligned to 16 bytes, as is `to` */
    void *to;         /* results go there, or nothing does */
    long long bytes;  /* a multiple of 16 */
    int steps;        /* how often the work is done */
    unsigned never;   /* a value that no result has: the compiler must not know */
};

#endif
