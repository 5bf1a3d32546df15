/* trial.c - vocabulary: the statuses as text. */
#include "trial.h"

#include <string.h>

static const struct {
    const char *name;
    bool final;
} statuses[GT_STATUS_COUNT] = {[GT_STATUS_NONE] = {"none", false},
#define STATUS_ROW(name, text, final) [GT_STATUS_##name] = {text, final},
                               GT_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

const char *gt_status_name(enum gt_status status)
{
    return (unsigned)status < GT_STATUS_COUNT ? statuses[status].name : "unknown";
}

bool gt_status_final(enum gt_status status)
{
    return (unsigned)status < GT_STATUS_COUNT && statuses[status].final;
}

enum gt_status gt_status_parse(const char *text)
{
    for (int i = 1; i < GT_STATUS_COUNT; i++)
        if (!strcmp(statuses[i].name, text))
            return (enum gt_status)i;
    return GT_STATUS_NONE;
}
