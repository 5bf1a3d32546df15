/* report_data.h - the data of a page as one JSON document; between page.c and report_data.c. */
#ifndef GT_REPORT_DATA_H
#define GT_REPORT_DATA_H

#include <cjson/cJSON.h>

#include "report/page.h"

/* *data is to be freed with cJSON_Delete, also after a failure. */
int gt_report_data(cJSON **data, const struct gt_report_request *request, struct gt_store *store,
                   struct gt_report_counts *counts, struct gt_err *err);

#endif
