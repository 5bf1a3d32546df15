/* remembered.h - test: verdicts of pure functions that were found before, so that they need not be
 * found again.
 *
 * A verdict belongs to the digest of all that decides it: this program, the compiler, the kernel's
 * signature and description, and what is asked.  They lie in $BUILD/remembered, a file each; `make
 * clean` forgets them, and with FRESH=1 in the environment nothing is read from there.  Only good
 * verdicts are kept: what fails is tried again. */
#ifndef GT_REMEMBERED_H
#define GT_REMEMBERED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "kernel/kernel.h"

/* What the verdicts of this process depend on, whatever is asked: its program, the headers of
 * tests/emu in data_dir, and `compiler`, a text that names the compiler and its version. */
void gt_remember_base(char base[GT_DIGEST_HEX], const char *data_dir, const char *compiler);

/* "$CXX --version", or c++'s, malloc'ed; "" if it cannot be run. */
char *gt_remember_host_compiler(void);

/* The digest of what is asked: `what` of a kernel, whose template and description count. */
void gt_remember_key(char key[GT_DIGEST_HEX], const char *base, const struct gt_kernel *kernel,
                     const char *what);

/* Whether the verdict is known; then its bytes are in result, of the size it was kept with. */
bool gt_remembered(const char *key, void *result, size_t size);
void gt_remember(const char *key, const void *result, size_t size);

#endif
