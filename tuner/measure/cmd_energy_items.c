/* cmd_energy_items.c - which candidates are measured; see cmd_energy_items.h. */
#include "measure/cmd_energy_items.h"

#include <string.h>

#include "session/cmd_session.h"
#include "db/store.h"

struct finding {
    struct gt_energy_items *items;
    const struct gt_session *session;
    const char *problem;
};

/* Whether there is room for an item of this time: the same candidate, which was timed on another
 * device of that name or with another driver too, makes room if it was slower there. */
static bool make_room(struct gt_energy_items *items, const struct gt_energy_item *item)
{
    const size_t bytes = item->kernel->params * sizeof(item->point.value[0]);

    for (size_t i = 0; i < items->count; i++) {
        struct gt_energy_item *same = &items->item[i];

        if (same->kernel != item->kernel || memcmp(same->point.value, item->point.value, bytes))
            continue;
        if (same->us <= item->us)
            return false;
        items->count--;
        memmove(same, same + 1, (items->count - i) * sizeof(*same));
        return true;
    }
    if (items->count < items->most)
        return true;
    if (items->item[items->count - 1].us <= item->us)
        return false;
    items->count--;
    return true;
}

/* Takes a measured candidate in, if its kernel still has that text and it is one of the fastest. */
static int take(const struct finding *self, const char *name, const char *signature,
                const char *text, double us, struct gt_err *err)
{
    struct gt_energy_items *items = self->items;
    struct gt_energy_item item = {.us = us};
    size_t at;
    int rc;

    item.kernel = gt_kernels_find(&self->session->kernels, name, NULL);
    if (!item.kernel || strcmp(item.kernel->signature, signature) != 0 || !(us > 0))
        return GT_OK; /* of another text of the template */
    rc = gt_point_parse(&item.point, item.kernel, text, err);
    if (rc || !make_room(items, &item))
        return rc;
    for (at = items->count++; at && items->item[at - 1].us > us; at--)
        items->item[at] = items->item[at - 1];
    items->item[at] = item;
    return GT_OK;
}

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    const struct finding *self = context;

    if (row->status != GT_STATUS_OK || row->timing != GT_TIMING_COLD ||
        strcmp(row->device, self->session->evaluator->device.name) != 0)
        return GT_OK;
    return take(self, row->kernel, row->signature, row->point, row->us, err);
}

/* The shipped winner of the problem; a damaged row of the table is none. */
static void take_shipped(const struct finding *self)
{
    const struct gt_device *device = &self->session->evaluator->device;
    const struct gt_table *table = &self->session->shipped;

    for (size_t i = 0; i < table->rows; i++) {
        const struct gt_table_row *row = &table->row[i];
        struct gt_err ignored = {0};

        if (row->cc == device->cc && !row->predicted && row->timing == GT_TIMING_COLD &&
            strcmp(row->text, self->problem) == 0 && strcmp(row->device, device->name) == 0)
            take(self, row->kernel, row->signature, row->point, row->us, &ignored);
    }
}

int gt_energy_items_find(struct gt_energy_items *items, const struct gt_session *session,
                         const char *problem, double within, struct gt_err *err)
{
    const struct gt_row_filter filter = {
        .problem = problem, .cc = session->evaluator->device.cc, .provenance = 1u << GT_MEASURED};
    struct finding self = {items, session, problem};
    int rc;

    items->count = 0;
    take_shipped(&self);
    rc = gt_store_rows(session->store, &filter, take_row, &self, err);
    while (items->count > 1 &&
           items->item[items->count - 1].us > (1 + within / 100) * items->item[0].us)
        items->count--;
    return rc;
}
