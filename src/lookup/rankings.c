/* rankings.c - stage: the rankings of several devices, and which of them answers for a device.  See
 * ranking.h; ranking_read.c reads each file. */
#include "lookup/ranking.h"

#include "base/array.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of files that are not used, the sentence on the first is kept. */
static int add(struct gt_rankings *rankings, const struct gt_kernels *kernels, const char *path,
               struct gt_err *err)
{
    struct gt_ranking ranking = {.cc = 0};
    struct gt_err why;
    int code = GT_ARRAY_RESERVE(&rankings->ranking, rankings->count + 1, &rankings->capacity, err);

    if (code)
        return code;
    code = gt_ranking_load(&ranking, kernels, path, &why);
    if (!code)
        rankings->ranking[rankings->count++] = ranking;
    else if (code != GT_ENOMEM && !rankings->damage)
        rankings->damage = strdup(why.msg);
    return !code || (code != GT_ENOMEM && rankings->damage) ? GT_OK : gt_err_nomem(err);
}

int gt_rankings_add(struct gt_rankings *rankings, const struct gt_kernels *kernels,
                    char *const *path, size_t paths, struct gt_err *err)
{
    int code = GT_OK;

    for (size_t i = 0; i < paths && !code; i++)
        code = add(rankings, kernels, path[i], err);
    return code;
}

void gt_rankings_release(struct gt_rankings *rankings)
{
    for (size_t i = 0; i < rankings->count; i++)
        gt_ranking_release(&rankings->ranking[i]);
    free(rankings->ranking);
    free(rankings->damage);
    *rankings = (struct gt_rankings){.count = 0};
}

/* How little the device is like the one that was learned on; infinite where the file does not say.
 */
static double distance(const struct gt_ranking *ranking, const struct gt_device *device)
{
    return fabs(log(device->sms) - log(ranking->sms)) +
           fabs(log(device->memory_gbps) - log(ranking->memory_gbps));
}

const struct gt_ranking *gt_rankings_for(const struct gt_rankings *rankings,
                                         const struct gt_device *device, const char *name)
{
    const struct gt_ranking *best = NULL;

    for (size_t i = 0; i < rankings->count; i++) {
        const struct gt_ranking *ranking = &rankings->ranking[i];

        if (ranking->cc != device->cc)
            continue;
        if (!*ranking->device || (name && gt_device_same(ranking->device, name)))
            return ranking;
        if (!best || distance(ranking, device) < distance(best, device))
            best = ranking;
    }
    return best;
}
