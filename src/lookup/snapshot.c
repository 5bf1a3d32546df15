/* snapshot.c - keeps what look-ups would answer from the tables as they are at one moment; see
 * snapshot.h. */
#include "lookup/snapshot.h"

#include "base/array.h"
#include "lookup/lookup_impl.h"

#include <string.h>

/* Copies the rows; their texts still belong to the other table. */
static int add_rows(struct gt_table *table, const struct gt_table *from, struct gt_err *err)
{
    int code = GT_ARRAY_RESERVE(&table->row, table->rows + from->rows, &table->capacity, err);

    if (code || !from->rows)
        return code;
    memcpy(table->row + table->rows, from->row, from->rows * sizeof(*from->row));
    table->rows += from->rows;
    return GT_OK;
}

int gt_snapshot_take(struct gt_snapshot *snapshot, const struct gt_kernels *kernels,
                     struct gt_store *store, const struct gt_table *shipped, struct gt_err *err)
{
    int code;

    *snapshot = (struct gt_snapshot){.kernels = kernels};
    code = store ? gt_table_add_stored(&snapshot->table, store, err) : GT_OK;
    snapshot->user_rows = snapshot->table.rows;
    if (!code && shipped)
        code = add_rows(&snapshot->table, shipped, err);
    if (!code && shipped)
        code =
            gt_rankings_add(&snapshot->rankings, kernels, shipped->ranking, shipped->rankings, err);
    return code;
}

void gt_snapshot_release(struct gt_snapshot *snapshot)
{
    gt_table_release(&snapshot->table);
    gt_rankings_release(&snapshot->rankings);
    memset(snapshot, 0, sizeof(*snapshot));
}

int gt_snapshot_lookup(const struct gt_snapshot *snapshot, const struct gt_device *device,
                       const struct gt_problem *problem, struct gt_resolved *resolved,
                       struct gt_err *err)
{
    const struct gt_sources sources = {*snapshot->kernels, snapshot->table, snapshot->user_rows,
                                       snapshot->rankings};
    int code;

    *resolved = (struct gt_resolved){.problem = *problem, .device = *device};
    resolved->device.chained = false; /* as for a program, whose launches are its own */
    code = gt_lookup_resolve(&sources, device->profile ? NULL : device->name, resolved, err);
    if (code)
        gt_resolved_release(resolved);
    return code;
}
