/* page.c - puts the parts of the page together; see page.h. */
#include "report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/charts_js_page.h"
#include "report/page_css_page.h"
#include "report/page_js_page.h"
#include "report/report_data.h"

/* Inside a script, "</" would end it, and "<!--" begin a comment: every < of a foreign text goes.
 */
static void put_data(FILE *file, const char *json)
{
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", file);
        else
            fputc(*json, file);
    }
}

static void put_page(FILE *file, const struct gt_report_request *request, const char *json)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n",
          file);
    if (request->reload_s > 0)
        fprintf(file, "<meta http-equiv=\"refresh\" content=\"%d\">\n", request->reload_s);
    fprintf(file, "<title>gemmtune report</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            gt_page_css);
    fputs(
        "<h1>gemmtune report</h1>\n<main id=\"page\"><noscript>The pictures are drawn by a script, "
        "which this browser does not run.</noscript></main>\n"
        "<div id=\"tip\" role=\"status\" hidden></div>\n"
        "<script type=\"application/json\" id=\"data\">",
        file);
    put_data(file, json);
    fprintf(file, "</script>\n<script>\n%s%s</script>\n</body>\n</html>\n", gt_charts_js,
            gt_page_js);
}

int gt_report_write(FILE *file, const struct gt_report_request *request, struct gt_store *store,
                    size_t *compared, struct gt_err *err)
{
    cJSON *data = NULL;
    char *json = NULL;
    int rc = gt_report_data(&data, request, store, compared, err);

    if (!rc) {
        json = cJSON_PrintUnformatted(data);
        rc = json ? GT_OK : gt_err_nomem(err);
    }
    if (!rc)
        put_page(file, request, json);
    if (!rc && ferror(file))
        rc = gt_err_set(err, GT_EIO, "cannot write the report: %s", strerror(errno));
    cJSON_free(json);
    cJSON_Delete(data);
    return rc;
}
