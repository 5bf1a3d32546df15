/* default_database.c - names the database that a sweep writes and a look-up reads if the user names
 * none (gt_default_database of kernel.h). */
#include "kernel/kernel.h"

#include "base/err.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Refuses a database that others than this user and root may have written, because the user did not
 * name it. */
static int check_owner(const char *path, struct gt_err *err)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return GT_OK; /* it does not exist yet, or opening it will report why */
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
