/* cmd_cache.c - tune cache: prints the size of the cache of compiled kernels, and makes the cache
 * smaller. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "base/err.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/options.h"
#include "cuda/cache.h"

struct options {
    const char *limit;
    bool clear;
};

static const struct gt_option option_table[] = {
    GT_TEXT(
        options, limit, "limit", 0, "SIZE",
        "remove what was not used for the longest time until at most this is left, as 500M or 2G"),
    GT_FLAG(options, clear, "clear", 0, "remove every compiled kernel"),
    GT_OPTIONS_END,
};

static int print_json(const struct gt_cli *cli, const char *dir, const struct gt_cache_usage *usage,
                      int64_t limit, struct gt_err *err)
{
    return gt_cmd_print_members(cli, err, "format=%s folder=%s entries=%g bytes=%g limit=%g",
                                "gemmtune cache 1", dir, (double)usage->entries,
                                (double)usage->bytes, (double)limit);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_cache_usage usage;
    int64_t limit, wanted;
    char *dir = NULL;
    int rc;

    rc = gt_cache_limit(&limit, err);
    wanted = limit;
    if (!rc && options->limit)
        rc = gt_cache_parse_size(&wanted, options->limit, err);
    GT_STEP(rc, gt_cache_dir(&dir, err));
    GT_STEP(rc, gt_cache_trim(dir, options->clear ? 0 : wanted, &usage, err));
    if (!rc && cli->json)
        rc = print_json(cli, dir, &usage, limit, err);
    else if (!rc)
        fprintf(cli->out, "%s: %lld compiled kernel%s, %.1f MiB of at most %.1f MiB\n", dir,
                (long long)usage.entries, usage.entries == 1 ? "" : "s",
                (double)usage.bytes / (1 << 20), (double)limit / (1 << 20));
    free(dir);
    return rc;
}

const struct gt_command gt_command_cache = {
    .name = "cache",
    .doc = "show the size of the cache of compiled kernels, or make it smaller",
    .usage = "cache [--limit SIZE] [--clear]",
    .about =
        "Compiled kernels are kept in $GEMMTUNE_CACHE, else $XDG_CACHE_HOME/gemmtune, else\n"
        "~/.cache/gemmtune. Beyond $GEMMTUNE_CACHE_LIMIT (default: 2G) those that were not used\n"
        "for the longest time are removed. What is missing is compiled again.\n"
        "\n"
        "  tune cache --limit 500M\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .needs_no_data = true,
    .run = run,
};
