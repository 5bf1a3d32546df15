/* trial.c - vocabulary: statuses and provenances as text. */
#include "problem/trial.h"

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

static const char *const timings[GT_TIMING_COUNT] = {
    [GT_TIMING_COLD] = "cold", [GT_TIMING_WARM] = "warm", [GT_TIMING_GRAPH] = "graph"};

const char *gt_timing_name(int timing)
{
    return (unsigned)timing < GT_TIMING_COUNT ? timings[timing] : "unknown";
}

bool gt_timing_parse(int *timing, const char *text)
{
    for (*timing = 0; *timing < GT_TIMING_COUNT; ++*timing)
        if (strcmp(timings[*timing], text) == 0)
            return true;
    return false;
}

static const char *const provenances[GT_PROVENANCE_COUNT] = {
    [GT_MEASURED] = "measured", [GT_PREDICTED] = "predicted", [GT_REPLAYED] = "replayed"};

const char *gt_provenance_name(enum gt_provenance provenance)
{
    return (unsigned)provenance < GT_PROVENANCE_COUNT ? provenances[provenance] : "unknown";
}

bool gt_provenance_parse(enum gt_provenance *provenance, const char *text)
{
    for (int i = 0; i < GT_PROVENANCE_COUNT; i++) {
        if (strcmp(provenances[i], text) == 0) {
            *provenance = (enum gt_provenance)i;
            return true;
        }
    }
    return false;
}
