/* data_dir.c - vocabulary: where templates/ and configs/ are (gt_data_dir of kernel.h). */
#include "kernel/kernel.h"

#include "base/err.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef GT_DATADIR /* where `make install` puts the data folder */
#define GT_DATADIR "/usr/local/share/gemmtune"
#endif

#define MAX_PARENTS 4 /* a sanitizer build's unit test lies this deep below the data folder */

static bool is_folder(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int length = snprintf(path, sizeof(path), "%s/%s", dir, name);

    return length > 0 && (size_t)length < sizeof(path) && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_data_dir(const char *dir)
{
    return is_folder(dir, "templates") && is_folder(dir, "configs/kernels");
}

/* Looks in the folders above `file` and in share/gemmtune beside each; true once found. */
static bool find_beside(struct gt_strbuf *dir, const char *file)
{
    char *real = realpath(file, NULL), *slash;
    bool found = false;

    for (int i = 0; real && !found && i <= MAX_PARENTS && (slash = strrchr(real, '/')); i++) {
        *slash = '\0';
        gt_strbuf_reset(dir);
        gt_strbuf_add(dir, real);
        found = !dir->failed && is_data_dir(dir->text);
        if (!found) {
            gt_strbuf_add(dir, "/share/gemmtune");
            found = !dir->failed && is_data_dir(dir->text);
        }
    }
    free(real);
    return found;
}

/* Beside the library or program this code is part of, else beside the program, else installed. */
static bool find(struct gt_strbuf *dir)
{
    static const char here;
    Dl_info info;

    if (dladdr(&here, &info) && info.dli_fname && find_beside(dir, info.dli_fname))
        return true;
    if (find_beside(dir, "/proc/self/exe"))
        return true;
    gt_strbuf_reset(dir);
    gt_strbuf_add(dir, GT_DATADIR);
    return is_data_dir(GT_DATADIR);
}

int gt_data_dir(char **path, struct gt_err *err)
{
    const char *wanted = getenv("GEMMTUNE_DATA");
    struct gt_strbuf dir = GT_STRBUF_INIT;
    int rc = GT_OK;

    *path = NULL;
    if (wanted && *wanted) {
        gt_strbuf_add(&dir, wanted);
        if (!is_data_dir(wanted))
            rc = gt_err_set(err, GT_EIO,
                            "$GEMMTUNE_DATA is \"%s\", a folder without templates/ and "
                            "configs/kernels/",
                            wanted);
    } else if (!find(&dir)) {
        rc = gt_err_set(err, GT_EIO,
                        "no data folder (templates/ and configs/kernels/) beside the program or in "
                        "%s; $GEMMTUNE_DATA may name one",
                        GT_DATADIR);
    }
    if (!rc) {
        *path = gt_strbuf_detach(&dir);
        rc = *path ? GT_OK : gt_err_nomem(err);
    }
    gt_strbuf_release(&dir);
    return rc;
}
