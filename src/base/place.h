/* place.h - vocabulary: where this code was loaded from, and which build tree it belongs to.
 *
 * place.c is compiled once for the build tree and once for the code that `make install` and `make
 * bundle` copy elsewhere, because only the former may look into the tree. */
#ifndef GT_PLACE_H
#define GT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The folder where `make install` puts the data. */
extern const char gt_installed_data[];

/* The folder of the library or program that this code is part of, without links, and the owner of
 * that file.  False if the system does not tell, or tells a path that is relative to a folder that
 * may have changed since. */
bool gt_code_folder(char folder[PATH_MAX], uid_t *owner);

/* The build tree that this code was compiled in.  False for installed code, and for code of a build
 * tree that was copied out of it, unless nobody else may write to the tree.  For a copy of the
 * whole tree, that copy is the tree of its code. */
bool gt_build_tree(char tree[PATH_MAX]);

#endif
