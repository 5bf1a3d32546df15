/* shard.c - see shard.h. */
#include "session/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "console/options.h"
#include "problem/problem.h"

int gt_shard_read(struct gt_shard *shard, const char *text, struct gt_err *err)
{
    unsigned long long part = 1, of = 1;
    int length = 0;

    if (text && (sscanf(text, "%4llu/%4llu%n", &part, &of, &length) != 2 || text[length] ||
                 strspn(text, "0123456789/") != strlen(text) || part < 1 || part > of))
        return gt_err_set(err, GT_ESYNTAX,
                          "--shard \"%s\": expected a part and how many there are, such as 1/4 to "
                          "4/4, at most 9999",
                          text);
    *shard = (struct gt_shard){part - 1, of};
    return GT_OK;
}

/* Reads a number from Slurm's environment; `absent` if the variable is missing or holds something
 * else. */
static long slurm_number(const char *name, long absent)
{
    const char *text = getenv(name);
    char *end = NULL;
    long value = text && *text ? strtol(text, &end, 10) : absent;

    return end && *end ? absent : value;
}

void gt_shard_slurm(struct gt_shard *shard, const struct gt_cli *cli)
{
    const long task = slurm_number("SLURM_ARRAY_TASK_ID", -1);
    const long count = slurm_number("SLURM_ARRAY_TASK_COUNT", 0);
    const long first = slurm_number("SLURM_ARRAY_TASK_MIN", 0);
    const long last = slurm_number("SLURM_ARRAY_TASK_MAX", first + count - 1);
    const long step = count > 1 && last > first ? (last - first) / (count - 1) : 1;

    if (task < first || count < 2 || step < 1 || (task - first) / step >= count)
        return;
    *shard = (struct gt_shard){(uint64_t)((task - first) / step), (uint64_t)count};
    if (!cli->quiet)
        fprintf(cli->log, "task %ld of a Slurm array: part %lu/%ld of the problems (--shard)\n",
                task, (unsigned long)shard->part + 1, count);
}

/* A problem's text and its place in the list. */
struct named {
    char text[GT_PROBLEM_TEXT_MAX];
    size_t place;
};

static int by_text(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    int order = strcmp(one->text, other->text);

    return order ? order : (one->place > other->place) - (one->place < other->place);
}

int gt_shard_keep(const struct gt_shard *shard, struct gt_problem *problem, double *weight,
                  size_t *count, struct gt_err *err)
{
    struct named *named = calloc(*count, sizeof(*named));
    bool *keep = calloc(*count, sizeof(*keep));
    size_t kept = 0;

    if (named && keep) {
        for (size_t at = 0; at < *count; at++) {
            gt_problem_format(&problem[at], named[at].text);
            named[at].place = at;
        }
        qsort(named, *count, sizeof(*named), by_text);
        for (size_t at = 0, first = 0; at < *count; at++) {
            if (at && strcmp(named[at].text, named[first].text) == 0) {
                if (weight)
                    weight[named[first].place] += weight[named[at].place];
                continue;
            }
            first = at;
            keep[named[at].place] =
                gt_digest_number(named[at].text, strlen(named[at].text), 0) % shard->parts ==
                shard->part;
        }
        for (size_t at = 0; at < *count; at++) {
            if (!keep[at])
                continue;
            problem[kept] = problem[at];
            if (weight)
                weight[kept] = weight[at];
            kept++;
        }
        *count = kept;
    }
    free(keep);
    free(named);
    return keep && named ? GT_OK : gt_err_nomem(err);
}
