/* cmd_session_problems.c - the problems that the options of a command name; see cmd_session.h. */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/options.h"
#include "exchange/recording.h"
#include "problem/problem.h"
#include "session/cmd_session.h"
#include "session/problemset.h"

/* ---- a part of the list (--shard): machines that do not talk to each other divide it ---- */

struct shard {
    uint64_t part, parts; /* from 0 */
};

/* Reads "i/parts"; text NULL: the whole list is part 1 of 1. */
static int read_shard(struct shard *shard, const char *text, struct gt_err *err)
{
    unsigned long long part = 1, of = 1;
    int length = 0;

    if (text && (sscanf(text, "%4llu/%4llu%n", &part, &of, &length) != 2 || text[length] ||
                 strspn(text, "0123456789/") != strlen(text) || part < 1 || part > of))
        return gt_err_set(err, GT_ESYNTAX,
                          "--shard \"%s\": expected a part and how many there are, such as 1/4 to "
                          "4/4, at most 9999",
                          text);
    *shard = (struct shard){part - 1, of};
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

/* The part for this task of a Slurm array (sbatch --array=1-8 has tasks 1 to 8 of 8; 0-14:2 has 8,
 * too).  An array of a single task is not split. */
static void take_slurm_shard(struct shard *shard, const struct gt_cli *cli)
{
    const long task = slurm_number("SLURM_ARRAY_TASK_ID", -1);
    const long count = slurm_number("SLURM_ARRAY_TASK_COUNT", 0);
    const long first = slurm_number("SLURM_ARRAY_TASK_MIN", 0);
    const long last = slurm_number("SLURM_ARRAY_TASK_MAX", first + count - 1);
    const long step = count > 1 && last > first ? (last - first) / (count - 1) : 1;

    if (task < first || count < 2 || step < 1 || (task - first) / step >= count)
        return;
    *shard = (struct shard){(uint64_t)((task - first) / step), (uint64_t)count};
    if (!cli->quiet)
        fprintf(cli->log, "task %ld of a Slurm array: part %lu/%ld of the problems (--shard)\n",
                task, (unsigned long)shard->part + 1, count);
}

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

/* Keeps the first of equal problems, with the sum of their weights, and drops problems whose
 * texts do not belong to the part.  A text belongs to the same part in every list.  weight may be
 * NULL. */
static int keep_shard(const struct shard *shard, struct gt_problem *problem, double *weight,
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

/* Appends ":<value>" or ":<key>=<value>" for an option that was given.  The parser reports an
 * option that contradicts the text. */
static void add_part(struct gt_strbuf *buf, const char *key, const char *value)
{
    if (value)
        gt_strbuf_addf(buf, ":%s%s", key, value);
}

/* What --dtype names besides types: 8 bits with factors, as programs multiply them. */
static const struct recipe {
    const char *name;
    enum gt_dtype type;
    const char *words; /* of a problem's text, behind the type */
} recipes[] = {
    {"fp8-tensor", GT_E4M3, "scale_a=tensor:scale_b=tensor"},
    {"fp8-vector", GT_E4M3, "scale_a=vector:scale_b=vector"},
    {"fp8-blocks", GT_E4M3, "scale_a=1x128:scale_b=128x128"},
    {"int8-vector", GT_S8, "out=bf16:scale_a=vector:scale_b=vector"},
};
enum { RECIPES = sizeof(recipes) / sizeof(*recipes) };

static const struct recipe *find_recipe(const char *dtype)
{
    for (size_t i = 0; dtype && i < RECIPES; i++)
        if (strcasecmp(recipes[i].name, dtype) == 0)
            return &recipes[i];
    return NULL;
}

int gt_session_complete(struct gt_problem *problem, const char *text,
                        const struct gt_problem_options *options, struct gt_err *err)
{
    const struct recipe *recipe = find_recipe(options->dtype);
    struct gt_strbuf buf = GT_STRBUF_INIT;
    int rc;

    if (gt_ranges_any(text))
        return gt_err_set(err, GT_ESYNTAX,
                          "problem \"%.100s\": one problem is needed here, no list or range", text);
    gt_strbuf_add(&buf, text);
    add_part(&buf, "", recipe ? gt_dtype_name(recipe->type) : options->dtype);
    add_part(&buf, "", recipe ? recipe->words : NULL);
    add_part(&buf, "", options->layout);
    add_part(&buf, "accuracy=", options->accuracy);
    add_part(&buf, "beta=", options->beta);
    add_part(&buf, "epi=", options->epilogue);
    add_part(&buf, "batch=", options->batch);
    rc = gt_strbuf_check(&buf, err);
    GT_STEP(rc, gt_problem_parse(problem, buf.text, err));
    gt_strbuf_release(&buf);
    return rc;
}

/* The same for a problem to tune, whose D must have elements. */
static int complete_to_tune(struct gt_problem *problem, const char *text,
                            const struct gt_problem_options *options, struct gt_err *err)
{
    int rc = gt_session_complete(problem, text, options, err);

    if (!rc && (!problem->m || !problem->n)) /* K may be 0: D is then made of C and bias alone */
        rc = gt_err_set(err, GT_ERANGE,
                        "problem \"%s\": D has no elements, so there is nothing to tune", text);
    return rc;
}

static int read_dtype(enum gt_dtype *type, const char *text, struct gt_err *err)
{
    static const char *const names[] = {"f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "s8"};
    const struct recipe *recipe = find_recipe(text);
    const char *near = strcasecmp(text, "fp8") == 0
                           ? "e4m3, e5m2, fp8-tensor, fp8-vector or fp8-blocks"
                           : gt_near(text, strlen(text), names, sizeof(names) / sizeof(names[0]));

    if (recipe)
        *type = recipe->type;
    if (recipe || gt_dtype_parse(type, text, strlen(text)))
        return GT_OK;
    return gt_err_set(
        err, GT_ENOTFOUND,
        "--dtype \"%s\" is not a type; there are f32 tf32 f16 bf16 e4m3 e5m2 s8%s%s%s", text,
        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Takes a problem of a file and replaces its type and accuracy if the options name others, so that
 * one set of shapes serves every type. */
static int problem_of_set(struct gt_problem *problem, const struct gt_problem_entry *entry,
                          const struct gt_problem_options *options, struct gt_err *err)
{
    const struct recipe *recipe = find_recipe(options->dtype);
    struct gt_problem_options rest = *options;
    enum gt_dtype type;
    int rc;

    rest.dtype = rest.accuracy = NULL;
    rc = complete_to_tune(problem, entry->text, &rest, err);
    if (!rc && options->dtype)
        rc = read_dtype(&type, options->dtype, err);
    if (rc)
        return rc;
    if (options->dtype)
        gt_problem_retype(problem, type);
    if (recipe) {
        char plain[GT_PROBLEM_TEXT_MAX], scaled[GT_PROBLEM_TEXT_MAX + 100];

        gt_problem_format(problem, plain);
        snprintf(scaled, sizeof(scaled), "%s:%s", plain, recipe->words);
        rc = gt_problem_parse(problem, scaled, err);
        if (rc)
            return rc;
    }
    if (options->accuracy &&
        !gt_accuracy_parse(&problem->accuracy, options->accuracy, strlen(options->accuracy)))
        return gt_err_set(err, GT_ENOTFOUND,
                          "--accuracy \"%s\" is not an accuracy; there are strict f32 tf32 low",
                          options->accuracy);
    return gt_problem_check(problem, err);
}

/* The problems that --shape names, with lists and ranges expanded. */
struct shapes {
    char **text;
    size_t count;
};

static int add_shape(void *context, const char *text, struct gt_err *err)
{
    struct shapes *shapes = context;
    char **list = realloc(shapes->text, (shapes->count + 1) * sizeof(*list));

    if (!list)
        return gt_err_nomem(err);
    shapes->text = list;
    list[shapes->count] = strdup(text);
    return list[shapes->count++] ? GT_OK : gt_err_nomem(err);
}

static void release_shapes(struct shapes *shapes)
{
    for (size_t i = 0; i < shapes->count; i++)
        free(shapes->text[i]);
    free(shapes->text);
}

/* Problem i: problems of --shape come first, then problems of the --shapes file, then drawn
 * problems. */
static int problem_at(struct gt_problem *problem, const struct gt_problem_options *options,
                      const struct shapes *shapes, const struct gt_problemset *set, size_t i,
                      struct gt_err *err)
{
    int rc;

    if (i < shapes->count)
        return complete_to_tune(problem, shapes->text[i], options, err);
    rc = problem_of_set(problem, &set->entry[i - shapes->count], options, err);
    return rc && options->shapes ? gt_err_prefix(err, rc, "%s", options->shapes) : rc;
}

/* Takes the recording's own problem if the user names none. */
static int recorded_problem(const struct gt_cli *cli, const struct gt_session *session,
                            struct gt_problem **problem, size_t *count, struct gt_err *err)
{
    const struct gt_recording *recording = session ? session->evaluator->recording : NULL;

    if (!recording)
        return gt_err_set(err, GT_ESYNTAX,
                          "no problem given, such as 4096x4096x4096; usage: tune %s; tune --help "
                          "lists options and commands",
                          cli->usage);
    if (!*recording->problem)
        return gt_err_set(
            err, GT_ESYNTAX,
            "the recording does not say which problem it is of: name it with --shape");
    *problem = calloc(1, sizeof(**problem));
    if (!*problem)
        return gt_err_nomem(err);
    *count = 1;
    return gt_problem_parse(*problem, recording->problem, err);
}

/* Loads the problems of --shapes, --model and --random; the caller releases the set in any case. */
static int load_set(struct gt_problemset *set, const struct gt_problem_options *options,
                    const struct gt_cli *cli, struct gt_err *err)
{
    const char *data_dir = cli->data_dir;
    char *path = NULL;
    int rc = options->shapes ? gt_problemset_find(&path, options->shapes, data_dir, err) : GT_OK;

    if (!rc && path)
        rc = gt_problemset_load(set, path, err);
    if (!rc && set->remark && !cli->quiet)
        fprintf(cli->log, "%s\n", set->remark);
    free(path);
    if (!rc && options->rows && !options->model)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "--rows %s: only the layers of a model have rows; name it with --model",
                        options->rows);
    if (!rc && options->model)
        rc = gt_model_problems(set, data_dir, options->model,
                               options->rows ? options->rows : "1:8192:x2", err);
    if (!rc && options->random)
        rc = gt_random_problems(set, data_dir, options->family, (size_t)options->random,
                                options->seed ? (uint64_t)options->seed : GT_SEED_DEFAULT, err);
    return rc;
}

static int list_problems(struct gt_problem **problem, double **weight, size_t *count,
                         const struct shapes *shapes, const struct gt_problemset *set,
                         const struct gt_problem_options *options, const struct gt_cli *cli,
                         struct gt_err *err)
{
    const size_t all = shapes->count + set->count;
    struct shard shard = {0, 1};
    int rc = read_shard(&shard, options->shard, err);

    if (rc)
        return rc;
    if (!options->shard && set->count)
        take_slurm_shard(&shard, cli);
    *problem = calloc(all, sizeof(**problem));
    if (weight)
        *weight = calloc(all, sizeof(**weight));
    if (!*problem || (weight && !*weight))
        return gt_err_nomem(err);
    for (size_t i = 0; i < all && !rc; i++) {
        if (weight)
            (*weight)[i] = i < shapes->count ? 1 : set->entry[i - shapes->count].weight;
        rc = problem_at(&(*problem)[i], options, shapes, set, i, err);
    }
    *count = all;
    GT_STEP(rc, keep_shard(&shard, *problem, weight ? *weight : NULL, count, err));
    if (!rc && !*count)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "--shard %lu/%lu: none of the %zu problems is in it",
                        (unsigned long)shard.part + 1, (unsigned long)shard.parts, all);
    return rc;
}

int gt_session_argument(struct gt_problem_options *options, char *text, struct gt_err *err)
{
    const bool problem =
        isdigit((unsigned char)*text) && strpbrk(text, "xX*,") && !strchr(text, '.');

    if (problem && access(text, F_OK) != 0 && options->shape.count < GT_MAX_TEXTS) {
        options->shape.text[options->shape.count++] = text;
        return GT_OK;
    }
    if (options->shapes)
        return gt_err_set(err, GT_ESYNTAX, "both %s and --shapes %s name a set; give one of them",
                          text, options->shapes);
    if (options->shape.count)
        return gt_err_set(err, GT_ESYNTAX,
                          "%s names a set, and --shape %s a problem; give one of them, or "
                          "--shapes %s to have both",
                          text, options->shape.text[0], text);
    options->shapes = text;
    return GT_OK;
}

int gt_session_problems(const struct gt_cli *cli, const struct gt_session *session,
                        struct gt_problem **problem, double **weight, size_t *count,
                        const struct gt_problem_options *options, struct gt_err *err)
{
    struct gt_problemset set = {0};
    struct shapes shapes = {0};
    int rc = load_set(&set, options, cli, err);

    *problem = NULL;
    if (weight)
        *weight = NULL;
    *count = 0;
    if (!rc && !options->shape.count && !set.count)
        return recorded_problem(cli, session, problem, count, err);
    for (size_t i = 0; i < options->shape.count && !rc; i++)
        rc = gt_ranges_expand(options->shape.text[i], add_shape, &shapes, err);
    GT_STEP(rc, list_problems(problem, weight, count, &shapes, &set, options, cli, err));
    release_shapes(&shapes);
    gt_problemset_release(&set);
    if (rc) {
        free(*problem);
        *problem = NULL;
        if (weight) {
            free(*weight);
            *weight = NULL;
        }
        *count = 0;
    }
    return rc;
}
