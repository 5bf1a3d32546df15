/* compile.h - stage: CUDA source -> cubin, registers and log.  The only caller of NVRTC (opened at
 * run time: libnvrtc.so.13 or .12, from the loader path, $CUDA_HOME, the usual places or the pip
 * wheels in the folder that tools/setup fills). */
#ifndef GT_COMPILE_H
#define GT_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"

struct gt_nvrtc;

/* GT_ENOLIB with the names and places tried.  version: 13000 for 13.0. */
int gt_nvrtc_open(struct gt_nvrtc **nvrtc, struct gt_err *err);
void gt_nvrtc_close(struct gt_nvrtc *nvrtc); /* NULL accepted */
int gt_nvrtc_version(const struct gt_nvrtc *nvrtc);

/* From now on `tell` is called before (compiles) and after each compilation.  A process that does
 * not live through one has then said where it died. */
void gt_nvrtc_tell(struct gt_nvrtc *nvrtc, void (*tell)(void *context, bool compiles),
                   void *context);

struct gt_compile_request {
    const char *source;
    const char *name;         /* shown in diagnostics before the first #line */
    const char *include_dirs; /* <data folder>/templates, then those of the user, a folder a line;
                                 at most 2 + GT_MAX_INCLUDE_DIRS */
    int arch;          /* 86; 90 always stands for sm_90a, because wgmma and setmaxnreg need the
                          suffix */
    bool features;     /* from 100 on: sm_100a, with features that only that arch has */
    int device_cc;     /* compute capability of the device that runs the code */
    bool ptx;          /* compile to PTX of `arch`, from which nvJitLink makes a cubin for
                          device_cc; without nvJitLink the PTX is delivered */
    bool unassembled;  /* deliver the PTX itself, for people to read */
    int max_registers; /* 0: no limit */
};

/* Most spilled bytes of a candidate: so many cost little, and a candidate that spills more is not
 * tried. */
#define GT_SPILL_LIMIT 64

struct gt_binary {
    void *image; /* cubin or, for the driver to compile, NUL-terminated PTX; free with
                    gt_binary_release */
    size_t size;
    char *log; /* output of NVRTC and ptxas, never NULL after a compile */
    int registers, spill_bytes, static_shared; /* the largest over all entries */
    double ms;
    int result; /* result of nvrtcCompileProgram */
};

/* Writes the options, one on a line, in the order in which NVRTC gets them.  The text is part of
 * the cubin's key. */
void gt_compile_options(const struct gt_compile_request *request, char *text, size_t size);

/* GT_ENVRTC if the source does not compile; binary->log says why, with the template's lines. */
int gt_compile(struct gt_nvrtc *nvrtc, const struct gt_compile_request *request,
               struct gt_binary *binary, struct gt_err *err);
void gt_binary_release(struct gt_binary *binary);

/* Whether ptxas lets each wgmma of the source wait for the one before it, which leaves tensor cores
 * idle most of the time; reason then says why, in ptxas' words. */
#define GT_SERIALIZED_MAX 160
bool gt_log_serialized(const char *log, char reason[GT_SERIALIZED_MAX]);

/* Lists the entries that have static shared memory, a line "ENTRY BYTES" each; entries beyond the
 * room are left out.  gt_static_shared_of: the bytes of one entry, 0 if the text does not name
 * it. */
#define GT_STATIC_SHARED_MAX 256
void gt_log_static_shared(const char *log, char text[GT_STATIC_SHARED_MAX]);
int gt_static_shared_of(const char *text, const char *entry);

/* PTX -> cubin without a GPU, by nvJitLink (opened at run time: libnvJitLink.so.13 or .12, where
 * NVRTC is looked for too).  The library is optional: without it the driver compiles PTX when it is
 * loaded, while the GPU waits. */

struct gt_assembler;

/* GT_ENOLIB with the names and places tried. */
int gt_assembler_open(struct gt_assembler **assembler, struct gt_err *err);
void gt_assembler_close(struct gt_assembler *assembler); /* NULL accepted */

/* Fills image, size and log, for a device of that compute capability (90; features: sm_90a), with
 * at most max_registers for a thread (0: as many as there are; PTX does not say how many NVRTC was
 * told).  GT_ENVRTC with the assembler's first complaint, for example that the PTX is newer than
 * the assembler; nothing is to be freed then. */
int gt_assemble(const struct gt_assembler *assembler, const char *ptx, int cc, bool features,
                int max_registers, struct gt_binary *assembled, struct gt_err *err);

#endif
