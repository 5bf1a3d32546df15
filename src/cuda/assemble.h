/* assemble.h - PTX -> cubin without a GPU, by nvJitLink (opened at run time: libnvJitLink.so.13 or
 * .12, where NVRTC is looked for too).  Optional: without it the driver compiles PTX when it is
 * loaded, which a GPU has to wait for. */
#ifndef GT_ASSEMBLE_H
#define GT_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"

struct gt_assembler;

/* GT_ENOLIB with the names and places tried. */
int gt_assembler_open(struct gt_assembler **assembler, struct gt_err *err);
void gt_assembler_close(struct gt_assembler *assembler); /* NULL accepted */

struct gt_assembled {
    void *image; /* cubin, malloc'ed */
    size_t size;
    char *log; /* ptxas' words, malloc'ed */
};

/* For a device of that compute capability (90; features: sm_90a), with at most max_registers for a
 * thread (0: as many as there are; PTX does not say how many NVRTC was told).  GT_ENVRTC with the
 * assembler's first complaint, for example of PTX that is newer than it; nothing is to be freed
 * then. */
int gt_assemble(const struct gt_assembler *assembler, const char *ptx, int cc, bool features,
                int max_registers, struct gt_assembled *assembled, struct gt_err *err);

#endif
