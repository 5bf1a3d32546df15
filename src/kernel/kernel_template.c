/* kernel_template.c - vocabulary: finds a kernel's template, reads it and checks that it uses what
 * the description declares. */
#include "kernel/kernel_impl.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Whether the canonical text holds the token; each token in it follows a blank. */
static bool has_token(const char *code, const char *token)
{
    size_t length = strlen(token);

    for (const char *at = code; (at = strstr(at, token)); at += length)
        if (at > code && at[-1] == ' ' && strchr(" \n(", at[length])) /* "(" of #define F() */
            return true;
    return false;
}

/* Finds the template: beside the description (a user's own kernel), else in the data folder. */
static int find_template(const struct gt_kernel *kernel, const char *data_dir,
                         struct gt_strbuf *path, struct gt_err *err)
{
    const char *slash = strrchr(kernel->path, '/');
    int rc;

    gt_strbuf_add_bytes(path, kernel->path, slash ? (size_t)(slash + 1 - kernel->path) : 0);
    gt_strbuf_add(path, kernel->template_path);
    rc = gt_strbuf_check(path, err);
    if (rc || !access(path->text, R_OK))
        return rc;
    gt_strbuf_reset(path);
    gt_strbuf_addf(path, "%s/%s", data_dir, kernel->template_path);
    rc = gt_strbuf_check(path, err);
    if (!rc && access(path->text, R_OK))
        rc = gt_err_set(err, GT_ECONFIG,
                        "%s: template \"%s\" is neither beside the description nor in %s",
                        kernel->path, kernel->template_path, data_dir);
    return rc;
}

static uint64_t list_depends(const struct gt_kernel *kernel, struct gt_expr *const *expr, int count)
{
    uint64_t used = 0;

    for (int i = 0; i < count; i++)
        used |= gt_kernel_depends(kernel, expr[i]);
    return used;
}

/* The parameters on which tensor maps, launches and workspace depend. */
static uint64_t launches_depend(const struct gt_kernel *kernel)
{
    uint64_t used = gt_kernel_depends(kernel, kernel->workspace);

    for (size_t i = 0; i < kernel->launches; i++) {
        const struct gt_launch *launch = &kernel->launch[i];

        used |= list_depends(kernel, launch->grid, 3) | list_depends(kernel, launch->block, 3) |
                list_depends(kernel, launch->cluster, 3);
#define DEPENDS(member, standard) used |= gt_kernel_depends(kernel, launch->member);
        GT_LAUNCH_EXPRS(DEPENDS)
#undef DEPENDS
    }
    for (size_t i = 0; i < kernel->maps; i++) {
        const struct gt_tensor_map *map = &kernel->map[i];

        used |= list_depends(kernel, map->dims, map->rank) |
                list_depends(kernel, map->box, map->rank) |
                list_depends(kernel, map->strides, map->rank - 1);
#define DEPENDS(member, standard) used |= gt_kernel_depends(kernel, map->member);
        GT_MAP_EXPRS(DEPENDS)
#undef DEPENDS
    }
    return used;
}

static uint64_t compile_depends(const struct gt_kernel *kernel)
{
    uint64_t used = 0;

#define DEPENDS(member, standard) used |= gt_kernel_depends(kernel, kernel->member);
    GT_COMPILE_EXPRS(DEPENDS)
#undef DEPENDS
    return used;
}

/* Refuses a parameter that has no effect and an entry that does not exist: both are mistakes. */
static int check_words(const struct gt_kernel *kernel, const char *code, struct gt_err *err)
{
    const uint64_t compiled = compile_depends(kernel);
    const uint64_t launched = compiled | launches_depend(kernel);

    for (size_t i = 0; i < kernel->params && i < GT_MAX_PARAMS; i++) {
        const struct gt_param *param = &kernel->param[i];

        if (has_token(code, param->name) || (param->launch ? launched : compiled) >> i & 1)
            continue;
        return gt_err_set(err, GT_ECONFIG,
                          "%s: params[%zu] (%s): the template %s does not mention %s%s",
                          kernel->path, i, param->name, kernel->template_path, param->name,
                          param->launch ? ", nor do launches or tensor maps" : "");
    }
    for (size_t i = 0; i < kernel->launches; i++)
        if (!has_token(code, kernel->launch[i].entry))
            return gt_err_set(err, GT_ECONFIG,
                              "%s: launches[%zu]: the template %s has no entry \"%.64s\"",
                              kernel->path, i, kernel->template_path, kernel->launch[i].entry);
    return GT_OK;
}

/* Appends the folders of "DIR[:DIR...]", each on a line of its own. */
static int add_include_dirs(struct gt_strbuf *to, const char *dirs, struct gt_err *err)
{
    for (int count = 1; *dirs; count++) {
        const size_t length = strcspn(dirs, ":"), before = to->length + 1;

        if (count > GT_MAX_INCLUDE_DIRS)
            return gt_err_set(err, GT_ERANGE, "more than %d include folders are given",
                              GT_MAX_INCLUDE_DIRS);
        gt_strbuf_add_char(to, '\n');
        gt_strbuf_add_bytes(to, dirs, length);
        if (gt_strbuf_check(to, err))
            return GT_ENOMEM;
        if (access(to->text + before, R_OK | X_OK))
            return gt_err_set(err, GT_EIO, "include folder \"%.200s\" cannot be read: %s",
                              to->text + before, strerror(errno));
        dirs += length + (dirs[length] == ':');
    }
    return GT_OK;
}

static int set_include_dirs(struct gt_kernel *kernel, const char *data_dir,
                            const char *include_dirs, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&text, "%s/templates", data_dir);
    rc = gt_strbuf_check(&text, err);
    if (!rc && include_dirs)
        rc = add_include_dirs(&text, include_dirs, err);
    kernel->include_dirs = rc ? NULL : gt_strbuf_detach(&text);
    gt_strbuf_release(&text);
    return rc || kernel->include_dirs ? rc : gt_err_nomem(err);
}

int gt_kernel_read_template(struct gt_kernel *kernel, const char *data_dir,
                            const char *include_dirs, struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT, code = GT_STRBUF_INIT;
    int rc = set_include_dirs(kernel, data_dir, include_dirs, err);

    GT_STEP(rc, find_template(kernel, data_dir, &path, err));
    GT_STEP(rc, gt_strbuf_add_file(&text, path.text, err));
    if (!rc && memchr(text.text, '\0', text.length))
        rc =
            gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no source text", path.text);
    if (rc)
        goto out;
    kernel->text = gt_strbuf_detach(&text);
    rc = kernel->text ? gt_tokens_add_template(&code, kernel, path.text, err) : gt_err_nomem(err);
    GT_STEP(rc, check_words(kernel, code.text, err));
    GT_STEP(rc, gt_kernel_sign(kernel, code.text, err));
out:
    gt_strbuf_release(&path);
    gt_strbuf_release(&text);
    gt_strbuf_release(&code);
    return rc;
}
