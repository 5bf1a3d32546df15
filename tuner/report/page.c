/* page.c - puts the parts of the page together; see page.h. */
#include "report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/charts_js_page.h"
#include "report/page_css_page.h"
#include "report/page_energy_js_page.h"
#include "report/page_js_page.h"
#include "report/page_search_js_page.h"
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

static void put_page(FILE *file, const struct gt_page *page, const char *json)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n",
          file);
    if (page->reload_s > 0)
        fprintf(file, "<meta http-equiv=\"refresh\" content=\"%d\">\n", page->reload_s);
    fprintf(file, "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>%s</h1>\n",
            page->title, gt_page_css, page->title);
    fputs("<nav id=\"contents\" aria-label=\"Sections\"></nav>\n"
          "<main id=\"page\"><noscript>The pictures are drawn by a script, "
          "which this browser does not run.</noscript></main>\n"
          "<div id=\"tip\" role=\"status\" hidden></div>\n"
          "<script type=\"application/json\" id=\"data\">",
          file);
    put_data(file, json);
    fprintf(file, "</script>\n<script>\n%s", gt_charts_js);
    for (int i = 0; i < GT_PAGE_SCRIPTS && page->script[i]; i++)
        fputs(page->script[i], file);
    fputs("</script>\n</body>\n</html>\n", file);
}

int gt_page_write(FILE *file, const struct gt_page *page, const cJSON *data, struct gt_err *err)
{
    char *json = cJSON_PrintUnformatted(data);
    int rc = json ? GT_OK : gt_err_nomem(err);

    if (json)
        put_page(file, page, json);
    if (!rc && ferror(file))
        rc = gt_err_set(err, GT_EIO, "cannot write the page: %s", strerror(errno));
    cJSON_free(json);
    return rc;
}

int gt_report_write(FILE *file, const struct gt_report_request *request, struct gt_store *store,
                    struct gt_report_counts *counts, struct gt_err *err)
{
    const struct gt_page page = {
        "gemmtune report", {gt_page_js, gt_page_energy_js, gt_page_search_js}, request->reload_s};
    cJSON *data = NULL;
    int rc = gt_report_data(&data, request, store, counts, err);

    GT_STEP(rc, gt_page_write(file, &page, data, err));
    cJSON_Delete(data);
    return rc;
}
