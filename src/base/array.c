/* array.c - vocabulary: arrays that grow (array.h). */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FIRST 8 /* elements that an array gets room for at first */

int gt_array_reserve(void *array, size_t needed, size_t *capacity, size_t size, struct gt_err *err)
{
    size_t wanted = *capacity ? *capacity : FIRST;
    void *grown;

    if (needed <= *capacity)
        return GT_OK;
    while (wanted < needed && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < needed || wanted > SIZE_MAX / size)
        return gt_err_nomem(err);
    memcpy(&grown, array, sizeof(grown));
    grown = realloc(grown, wanted * size);
    if (!grown)
        return gt_err_nomem(err);
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return GT_OK;
}
