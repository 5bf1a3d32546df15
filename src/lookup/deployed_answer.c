/* deployed_answer.c - finds the answer to a problem in a deployed file; see deployed.h. */
#include "lookup/deployed_impl.h"

#include "base/err.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

/* Slowdown to expect on another device of the arch: as in lookup_tiers.c. */
#define GT_LOSS_DEVICE 0.05

uint32_t gt_deployed_items(const struct gt_deployed *deployed)
{
    return deployed->head.items;
}

const struct gt_deployed_item *gt_deployed_item(const struct gt_deployed *deployed, uint32_t index)
{
    return &deployed->item[index];
}

const char *gt_deployed_text(const struct gt_deployed *deployed, uint32_t text)
{
    return text ? deployed->text + text : NULL;
}

void gt_deployed_geometry(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                          struct gt_geometry *geometry)
{
    *geometry = (struct gt_geometry){.launches = item->launches,
                                     .maps = item->maps,
                                     .workspace_bytes = (size_t)item->workspace_bytes,
                                     .deterministic = !item->varies,
                                     .code_arch = item->cc};
    memcpy(geometry->launch_param, item->launch_param, sizeof(geometry->launch_param));
    for (uint32_t i = 0; i < item->launches; i++) {
        const struct gt_deployed_launch *from = &deployed->launch[item->first_launch + i];
        struct gt_launch_geometry *to = &geometry->launch[i];

        to->entry = deployed->text + from->entry;
        memcpy(to->grid, from->grid, sizeof(to->grid));
        memcpy(to->block, from->block, sizeof(to->block));
        memcpy(to->cluster, from->cluster, sizeof(to->cluster));
        to->shared_bytes = from->shared_bytes;
        to->carveout = from->carveout;
        to->pdl = from->pdl;
        to->maps = from->maps;
    }
    for (uint32_t i = 0; i < item->maps; i++) {
        const struct gt_deployed_map *from = &deployed->map[item->first_map + i];
        struct gt_map_geometry *to = &geometry->map[i];

        *to = (struct gt_map_geometry){.used = from->used,
                                       .operand = (enum gt_map_operand)from->operand,
                                       .element = (enum gt_dtype)from->element,
                                       .offset = from->offset,
                                       .rank = from->rank,
                                       .swizzle = from->swizzle,
                                       .promotion = from->promotion};
        memcpy(to->dims, from->dims, sizeof(to->dims));
        memcpy(to->strides, from->strides, sizeof(to->strides));
        memcpy(to->box, from->box, sizeof(to->box));
    }
}

/* The item for this problem and arch: of the named device, else one whose launches suit a GPU with
 * that many multiprocessors (0: any number); NULL if there is none. */
static const struct gt_deployed_item *find(const struct gt_deployed *deployed,
                                           const struct gt_lookup_key *key, const char *name,
                                           int sms, bool *named)
{
    const struct gt_deployed_item *other = NULL;
    uint64_t at = gt_lookup_hash(key);
    uint32_t index;

    *named = true;
    while ((index = deployed->slot[at++ & (deployed->slots - 1)]) != 0) {
        const struct gt_deployed_item *item = &deployed->item[index - 1];

        if (item->cc != key->arch || (sms && sms != item->sms) ||
            memcmp(&deployed->key[index - 1], &key->problem, sizeof(key->problem)) != 0)
            continue;
        if (!name || gt_device_same(name, deployed->text + item->device))
            return item;
        if (!other)
            other = item;
    }
    *named = false;
    return other;
}

static void fill_answer(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                        bool named, struct gt_answer *answer)
{
    const bool exact = named && item->tier == GT_TIER_EXACT;

    *answer =
        (struct gt_answer){.tier = named                         ? (enum gt_tier)item->tier
                                   : item->tier == GT_TIER_EXACT ? GT_TIER_NEAR
                                                                 : (enum gt_tier)item->tier,
                           .kernel = gt_deployed_text(deployed, item->kernel),
                           .point = gt_deployed_text(deployed, item->point),
                           .device = gt_deployed_text(deployed, item->device),
                           .tuned_for = gt_deployed_text(deployed, item->tuned_for),
                           .passed_over = gt_deployed_text(deployed, item->passed_over),
                           .predicted = item->predicted,
                           .expected_loss = item->expected_loss + (named ? 0 : GT_LOSS_DEVICE),
                           .workspace_bytes = (size_t)item->workspace_bytes,
                           .tuned_us = item->tuned_us,
                           .baseline_us = item->baseline_us,
                           .varies = item->varies};
    if (named)
        answer->expected_us = item->expected_us;
    if (exact) {
        answer->us = item->us;
        answer->contested = item->contested;
        answer->trials = item->trials;
        answer->cublaslt = gt_deployed_text(deployed, item->cublaslt);
    }
    if (item->launches) {
        const struct gt_deployed_launch *launch = &deployed->launch[item->first_launch];

        memcpy(answer->grid, launch->grid, sizeof(answer->grid));
        memcpy(answer->block, launch->block, sizeof(answer->block));
        answer->shared_bytes = launch->shared_bytes;
    }
}

/* Whether its launches are for such a GPU; sms 0: of any number of multiprocessors. */
static bool suits(const struct gt_deployed_item *item, const struct gt_device *device)
{
    return item->cc == device->cc && (!device->sms || item->sms == device->sms);
}

#define NAMED 3 /* problems that a phrase names, at most */

/* Names the first problems that suit the device, in parentheses. */
static void add_names(struct gt_strbuf *text, const struct gt_deployed *deployed,
                      const struct gt_device *device)
{
    uint32_t named = 0;

    for (uint32_t i = 0; i < deployed->head.items && named <= NAMED; i++)
        if (suits(&deployed->item[i], device)) {
            gt_strbuf_addf(text, "%s%s", named ? ", " : " (",
                           named < NAMED ? deployed->text + deployed->item[i].problem : "...");
            named++;
        }
    gt_strbuf_add_char(text, ')');
}

/* Makes a phrase on what the file holds instead, malloc'ed. */
static int explain(const struct gt_deployed *deployed, const struct gt_device *device,
                   char **phrase, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const char *separator = "";
    uint32_t here = 0, fitting = 0;

    for (uint32_t i = 0; i < deployed->head.items; i++) {
        here += deployed->item[i].cc == device->cc;
        fitting += suits(&deployed->item[i], device);
    }
    gt_strbuf_addf(&text, "%s holds ", deployed->path);
    if (fitting) {
        gt_strbuf_addf(&text, "%u other problem%s of sm_%d", fitting, fitting == 1 ? "" : "s",
                       device->cc);
        add_names(&text, deployed, device);
        gt_strbuf_add(&text, ", and nothing else is searched");
    } else if (here) {
        gt_strbuf_addf(&text, "kernels of sm_%d, but none for %d multiprocessors", device->cc,
                       device->sms);
    } else {
        gt_strbuf_addf(&text, "no kernel for sm_%d; it was exported for ", device->cc);
        for (int cc = 10; cc <= 999; cc++)
            for (uint32_t i = 0; i < deployed->head.items; i++)
                if (deployed->item[i].cc == cc) {
                    gt_strbuf_addf(&text, "%ssm_%d", separator, cc);
                    separator = ", ";
                    break;
                }
    }
    *phrase = gt_strbuf_detach(&text);
    return *phrase ? GT_OK : gt_err_nomem(err);
}

int gt_deployed_resolve(const struct gt_deployed *deployed, const char *device_name,
                        struct gt_resolved *resolved, struct gt_err *err)
{
    const struct gt_device *device = &resolved->device;
    struct gt_lookup_key key = {.arch = device->cc};
    bool named;
    char *phrase = NULL;
    int rc;

    gt_problem_key(&key.problem, &resolved->problem);
    resolved->item = find(deployed, &key, device_name, device->sms, &named);
    if (resolved->item) {
        fill_answer(deployed, resolved->item, named, &resolved->answer);
        gt_deployed_geometry(deployed, resolved->item, &resolved->geometry);
        return gt_resolved_own_texts(resolved, err);
    }
    resolved->answer = (struct gt_answer){.tier = GT_TIER_NONE};
    rc = explain(deployed, device, &phrase, err);
    resolved->answer.passed_over = phrase;
    return rc;
}
