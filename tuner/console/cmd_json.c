/* cmd_json.c - how commands print a JSON document. */
#include "console/cmd_json.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "console/options.h"

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

int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err)
{
    char *text = json && !failed ? cJSON_Print(json) : NULL;

    cJSON_Delete(json);
    if (!text)
        return gt_err_nomem(err);
    fprintf(cli->out, "%s\n", text);
    free(text);
    return GT_OK;
}
