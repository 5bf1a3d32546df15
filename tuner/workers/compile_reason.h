/* compile_reason.h - why a source did not compile, for people. */
#ifndef GT_COMPILE_REASON_H
#define GT_COMPILE_REASON_H

#include <stddef.h>

struct gt_err;
struct gt_nvrtc;

/* Quotes the compiler's log from the first error on; later errors often follow from the first.  The
 * first line also names a remedy that NVRTC itself does not mention: folders of headers, or dynamic
 * shared memory. */
void gt_compile_reason(char *text, size_t size, const char *log);

/* The known source: a few lines that every working compiler takes.  A compiler that refuses the
 * known source does not work, and its errors prove nothing against other sources. */
#define GT_KNOWN_NAME "a source of a few lines"
extern const char gt_known_source[];

/* Writes the sentence that this compiler does not work here, and what to do.  nvrtc: the version,
 * 13000 for 13.0; result: NVRTC's result, 0 if NVRTC was not called; reason: the compiler's words
 * on the known source. */
void gt_known_complaint(char *text, size_t size, int nvrtc, int arch, int result,
                        const char *reason);

/* GT_ENOLIB with that sentence: the compiler does not take the known source for sm_<cc>. */
int gt_known_check(struct gt_nvrtc *nvrtc, int cc, struct gt_err *err);

/* GT_ENOLIB with such a sentence: a process did not survive its opening, or a compilation of the
 * project's own kernels.  how: "the worker was killed by signal 11". */
int gt_known_dead(const char *how, struct gt_err *err);

/* GT_ECUDA: a driver of this version (12020 for CUDA 12.2) cannot run the cubins of this NVRTC. */
int gt_known_pair(const struct gt_nvrtc *nvrtc, int driver, struct gt_err *err);

/* Tells workers started later the version of the driver, so that they choose an NVRTC that goes
 * with it without loading the driver themselves. */
void gt_known_tell_driver(void);

#endif
