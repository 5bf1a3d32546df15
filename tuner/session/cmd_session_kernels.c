/* cmd_session_kernels.c - which kernels take part in a session: those that --kernels names, and the
 * values that --values leaves them; see cmd_session_impl.h. */
#include "session/cmd_session_impl.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "search/narrow.h"
#include "search/strategy.h"

#define VENDOR "cublaslt" /* among the names of kernels: cuBLASLt's own algorithms */

bool gt_session_names_vendor(const char *names)
{
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, VENDOR, strlen(VENDOR)) == 0 && strchr(",", at[strlen(VENDOR)]))
            return true;
    return false;
}

/* Appends the kernels of a name, or of a pattern such as simt*; *n: how many are chosen so far. */
static int choose_kernels(const struct gt_kernel **chosen, size_t *n,
                          const struct gt_kernels *kernels, const char *name, struct gt_err *err)
{
    const bool pattern = strpbrk(name, "*?[") != NULL;
    struct gt_strbuf there = GT_STRBUF_INIT;
    bool found = strcmp(name, VENDOR) == 0;
    int rc = GT_OK;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct gt_kernel *kernel = kernels->kernel[i];
        size_t at = 0;

        gt_strbuf_addf(&there, " %s", kernel->name);
        if (pattern ? fnmatch(name, kernel->name, 0) : strcmp(name, kernel->name))
            continue;
        found = true;
        while (at < *n && chosen[at] != kernel)
            at++;
        chosen[at] = kernel; /* named twice, it stands there already */
        *n += at == *n;
    }
    if (!found && !pattern)
        rc = gt_kernels_find(kernels, name, err) ? GT_OK : GT_ENOTFOUND;
    else if (!found)
        rc = gt_err_set(err, GT_ENOTFOUND, "no kernel is called \"%s\"; there are:%s", name,
                        there.text);
    gt_strbuf_release(&there);
    return rc;
}

int gt_session_kernels(const struct gt_kernel ***list, size_t *count,
                       const struct gt_kernels *kernels, const char *names, struct gt_err *err)
{
    const struct gt_kernel **chosen = calloc(kernels->count + 1, sizeof(*chosen));
    size_t n = 0;
    int rc = chosen ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < kernels->count && !rc && !names; i++)
        if (kernels->kernel[i]->production)
            chosen[n++] = kernels->kernel[i];
    for (const char *at = names; at && *at && !rc;) {
        size_t length = strcspn(at, ",");
        char *name = strndup(at, length);

        rc = name ? choose_kernels(chosen, &n, kernels, name, err) : gt_err_nomem(err);
        free(name);
        at += length + (at[length] == ',');
    }
    if (!rc && !n)
        rc = names ? gt_err_set(err, GT_ESYNTAX, "--kernels names no kernel")
                   : gt_err_set(err, GT_ECONFIG,
                                "no kernel to choose from: no description has role production");
    if (rc) {
        free(chosen);
        return rc;
    }
    *list = chosen;
    *count = n;
    return GT_OK;
}

int gt_session_check_names(const struct gt_session *session,
                           const struct gt_session_options *options, struct gt_err *err)
{
    const struct gt_kernel **kernel = NULL;
    size_t count = 0;
    int rc;

    if (options->kernels && !session->replays) {
        rc = gt_session_kernels(&kernel, &count, &session->kernels, options->kernels, err);
        free(kernel);
        if (rc)
            return rc;
    }
    return options->strategy ? gt_strategy_parse(NULL, NULL, options->strategy, err) : GT_OK;
}

int gt_session_narrow(struct gt_session *session, const struct gt_session_options *options,
                      struct gt_err *err)
{
    const struct gt_kernel **list = NULL;
    size_t count = 0;
    int rc;

    if (session->replays)
        return gt_err_set(err, GT_ESYNTAX,
                          "--values does not go with a recording; --space describes a part of it");
    rc = gt_session_kernels(&list, &count, &session->kernels, options->kernels, err);
    GT_STEP(rc, gt_narrow((struct gt_kernel *const *)list, count, options->values, err));
    free(list);
    return rc;
}
