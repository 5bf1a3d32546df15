/* statics.h - test: how much plain __shared__ memory a kernel that was built for the CPU has. */
#ifndef GT_EMU_STATICS_H
#define GT_EMU_STATICS_H

struct gt_err;

#define GT_EMU_STATIC_MOST 49152 /* bytes of static shared memory of a block, on every arch */

/* Prints an "error: " line, as a compiler does, and returns GT_ENVRTC if a function of the shared
 * object at `path` has more of it than a block may have.  In the emulator such arrays are ordinary
 * static variables, which may be of any size. */
int gt_emu_check_statics(const char *path, struct gt_err *err);

#endif
