/* assemble.c - stage: PTX -> cubin by nvJitLink.  Below compile.c, its only caller. */
#include "cuda/assemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_api.h"
#include "base/err.h"

#define INPUT_PTX 2 /* nvJitLinkInputType */

struct gt_assembler {
    struct gt_jitlink_api api;
};

int gt_assembler_open(struct gt_assembler **assembler, struct gt_err *err)
{
    struct gt_assembler *opened = calloc(1, sizeof(*opened));
    int rc;

    *assembler = NULL;
    if (!opened)
        return gt_err_nomem(err);
    rc = gt_jitlink_api_load(&opened->api, err);
    if (rc)
        free(opened);
    else
        *assembler = opened;
    return rc;
}

void gt_assembler_close(struct gt_assembler *assembler)
{
    free(assembler);
}

/* Fetches one of the link's two logs, malloc'ed; NULL if memory ran out. */
static char *fetch_log(int (*get_size)(void *, size_t *), int (*get)(void *, char *), void *link)
{
    size_t size = 0;
    char *log;

    if (get_size(link, &size))
        size = 0;
    log = calloc(size + 1, 1);
    if (log && size && get(link, log))
        log[0] = '\0';
    return log;
}

static int refuse(const struct gt_jitlink_api *api, void *link, int result, struct gt_err *err)
{
    char *log = fetch_log(api->GetErrorLogSize, api->GetErrorLog, link);
    int rc;

    if (!log)
        return gt_err_nomem(err);
    rc = gt_err_set(err, GT_ENVRTC, "nvJitLink failed with result %d: %.*s", result,
                    (int)strcspn(log, "\n"), log);
    free(log);
    return rc;
}

static int fetch(const struct gt_jitlink_api *api, void *link, struct gt_assembled *assembled,
                 struct gt_err *err)
{
    int result = api->GetLinkedCubinSize(link, &assembled->size);

    if (result)
        return refuse(api, link, result, err);
    assembled->image = malloc(assembled->size + 1);
    assembled->log = fetch_log(api->GetInfoLogSize, api->GetInfoLog, link);
    if (!assembled->image || !assembled->log)
        return gt_err_nomem(err);
    result = api->GetLinkedCubin(link, assembled->image);
    return result ? refuse(api, link, result, err) : GT_OK;
}

int gt_assemble(const struct gt_assembler *assembler, const char *ptx, int cc, bool features,
                int max_registers, struct gt_assembled *assembled, struct gt_err *err)
{
    const struct gt_jitlink_api *api = &assembler->api;
    char arch[32], bound[32];
    const char *option[] = {arch, "-Xptxas=-v", bound};
    void *link = NULL;
    int result, rc;

    *assembled = (struct gt_assembled){0};
    snprintf(arch, sizeof(arch), "-arch=sm_%d%s", cc, features ? "a" : "");
    snprintf(bound, sizeof(bound), "-maxrregcount=%d", max_registers);
    result = api->Create(&link, max_registers > 0 ? 3 : 2, option);
    if (result)
        return gt_err_set(err, GT_ENVRTC, "nvJitLinkCreate for sm_%d failed with result %d", cc,
                          result);
    result = api->AddData(link, INPUT_PTX, ptx, strlen(ptx) + 1, "ptx");
    if (!result)
        result = api->Complete(link);
    rc = result ? refuse(api, link, result, err) : fetch(api, link, assembled, err);
    api->Destroy(&link);
    if (rc) {
        free(assembled->image);
        free(assembled->log);
        *assembled = (struct gt_assembled){0};
    }
    return rc;
}
