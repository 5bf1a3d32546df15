/* deployed_check.c - checks the contents of a deployed file before anything is made of it; see
 * deployed.h.
 *
 * Digests find damage.  These checks find what another program wrote wrongly: nothing in the file
 * may point outside of it, or lead to a call that the driver does not check itself. */
#include "lookup/deployed_impl.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

#define ENTRIES_MOST 64 /* characters of an entry's name, with the NUL (src/cuda/module.c) */

static bool is_text(const struct gt_deployed *deployed, uint32_t text, bool needed)
{
    return text < deployed->head.text_bytes && (!needed || text);
}

static bool is_time(double us)
{
    return isfinite(us) && us >= 0;
}

static bool within(uint32_t first, uint32_t count, uint32_t most, uint32_t all)
{
    return count <= most && first <= all && count <= all - first;
}

/* 0, or a power of two times `least`, up to four times. */
static bool is_doubling(int32_t bytes, int32_t least)
{
    return bytes == 0 || bytes == least || bytes == 2 * least || bytes == 4 * least;
}

static bool is_flag(int32_t value)
{
    return value == 0 || value == 1;
}

static bool item_is_sound(const struct gt_deployed *deployed, const struct gt_deployed_item *item)
{
    const struct gt_deployed_head *head = &deployed->head;

    return is_text(deployed, item->problem, true) && is_text(deployed, item->device, true) &&
           is_text(deployed, item->kernel, true) && is_text(deployed, item->point, true) &&
           is_text(deployed, item->tuned_for, false) &&
           is_text(deployed, item->passed_over, false) &&
           is_text(deployed, item->cublaslt, false) && item->workspace_bytes >= 0 &&
           item->trials >= 0 && is_time(item->us) && is_time(item->tuned_us) &&
           is_time(item->expected_us) && is_time(item->expected_loss) &&
           is_time(item->baseline_us) && item->cc >= 10 && item->cc <= 999 && item->sms >= 1 &&
           item->tier >= GT_TIER_EXACT && item->tier < GT_TIER_NONE && is_flag(item->predicted) &&
           is_flag(item->contested) && is_flag(item->varies) && item->image < head->images &&
           within(item->first_launch, item->launches, GT_MAX_LAUNCHES, head->launches) &&
           within(item->first_map, item->maps, GT_MAX_MAPS, head->maps) &&
           deployed->image[item->image].cc == item->cc;
}

static bool launch_is_sound(const struct gt_deployed *deployed,
                            const struct gt_deployed_launch *launch)
{
    for (int i = 0; i < 3; i++)
        if (launch->cluster[i] < 1 || launch->cluster[i] > 16)
            return false;
    return is_text(deployed, launch->entry, true) &&
           strlen(deployed->text + launch->entry) < ENTRIES_MOST && launch->carveout >= -1 &&
           launch->carveout <= 100 && launch->shared_bytes <= INT32_MAX && is_flag(launch->pdl) &&
           is_flag(launch->maps);
}

static bool map_is_sound(const struct gt_deployed_map *map)
{
    return is_flag(map->used) && map->operand >= 0 && map->operand <= GT_MAP_WORKSPACE &&
           map->element >= 0 && map->element < GT_DTYPE_COUNT && map->rank >= 0 &&
           map->rank <= GT_MAX_MAP_RANK && (map->rank >= 1 || !map->used) &&
           is_doubling(map->swizzle, 32) && is_doubling(map->promotion, 64) && !map->unused;
}

/* Whether the images' bytes follow one another up to the end of the file, each of them once. */
static bool images_are_sound(const struct gt_deployed *deployed)
{
    const struct gt_deployed_head *head = &deployed->head;
    uint64_t at = gt_deployed_index_bytes(head);

    for (uint32_t i = 0; i < head->images; i++) {
        const struct gt_deployed_image *image = &deployed->image[i];

        if (image->offset != at || !image->size || image->size > head->file_bytes - at ||
            image->nvrtc < 0)
            return false;
        at += image->size;
    }
    return at == head->file_bytes;
}

int gt_deployed_check(const struct gt_deployed *deployed, struct gt_err *err)
{
    const struct gt_deployed_head *head = &deployed->head;
    const char *wrong = NULL;
    uint32_t at = 0;

    if (!head->text_bytes || deployed->text[0] || deployed->text[head->text_bytes - 1])
        wrong = "text";
    if (!wrong && !images_are_sound(deployed))
        wrong = "image";
    for (uint32_t i = 0; i < head->items && !wrong; at = i++)
        if (!item_is_sound(deployed, &deployed->item[i]))
            wrong = "item";
    for (uint32_t i = 0; i < head->launches && !wrong; at = i++)
        if (!launch_is_sound(deployed, &deployed->launch[i]))
            wrong = "launch";
    for (uint32_t i = 0; i < head->maps && !wrong; at = i++)
        if (!map_is_sound(&deployed->map[i]))
            wrong = "tensor map";
    return wrong ? gt_err_set(err, GT_EDB,
                              "%s: %s %u is outside of what is allowed; export it again with this "
                              "version",
                              deployed->path, wrong, at)
                 : GT_OK;
}
