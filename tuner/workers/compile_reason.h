/* compile_reason.h - why a source did not compile, for people. */
#ifndef GT_COMPILE_REASON_H
#define GT_COMPILE_REASON_H

#include <stddef.h>

struct gt_err;
struct gt_nvrtc;

/* Quotes the compiler's log from its first error on; later errors are often a consequence of it.
 * The first line also says what helps: folders of headers, or dynamic shared memory, of which NVRTC
 * itself says nothing. */
void gt_compile_reason(char *text, size_t size, const char *log);

/* A source of a few lines that every working compiler takes.  One that refuses it does not work,
 * and what it says of other sources says nothing about them. */
#define GT_KNOWN_NAME "a source of a few lines"
extern const char gt_known_source[];

/* A sentence: this compiler does not work here, and what to do.  nvrtc: its version, 13000 for
 * 13.0; result: NVRTC's, 0 if it had no say; reason: what it said of the known source. */
void gt_known_complaint(char *text, size_t size, int nvrtc, int arch, int result,
                        const char *reason);

/* GT_ENOLIB with that sentence: the compiler does not take the known source for sm_<cc>. */
int gt_known_check(struct gt_nvrtc *nvrtc, int cc, struct gt_err *err);

/* GT_ECUDA: a driver of this version (12020 for CUDA 12.2) runs nothing that this NVRTC compiles.
 */
int gt_known_pair(const struct gt_nvrtc *nvrtc, int driver, struct gt_err *err);

/* Tells the workers that are started from now on which driver is here, so that they take the NVRTC
 * that it goes with and do without it themselves. */
void gt_known_tell_driver(void);

#endif
