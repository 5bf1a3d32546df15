/* build.h - test: compiles a kernel's source for the CPU, with the sanitizers, and opens it. */
#ifndef GT_EMU_BUILD_H
#define GT_EMU_BUILD_H

#include <stdbool.h>

struct gt_err;

/* Compiles `source` ($CXX, or c++) into the shared object `path`, and opens it; close it with
 * dlclose.  include: folders of headers, a line each, the first that of the templates.  strict:
 * warnings are errors, as in templates of this project.  The compiler's messages go to stderr. */
int gt_emu_open(void **object, const char *include, const char *source, const char *path,
                bool strict, struct gt_err *err);

#endif
