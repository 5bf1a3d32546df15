/* data_dir.c - vocabulary: where templates/ and configs/ are (gt_data_dir of kernel.h).
 *
 * Templates are code.  They are taken from the folder that $GEMMTUNE_DATA names, from the build
 * tree by what was built there, from share/gemmtune beside the program's or library's own folder if
 * nobody else may write there, and from the folder that `make install` was given. */
#include "kernel/kernel.h"

#include "base/err.h"
#include "base/place.h"
#include "base/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Checks that both parts of a data folder can have been written only by root, this user and the
 * owner of the code that looks for it.  Links in `dir` are resolved. */
static int check_data_dir(struct gt_strbuf *dir, uid_t owner, struct gt_err *err)
{
    static const char *const part[] = {"", "/templates", "/configs/kernels"};
    char real[PATH_MAX];
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(part) / sizeof(*part) && !rc; i++) {
        struct gt_strbuf path = GT_STRBUF_INIT;

        gt_strbuf_addf(&path, "%s%s", dir->text, part[i]);
        rc = gt_strbuf_check(&path, err);
        GT_STEP(rc, gt_trust(path.text, owner, real, err));
        gt_strbuf_release(&path);
        if (!rc && i == 0) {
            gt_strbuf_reset(dir);
            gt_strbuf_add(dir, real);
            rc = gt_strbuf_check(dir, err);
        }
    }
    return rc;
}

/* Looks beside the code in the layouts of `make install` and `make bundle`: PREFIX/bin and
 * PREFIX/lib or, with LIBDIR=lib/x86_64-linux-gnu, one folder deeper. */
static int find_beside(struct gt_strbuf *dir, struct gt_err *err)
{
    static const char *const up[] = {"..", "../.."};
    char folder[PATH_MAX];
    int rc = GT_ENOTFOUND;
    uid_t owner;

    if (!gt_code_folder(folder, &owner))
        return GT_ENOTFOUND;
    for (size_t i = 0; i < sizeof(up) / sizeof(*up) && rc == GT_ENOTFOUND; i++) {
        gt_strbuf_reset(dir);
        gt_strbuf_addf(dir, "%s/%s/share/gemmtune", folder, up[i]);
        rc = gt_strbuf_check(dir, err);
        GT_STEP(rc, is_data_dir(dir->text) ? check_data_dir(dir, owner, err) : GT_ENOTFOUND);
    }
    return rc;
}

/* Finds the data folder; GT_EIO if there is none, with a sentence that names any folder that was
 * rejected because of its owner or mode. */
static int find(struct gt_strbuf *dir, struct gt_err *err)
{
    struct gt_err refused = {0};
    char tree[PATH_MAX];
    int rc = GT_ENOTFOUND;

    if (gt_build_tree(tree) && is_data_dir(tree)) {
        gt_strbuf_add(dir, tree);
        return gt_strbuf_check(dir, err);
    }
    rc = find_beside(dir, &refused);
    if (rc == GT_OK || rc == GT_ENOMEM)
        return rc == GT_OK ? GT_OK : gt_err_nomem(err);
    gt_strbuf_reset(dir);
    gt_strbuf_add(dir, gt_installed_data);
    if (is_data_dir(gt_installed_data))
        return gt_strbuf_check(dir, err);
    return gt_err_set(err, GT_EIO,
                      "no data folder (templates/ and configs/kernels/) beside the program or in "
                      "%s; $GEMMTUNE_DATA may name one%s%s%s",
                      gt_installed_data,
                      rc == GT_EIO ? " (the one beside the program is not used: " : "",
                      rc == GT_EIO ? refused.msg : "", rc == GT_EIO ? ")" : "");
}

int gt_data_dir(char **path, struct gt_err *err)
{
    const char *wanted = secure_getenv("GEMMTUNE_DATA");
    struct gt_strbuf dir = GT_STRBUF_INIT;
    int rc;

    *path = NULL;
    if (!wanted || !*wanted) {
        rc = find(&dir, err);
    } else {
        gt_strbuf_add(&dir, wanted);
        rc = gt_strbuf_check(&dir, err);
        if (!rc && !is_data_dir(wanted))
            rc = gt_err_set(err, GT_EIO,
                            "$GEMMTUNE_DATA is \"%s\", a folder without templates/ and "
                            "configs/kernels/",
                            wanted);
    }
    if (!rc) {
        *path = gt_strbuf_detach(&dir);
        rc = *path ? GT_OK : gt_err_nomem(err);
    }
    gt_strbuf_release(&dir);
    return rc;
}
