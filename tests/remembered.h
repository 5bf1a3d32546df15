/* remembered.h - test: verdicts of pure functions that were found before, so that they need not be
 * found again.
 *
 * A verdict belongs to the digest of all that decides it, without comments: the sources of what
 * finds it, the compiler, the source that is judged with all that it includes, and what is asked.
 * They lie in $BUILD/remembered, a file each; `make clean` forgets them, and with FRESH=1 in the
 * environment nothing is read from there.  Only good verdicts are kept: what fails is tried again.
 */
#ifndef GT_REMEMBERED_H
#define GT_REMEMBERED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"

/* What the verdicts of this process depend on, whatever is asked: the sources that `make` leaves,
 * preprocessed, in $BUILD/tests/<sources>.text, and `compiler`, a text that names the compiler and
 * its version.  Without that file base is "", and nothing is remembered. */
void gt_remember_base(char base[GT_DIGEST_HEX], const char *sources, const char *compiler);

/* "$CXX --version", or c++'s, malloc'ed; "" if it cannot be run. */
char *gt_remember_host_compiler(void);

/* The digest of what is asked: `what` of a source, which includes files of these folders, a line
 * each. */
void gt_remember_key(char key[GT_DIGEST_HEX], const char *base, const char *folders,
                     const char *source, const char *what);

/* Whether the verdict is known; then its bytes are in result, of the size it was kept with. */
bool gt_remembered(const char *key, void *result, size_t size);
void gt_remember(const char *key, const void *result, size_t size);

#endif
