/* cmd_json.c - how commands print a JSON document. */
#include "commands/cmd_json.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "commands/options.h"

int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err)
{
    char *text = json ? cJSON_Print(json) : NULL;

    cJSON_Delete(json);
    if (!text)
        return gt_err_nomem(err);
    fprintf(cli->out, "%s\n", text);
    free(text);
    return GT_OK;
}
