/* page_trials.c - the trials of pages that `tune report` wrote, as a text that can be learned from
 * (tuner/exchange/trials.h): a page has every trial's status, time and point, and is often all that
 * is left of a sweep.
 *
 *     build/tools/page-trials ARCH PAGE.html... | gzip -9n >NAME-trials.gz
 *
 * ARCH is the compute capability, such as 90, of all devices of the pages.  Pages have no clocks
 * and no signatures: the text says 0 and "page" instead. */
#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "exchange/recording.h"
#include "exchange/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define BEGIN "<script type=\"application/json\" id=\"data\">"

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(member(object, key));

    return text ? text : "";
}

/* A trial of a page: the index of its status, microseconds, and its point's values. */
static void add_trial(struct gt_strbuf *text, const cJSON *statuses, const cJSON *trial)
{
    const cJSON *value = trial->child;
    const char *status =
        value ? cJSON_GetStringValue(cJSON_GetArrayItem(statuses, value->valueint)) : NULL;
    struct gt_named_trial named = {.timing = 0};
    const char *between = "";

    if (!status || !value->next)
        return;
    named.trial.status = gt_status_parse(status);
    named.trial.us = value->next->valuedouble;
    if (!gt_trials_hold(&named) || (named.trial.status == GT_STATUS_OK && !(named.trial.us > 0)))
        return;
    for (const cJSON *v = value->next->next; v; v = v->next) {
        gt_strbuf_addf(text, "%s%.0f", between, v->valuedouble);
        between = ",";
    }
    gt_strbuf_addf(text, " %.6g 0 %s\n", named.trial.us, status);
}

/* The trials of one problem and kernel. */
static void add_space(struct gt_strbuf *text, int cc, const cJSON *statuses, const cJSON *space)
{
    const cJSON *item;
    const char *between = "";

    gt_strbuf_addf(text, "device %d %s\nproblem %s\nkernel %s page ", cc, text_of(space, "device"),
                   text_of(space, "problem"), text_of(space, "kernel"));
    cJSON_ArrayForEach(item, member(space, "names"))
    {
        gt_strbuf_addf(text, "%s%s", between, item->valuestring ? item->valuestring : "");
        between = ",";
    }
    gt_strbuf_add(text, "\n");
    cJSON_ArrayForEach(item, member(space, "trials")) add_trial(text, statuses, item);
}

static int add_page(struct gt_strbuf *text, int cc, const char *path, struct gt_err *err)
{
    struct gt_strbuf page = GT_STRBUF_INIT;
    int rc = gt_recording_read_text(&page, path, err);
    const char *begin = rc ? NULL : strstr(page.text, BEGIN);
    cJSON *data = begin ? cJSON_Parse(begin + strlen(BEGIN)) : NULL;
    const cJSON *space;

    if (!rc && !data)
        rc = gt_err_set(err, GT_EDB, "%s: no page that tune report wrote", path);
    cJSON_ArrayForEach(space, member(data, "spaces"))
        add_space(text, cc, member(data, "statuses"), space);
    cJSON_Delete(data);
    gt_strbuf_release(&page);
    return rc;
}

int main(int argc, char **argv)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_err err = {0};
    char digest[GT_DIGEST_HEX];
    const int cc = argc > 2 ? atoi(argv[1]) : 0;
    int rc = cc > 0 ? GT_OK
                    : gt_err_set(&err, GT_ESYNTAX,
                                 "page-trials ARCH PAGE.html...: ARCH is a number such as 90");

    for (int i = 2; i < argc && !rc; i++)
        rc = add_page(&text, cc, argv[i], &err);
    GT_STEP(rc, gt_strbuf_check(&text, &err));
    if (!rc) {
        gt_digest_bytes(text.text, text.length, digest);
        if (printf("%s%s\n%s", GT_TRIALS_MAGIC, digest, text.text) < 0 || fflush(stdout))
            rc = gt_err_set(&err, GT_EIO, "cannot write the trials");
    }
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    gt_strbuf_release(&text);
    return rc != GT_OK;
}
