/* data_dir.c - vocabulary: where templates, configs and the default database are.
 *
 * Templates are code.  The places are tried in this order: the folder that $GEMMTUNE_DATA names;
 * the build tree, for code that was built there; share/gemmtune beside the program's or library's
 * own folder, if nobody else may write there; and the folder that `make install` was given. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/place.h"
#include "base/strbuf.h"
#include "base/trust.h"
#include "kernel/kernel.h"

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

/* ---- the database that a sweep writes and a look-up reads if the user names none ---- */

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);

    return value && *value ? value : NULL;
}

/* Takes the name from the environment.  A relative folder in XDG_DATA_HOME is ignored (XDG Base
 * Directory Specification 0.8, "Environment variables"). */
static int name_database(struct gt_strbuf *path, struct gt_err *err)
{
    const char *own = variable("GEMMTUNE_DB"), *data = variable("XDG_DATA_HOME");
    const char *home = variable("HOME");

    if (own)
        gt_strbuf_add(path, own);
    else if (data && *data == '/')
        gt_strbuf_addf(path, "%s/gemmtune/gemmtune.db", data);
    else if (home)
        gt_strbuf_addf(path, "%s/.local/share/gemmtune/gemmtune.db", home);
    else
        return gt_err_set(err, GT_ENOTFOUND,
                          "no default database: name one, or set GEMMTUNE_DB, "
                          "XDG_DATA_HOME or HOME");
    return gt_strbuf_check(path, err);
}

/* Creates the missing folders above the file, for this user alone. */
static int make_folders(char *path, struct gt_err *err)
{
    int code = GT_OK;

    for (char *slash = strchr(path + 1, '/'); slash && !code; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            code = gt_err_set(err, GT_EDB,
                              "%s: cannot create the folder of the database: %s; "
                              "GEMMTUNE_DB may name another database",
                              path, strerror(errno));
        *slash = '/';
    }
    return code;
}

/* Refuses a default database that others than this user and root may have written, because the user
 * did not name it. */
static int check_owner(const char *path, struct gt_err *err)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return GT_OK; /* the file does not exist yet, or opening it will report why */
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return gt_err_set(err, GT_EDB,
                          "the default database %s belongs to another user (id %ld), and only "
                          "root's or your own is taken unasked; if you trust it, name it with --db "
                          "(in a program: gt_options.user_db)",
                          path, (long)status.st_uid);
    if (S_ISREG(status.st_mode) && status.st_mode & (S_IWGRP | S_IWOTH))
        return gt_err_set(err, GT_EDB,
                          "other users may write the default database %s; correct that with "
                          "`chmod go-w`, or, if you trust them, name it with --db (in a program: "
                          "gt_options.user_db)",
                          path);
    return GT_OK;
}

int gt_default_database(char **path, bool create, struct gt_err *err)
{
    struct gt_strbuf name = GT_STRBUF_INIT;
    int code = name_database(&name, err);

    *path = NULL;
    if (!code && create && !variable("GEMMTUNE_DB"))
        code = make_folders(name.text, err);
    GT_STEP(code, check_owner(name.text, err));
    if (!code) {
        *path = gt_strbuf_detach(&name);
        code = *path ? GT_OK : gt_err_nomem(err);
    }
    gt_strbuf_release(&name);
    return code;
}
