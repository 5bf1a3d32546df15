/* libraries.h - stage: where the CUDA libraries are on this machine, and opening them.
 *
 * A library is code.  Guessed folders (of Python environments, of a build tree) are used only if
 * nobody but root, this user and the owner of this program may write there (base/trust.h).
 * cuda_api.h lists the places in order. */
#ifndef GT_LIBRARIES_H
#define GT_LIBRARIES_H

#include <stdbool.h>

struct gt_err;

/* How one library is found. */
struct gt_library {
    const char *what;         /* for people */
    const char *environment;  /* variable that names file or folder */
    const char *const *names; /* in order of preference, NULL-terminated */
    const char *hint;         /* advice for when the library is absent */
    bool as_loaded;           /* prefer a library that the program has already loaded */
    bool in_toolkit;          /* look in the folders of toolkits and Python packages, too */
};

/* Opens the first file that can be opened.  GT_ENOLIB: none can; the sentence names the files that
 * were tried, and the files that were passed over because somebody else may have written them. */
int gt_library_open(void **handle, const struct gt_library *library, struct gt_err *err);

/* The file of an open library, as the loader found it; "" if it does not tell.  Valid as long as
 * the library is open. */
const char *gt_library_file(void *handle);

#endif
