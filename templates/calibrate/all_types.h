/* all_types.h - makes common/wgmma.cuh, which follows, define the instructions of every type. */
#ifndef GT_CALIBRATE_ALL_TYPES_H
#define GT_CALIBRATE_ALL_TYPES_H

#define WGMMA_TYPE WGMMA_ALL

#endif
