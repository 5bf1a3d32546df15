/* cmd_json.c - how commands print a JSON document. */
#include "console/cmd_json.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/options.h"
#include "exchange/export_format.h"

static bool failed; /* cJSON's hooks have no argument that could hold it */

static void *allocate(size_t size)
{
    void *block = malloc(size);

    failed |= !block;
    return block;
}

static void release(void *block)
{
    free(block);
}

void gt_cmd_json_watch(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = release};

    failed = false;
    cJSON_InitHooks(&hooks);
}

/* Prints a text that cJSON has made, as UTF-8, and frees it; false: memory did not suffice. */
static bool put(FILE *out, char *text)
{
    struct gt_strbuf clean = GT_STRBUF_INIT;
    bool whole;

    gt_export_utf8(&clean, text ? text : "");
    whole = text && gt_strbuf_check(&clean, NULL) == GT_OK;
    for (size_t i = 0; whole && i < clean.length; i++)
        if (gt_is_control(clean.text, i) && clean.text[i] != '\n' && clean.text[i] != '\t')
            clean.text[i] = (unsigned char)clean.text[i] < 0x80 ? ' ' : (char)0xbf; /* U+00BF */
    if (whole)
        fprintf(out, "%s\n", clean.text);
    gt_strbuf_release(&clean);
    free(text);
    return whole;
}

int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err)
{
    char *text = json && !failed ? cJSON_Print(json) : NULL;

    cJSON_Delete(json);
    return put(cli->out, text) ? GT_OK : gt_err_nomem(err);
}

int gt_cmd_print_counts(const struct gt_cli *cli, const char *format,
                        const struct gt_json_count *count, size_t counts, struct gt_err *err)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddStringToObject(json, "format", format);
    for (size_t i = 0; i < counts; i++)
        cJSON_AddNumberToObject(json, count[i].key, (double)count[i].count);
    return gt_cmd_print_json(cli, json, err);
}

bool gt_cmd_json_error(FILE *out, const char *sentence, int code)
{
    cJSON *json;
    char *text;

    gt_cmd_json_watch();
    json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "error", sentence);
    cJSON_AddNumberToObject(json, "code", code);
    text = failed ? NULL : cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return put(out, text);
}
