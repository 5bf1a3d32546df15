/* fuzz_deployed.c - fuzz target: any bytes as a deployed file, as they are and, so that what stands
 * behind the digest is reached, with the head's size and digest put right. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lookup/deployed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches everything that an item leads to. */
static void ask(const struct gt_deployed *deployed, uint32_t index)
{
    const struct gt_deployed_item *item = gt_deployed_item(deployed, index);
    struct gt_resolved resolved = {.device = {.cc = item->cc, .sms = item->sms}};
    struct gt_geometry geometry;

    gt_deployed_geometry(deployed, item, &geometry);
    for (size_t i = 0; i < geometry.launches; i++)
        if (strlen(geometry.launch[i].entry) >= 64 || geometry.launch[i].cluster[0] > 16)
            abort();
    for (size_t i = 0; i < geometry.maps; i++)
        if (geometry.map[i].rank > GT_MAX_MAP_RANK ||
            (unsigned)geometry.map[i].element >= GT_DTYPE_COUNT)
            abort();
    if (gt_problem_parse(&resolved.problem, gt_deployed_text(deployed, item->problem), NULL))
        abort();
    if (gt_deployed_resolve(deployed, gt_deployed_text(deployed, item->device), &resolved, NULL) ||
        resolved.answer.tier == GT_TIER_NONE || strlen(resolved.answer.point) > GT_DEPLOYED_TEXTS)
        abort();
    gt_resolved_release(&resolved);
    resolved.device.cc = item->cc;
    gt_problem_init(&resolved.problem, 1, 2, 3);
    if (gt_deployed_resolve(deployed, NULL, &resolved, NULL))
        abort();
    gt_resolved_release(&resolved);
}

static void parse(const void *bytes, size_t size)
{
    struct gt_deployed *deployed = NULL;
    struct gt_err err = {0};

    if (gt_deployed_parse(&deployed, "input", bytes, size, &err) ? !*err.msg || deployed
                                                                 : *err.msg || !deployed)
        abort();
    for (uint32_t i = 0; deployed && i < gt_deployed_items(deployed) && i < 64; i++)
        ask(deployed, i);
    gt_deployed_close(deployed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_deployed_head head;
    size_t index;
    char *copy;

    parse(data, size);
    if (size < sizeof(head))
        return 0;
    copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(&head, data, sizeof(head));
    memcpy(head.magic, GT_DEPLOYED_MAGIC, sizeof(head.magic));
    head.version = GT_DEPLOYED_VERSION;
    head.order = GT_DEPLOYED_ORDER;
    head.file_bytes = size;
    index = gt_deployed_index_bytes(&head);
    memcpy(copy, data, size);
    memcpy(copy, &head, sizeof(head));
    if (index <= size && head.text_bytes <= GT_DEPLOYED_TEXTS &&
        !gt_deployed_index_digest(copy, index, head.digest, NULL)) {
        memcpy(copy, &head, sizeof(head));
        parse(copy, size);
    }
    free(copy);
    return 0;
}
