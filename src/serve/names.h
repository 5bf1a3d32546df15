/* names.h - stage: the C library's dlsym and dlvsym, for which hooks.c stands in.  Code of this
 * library calls these, and never dlsym or dlvsym. */
#ifndef GT_NAMES_H
#define GT_NAMES_H

typedef void *gt_dlsym(void *library, const char *name);
typedef void *gt_dlvsym(void *library, const char *name, const char *version);

/* Those that stand behind this library.  They look at who calls them, for RTLD_NEXT and
 * RTLD_DEFAULT. */
gt_dlsym *gt_real_dlsym(void);
gt_dlvsym *gt_real_dlvsym(void);

/* What a library has, or this one's followers (RTLD_NEXT): with that version, or with any (NULL).
 */
void *gt_find_name(void *library, const char *name, const char *version);

/* What the library that has `caller` in its code finds in itself and in its dependencies, which
 * nobody else may see.  NULL: nothing, and dlerror says what the library would have been told. */
void *gt_find_around(const void *caller, const char *name, const char *version);

#endif
