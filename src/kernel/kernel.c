/* kernel.c - vocabulary: loading and finding kernels. */
#include "kernel/kernel.h"
#include "base/err.h"
#include "kernel/kernel_impl.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void release_constraint(struct gt_constraint *constraint)
{
    free(constraint->why);
    free(constraint->instead);
    gt_expr_free(constraint->expr);
    gt_expr_free(constraint->follows);
}

static void free_space(struct gt_kernel *kernel)
{
    for (size_t i = 0; i < kernel->params; i++) {
        free(kernel->param[i].name);
        free(kernel->param[i].doc);
        free(kernel->param[i].value);
        free(kernel->param[i].word);
    }
    for (size_t i = 0; i < kernel->deriveds; i++) {
        free(kernel->derived[i].name);
        free(kernel->derived[i].doc);
        gt_expr_free(kernel->derived[i].expr);
    }
    for (size_t i = 0; i < kernel->constraints; i++)
        release_constraint(&kernel->constraint[i]);
    free(kernel->constraint);
}

static void free_expr(void *context, struct gt_expr *expr)
{
    (void)context;
    gt_expr_free(expr);
}

/* Frees launches, tensor maps, and the expressions of "compile", "model" and the top object. */
static void free_launches(const struct gt_kernel *kernel)
{
    gt_kernel_each_expr(kernel, free_expr, NULL);
    for (size_t i = 0; i < kernel->launches; i++)
        free(kernel->launch[i].entry);
    for (size_t i = 0; i < kernel->maps; i++)
        free(kernel->map[i].name);
#define FREE(member, standard) gt_expr_free(kernel->member);
    GT_CANDIDATE_EXPRS(FREE)
    GT_COMPILE_EXPRS(FREE)
#undef FREE
#define FREE(member, unit, least) gt_expr_free(kernel->model.member);
    GT_MODEL_EXPRS(FREE)
#undef FREE
}

void gt_kernel_free(struct gt_kernel *kernel)
{
    if (!kernel)
        return;
    free_space(kernel);
    free_launches(kernel);
    for (size_t i = 0; i < kernel->reported_count; i++)
        free(kernel->reported[i].source);
    free(kernel->reported);
    free(kernel->seed);
    free(kernel->name);
    free(kernel->doc);
    free(kernel->path);
    free(kernel->template_path);
    free(kernel->text);
    free(kernel->include_dirs);
    free(kernel);
}

void gt_kernel_drop_bets(struct gt_kernel *kernel)
{
    size_t kept = 0;

    for (size_t i = 0; i < kernel->constraints; i++) {
        struct gt_constraint constraint = kernel->constraint[i];

        if (!constraint.bet) {
            kernel->constraint[kept++] = constraint;
            continue;
        }
        release_constraint(&constraint);
    }
    kernel->constraints = kept;
}

/* Loads one kernel; include_dirs: the user's, as in gt_kernels_load. */
static int load_kernel(struct gt_kernel **out, const char *data_dir, const char *path,
                       const char *include_dirs, struct gt_err *err)
{
    struct gt_kernel *kernel = calloc(1, sizeof(*kernel));
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    *out = NULL;
    if (!kernel)
        return gt_err_nomem(err);
    kernel->path = strdup(path);
    rc = kernel->path ? gt_strbuf_add_file(&text, path, err) : gt_err_nomem(err);
    GT_STEP(rc, gt_kernel_read_description(kernel, data_dir, text.text, text.length, err));
    GT_STEP(rc, gt_kernel_read_template(kernel, data_dir, include_dirs, err));
    gt_strbuf_release(&text);
    if (rc)
        gt_kernel_free(kernel);
    else
        *out = kernel;
    return rc;
}

int gt_kernel_load(struct gt_kernel **kernel, const char *data_dir, const char *path,
                   struct gt_err *err)
{
    return load_kernel(kernel, data_dir, path, NULL, err);
}

double gt_kernel_cross_product(const struct gt_kernel *kernel)
{
    double points = 1;

    for (size_t i = 0; i < kernel->params; i++)
        points *= (double)kernel->param[i].count;
    return points;
}

/* ---- all kernels ---- */

static int is_description(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 5, ".json");
}

static int append(struct gt_kernels *kernels, struct gt_kernel *kernel, struct gt_err *err)
{
    struct gt_kernel **list;

    for (size_t i = 0; i < kernels->count; i++)
        if (!strcmp(kernels->kernel[i]->name, kernel->name))
            return gt_err_set(err, GT_ECONFIG, "%s: kernel \"%s\" is already described in %s",
                              kernel->path, kernel->name, kernels->kernel[i]->path);
    list = realloc(kernels->kernel, (kernels->count + 1) * sizeof(struct gt_kernel *));
    if (!list)
        return gt_err_nomem(err);
    kernels->kernel = list;
    kernels->kernel[kernels->count++] = kernel;
    return GT_OK;
}

static int load_one(struct gt_kernels *kernels, const char *data_dir, const char *dir,
                    const char *include_dirs, const char *file, struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT;
    struct gt_kernel *kernel = NULL;
    int rc;

    gt_strbuf_addf(&path, "%s/%s", dir, file);
    rc = gt_strbuf_check(&path, err);
    GT_STEP(rc, load_kernel(&kernel, data_dir, path.text, include_dirs, err));
    if (!rc) {
        rc = append(kernels, kernel, err);
        if (rc)
            gt_kernel_free(kernel);
    }
    gt_strbuf_release(&path);
    return rc;
}

static int load_dir(struct gt_kernels *kernels, const char *data_dir, const char *dir,
                    const char *include_dirs, struct gt_err *err)
{
    struct dirent **entry;
    int count = scandir(dir, &entry, is_description, alphasort);
    int rc = GT_OK;

    if (count < 0)
        return errno == ENOMEM ? gt_err_nomem(err)
                               : gt_err_set(err, GT_EIO, "%s: cannot read the folder: %s", dir,
                                            strerror(errno));
    if (!count)
        rc = gt_err_set(err, GT_ECONFIG, "%s: no kernel descriptions (*.json) in this folder", dir);
    for (int i = 0; i < count; i++) {
        GT_STEP(rc, load_one(kernels, data_dir, dir, include_dirs, entry[i]->d_name, err));
        free(entry[i]);
    }
    free(entry);
    return rc;
}

static int by_rung_and_name(const void *a, const void *b)
{
    const struct gt_kernel *x = *(struct gt_kernel *const *)a, *y = *(struct gt_kernel *const *)b;

    return x->rung != y->rung ? x->rung - y->rung : strcmp(x->name, y->name);
}

int gt_kernels_add(struct gt_kernels *kernels, const char *data_dir, const char *dir,
                   const char *include_dirs, struct gt_err *err)
{
    int rc = load_dir(kernels, data_dir, dir, include_dirs, err);

    if (!rc)
        qsort(kernels->kernel, kernels->count, sizeof(*kernels->kernel), by_rung_and_name);
    return rc;
}

int gt_kernels_load(struct gt_kernels *kernels, const char *data_dir, const char *extra_dir,
                    const char *include_dirs, struct gt_err *err)
{
    struct gt_strbuf dir = GT_STRBUF_INIT;
    int rc;

    *kernels = (struct gt_kernels){0};
    gt_strbuf_addf(&dir, "%s/configs/kernels", data_dir);
    rc = gt_strbuf_check(&dir, err);
    GT_STEP(rc, gt_kernels_add(kernels, data_dir, dir.text, NULL, err));
    if (!rc && extra_dir)
        rc = gt_kernels_add(kernels, data_dir, extra_dir, include_dirs, err);
    gt_strbuf_release(&dir);
    if (rc)
        gt_kernels_release(kernels);
    return rc;
}

void gt_kernels_release(struct gt_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        gt_kernel_free(kernels->kernel[i]);
    free(kernels->kernel);
    *kernels = (struct gt_kernels){0};
}

static void unknown_kernel(const struct gt_kernels *kernels, const char *name, struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    const char *near = NULL;

    for (size_t i = 0; i < kernels->count; i++) {
        const char *known = kernels->kernel[i]->name;

        gt_strbuf_addf(&list, " %s", known);
        if (!near)
            near = gt_near(name, strlen(name), &known, 1);
    }
    if (near)
        gt_err_set(err, GT_ENOTFOUND, "unknown kernel \"%.64s\"; did you mean \"%s\"?", name, near);
    else
        gt_err_set(err, GT_ENOTFOUND, "unknown kernel \"%.64s\"; there are:%s", name, list.text);
    gt_strbuf_release(&list);
}

struct gt_kernel *gt_kernels_find(const struct gt_kernels *kernels, const char *name,
                                  struct gt_err *err)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (!strcmp(kernels->kernel[i]->name, name))
            return kernels->kernel[i];
    if (err)
        unknown_kernel(kernels, name, err);
    return NULL;
}
