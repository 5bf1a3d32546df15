/* tensor_maps.h - test: tensor maps as the emulated templates see them. */
#ifndef GT_EMU_TENSOR_MAPS_H
#define GT_EMU_TENSOR_MAPS_H

#include "kernel/kernel.h"
#include "templates/common/args.h"

/* Fills the maps for the operands of args; one that is not used has no base and rank 0.  The
 * contents are what the templates know with GT_EMULATE, of the size that everyone else knows. */
void gt_emu_maps(struct gt_maps *maps, const struct gt_geometry *geometry,
                 const struct gt_args *args);

#endif
