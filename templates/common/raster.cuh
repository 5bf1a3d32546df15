/* raster.cuh - the raster order: which tile of D a block computes.
 *
 * Blocks that run at the same time should share operands in the L2 cache. So tiles are numbered in
 * swizzle groups of `group` tile rows, and within a group column by column. With group 2 and a D of
 * 4 x 3 tiles:
 *
 *     0  2  4
 *     1  3  5
 *     6  8 10
 *     7  9 11 */
#ifndef GT_RASTER_CUH
#define GT_RASTER_CUH

struct gt_tile {
    long long row, column; /* in tiles */
};

GT_DEVICE gt_tile gt_raster(unsigned index, unsigned rows, unsigned columns, unsigned group)
{
    unsigned per_group = group * columns;
    unsigned first = index / per_group * group;
    unsigned height = rows - first < group ? rows - first : group;
    unsigned within = index % per_group;
    gt_tile tile;
    tile.row = first + within % height;
    tile.column = within / height;
    return tile;
}

/* The same in groups of tile rows, down the rows first (order 0), or of tile columns, along the
 * columns first (order 1). */
GT_DEVICE gt_tile gt_raster_by(int order, unsigned index, unsigned rows, unsigned columns,
                               unsigned group)
{
    if (order == 0)
        return gt_raster(index, rows, columns, group);
    const gt_tile transposed = gt_raster(index, columns, rows, group);
    return gt_tile{transposed.column, transposed.row};
}

#endif
