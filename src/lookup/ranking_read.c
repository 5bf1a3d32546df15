/* ranking_read.c - stage: reads a ranking (README.md of this folder has the format).  A ranking may
 * be damaged or come from elsewhere: its digest and every number are checked, and its kernels,
 * points and columns are compared with the kernels that are there.  See ranking.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "lookup/ranking.h"
#include "problem/problem.h"

/* Most nodes of all trees of a kernel: a distance between nodes has 16 bits. */
#define MAX_NODES 60000

/* The state of reading the file. */
struct reading {
    struct gt_ranking *ranking;
    const struct gt_kernels *kernels;
    const char *path;
    int line;
    const struct gt_kernel *kernel; /* of the following lines; NULL: it no longer exists */
    bool named;                     /* a line has named a kernel */
};

static int fail(const struct reading *reading, const char *what, struct gt_err *err)
{
    return gt_err_set(err, GT_EDB, "%s:%d: %s", reading->path, reading->line, what);
}

/* Cuts off the next word; NULL if there is none. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    size_t length = strcspn(word, " ");

    if (!length)
        return NULL;
    *at = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

/* Reads a short decimal number, as nearly all numbers of a ranking are, in a third of strtod's time
 * and with strtod's result: a quotient of two numbers that a double holds exactly is rounded once.
 * False: the number is longer, has an exponent, or the text is no number. */
static bool read_short(const char *text, double *value)
{
    static const double power[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool minus = *text == '-';
    int64_t digits = 0;
    int count = 0, after = 0;
    bool point = false;

    for (text += minus; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && count < 15) {
            digits = 10 * digits + (*text - '0');
            count++;
            after += point;
        } else {
            return false;
        }
    }
    *value = (minus ? -1 : 1) * (double)digits / power[after];
    return count > 0;
}

static bool read_number(const char *text, double *value)
{
    char *end;

    if (read_short(text, value))
        return true;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && fabs(*value) < 1e30;
}

static int read_arch(struct reading *reading, char *rest, struct gt_err *err)
{
    const char *word = next_word(&rest);
    double cc;

    if (!word || !read_number(word, &cc) || cc != floor(cc) || cc < 10 || cc > 999 ||
        next_word(&rest))
        return fail(reading, "an arch is a number such as 90", err);
    reading->ranking->cc = (int)cc;
    return GT_OK;
}

/* "device NAME": the rest of the line. */
static int read_device(struct reading *reading, char *rest, struct gt_err *err)
{
    struct gt_ranking *ranking = reading->ranking;
    const size_t length = strlen(rest);

    if (!length || length >= sizeof(ranking->device))
        return fail(reading, "a device is a name of at most 95 bytes", err);
    memcpy(ranking->device, rest, length + 1);
    return GT_OK;
}

/* "facts SMS GBPS" */
static int read_facts(struct reading *reading, char *rest, struct gt_err *err)
{
    double value[2];

    for (int i = 0; i < 2; i++) {
        const char *word = next_word(&rest);

        if (!word || !read_number(word, &value[i]) || value[i] < 1 || value[i] > 1e7)
            return fail(reading, "facts are a number of SMs and of GB/s", err);
    }
    reading->ranking->sms = (int)value[0];
    reading->ranking->memory_gbps = value[1];
    return GT_OK;
}

static bool parse_kind(const char *text, size_t *kind)
{
    const char *slash = strchr(text, '/');
    enum gt_accuracy accuracy;
    enum gt_dtype type;

    if (!slash || !gt_dtype_parse(&type, text, (size_t)(slash - text)) ||
        !gt_accuracy_parse(&accuracy, slash + 1, strlen(slash + 1)))
        return false;
    *kind = (size_t)type * 4 + (size_t)accuracy;
    return true;
}

/* "loss bf16/low MEAN P90 PROBLEMS" */
static int read_loss(struct reading *reading, char *rest, struct gt_err *err)
{
    const char *word = next_word(&rest);
    double value[3];
    size_t kind;

    if (!word || !parse_kind(word, &kind))
        return fail(reading, "a kind is TYPE/ACCURACY, such as bf16/low", err);
    for (int i = 0; i < 3; i++) {
        word = next_word(&rest);
        if (!word || !read_number(word, &value[i]) || value[i] < 0 || value[i] > 1e6)
            return fail(reading, "a loss is a mean, a 90 % quantile and a count of problems", err);
    }
    reading->ranking->loss[kind] = (struct gt_ranking_loss){value[0], value[1], (size_t)value[2]};
    return next_word(&rest) ? fail(reading, "a loss has three numbers", err) : GT_OK;
}

static int read_kernel(struct reading *reading, char *rest, struct gt_err *err)
{
    const char *word = next_word(&rest);

    if (!word || next_word(&rest))
        return fail(reading, "a kernel is one name", err);
    reading->kernel = gt_kernels_find(reading->kernels, word, NULL);
    reading->named = true;
    return GT_OK;
}

/* "point bf16/low,f16/low BM=128,..." */
static int read_point(struct reading *reading, char *rest, struct gt_err *err)
{
    struct gt_ranking *ranking = reading->ranking;
    char *kinds = next_word(&rest), *point = next_word(&rest), *comma;
    struct gt_prototype prototype = {.kernel = reading->kernel};

    if (!kinds || !point || next_word(&rest))
        return fail(reading, "a point is its kinds and NAME=value,...", err);
    for (; kinds; kinds = comma) {
        size_t kind;

        comma = strchr(kinds, ',');
        if (comma)
            *comma++ = '\0';
        if (!parse_kind(kinds, &kind))
            return fail(reading, "a kind is TYPE/ACCURACY, such as bf16/low", err);
        gt_kinds_add(&prototype.kinds, kind);
    }
    if (!reading->kernel || gt_point_parse(&prototype.point, reading->kernel, point, NULL))
        return GT_OK; /* the point no longer exists */
    if (ranking->prototypes == GT_RANKING_PROTOTYPES)
        return fail(reading, "more points than a look-up could go through", err);
    if (GT_ARRAY_RESERVE(&ranking->prototype, ranking->prototypes + 1, &ranking->prototype_capacity,
                         err))
        return GT_ENOMEM;
    ranking->prototype[ranking->prototypes++] = prototype;
    return GT_OK;
}

/* The column of that name; -1 if it no longer exists. */
static short find_column(const struct gt_kernel *kernel, const char *name)
{
    for (size_t i = 0; kernel && i < GT_TERM_COUNT + kernel->names.count; i++)
        if (strcmp(gt_ranking_column_name(kernel, i), name) == 0)
            return (short)i;
    return -1;
}

/* "columns us waves M ...": begins the trees of the kernel. */
static int read_columns(struct reading *reading, char *rest, struct gt_err *err)
{
    struct gt_ranking *ranking = reading->ranking;
    struct gt_ranking_model *model;
    const char *word;

    if (GT_ARRAY_RESERVE(&ranking->model, ranking->models + 1, &ranking->model_capacity, err))
        return GT_ENOMEM;
    model = &ranking->model[ranking->models++];
    *model = (struct gt_ranking_model){.kernel = reading->kernel};
    while ((word = next_word(&rest))) {
        if (model->columns == GT_RANKING_COLUMNS)
            return fail(reading, "too many columns", err);
        model->source[model->columns++] = find_column(reading->kernel, word);
    }
    return GT_OK;
}

/* Parses a node: "=VALUE" is a leaf, "COLUMN<VALUE" is an inner node. */
static bool parse_node(const char *word, size_t columns, struct gt_ranking_node *node)
{
    double value;
    char *end;
    unsigned long column;

    *node = (struct gt_ranking_node){.column = -1};
    if (*word != '=') {
        column = *word >= '0' && *word <= '9' ? strtoul(word, &end, 10) : columns;
        if (column >= columns || *end != '<')
            return false;
        node->column = (short)column;
        word = end;
    }
    if (!read_number(word + 1, &value))
        return false;
    node->value = (float)value;
    return true;
}

/* Gives all leaves below the step the value. */
static void fill_leaves(struct gt_ranking_steps *steps, size_t step, float value)
{
    size_t count = 1;

    for (; step < GT_RANKING_INNER; step = 2 * step + 1)
        count *= 2;
    while (count--)
        steps->leaf[step - GT_RANKING_INNER + count] = value;
}

/* Reads a tree, whose nodes come in preorder.  open[]: the inner nodes above the present one that
 * still lack their right subtree, and their steps. */
static int read_tree(struct reading *reading, char *rest, struct gt_err *err)
{
    struct gt_ranking *ranking = reading->ranking;
    struct gt_ranking_model *model = ranking->models ? &ranking->model[ranking->models - 1] : NULL;
    const size_t first = model ? model->nodes : 0;
    size_t open[GT_RANKING_DEPTH], step[GT_RANKING_DEPTH], at = 0, depth = 0;
    struct gt_ranking_steps *steps;
    const char *word;
    bool done = false;

    if (!model || model->kernel != reading->kernel)
        return fail(reading, "a tree comes after the columns of its kernel", err);
    if (GT_ARRAY_RESERVE(&model->steps, model->trees + 1, &model->steps_capacity, err))
        return GT_ENOMEM;
    steps = memset(&model->steps[model->trees++], 0, sizeof(*steps));
    while ((word = next_word(&rest))) {
        struct gt_ranking_node node;

        if (done || !parse_node(word, model->columns, &node))
            return fail(reading, "a tree is made of =VALUE and COLUMN<VALUE, one root in all", err);
        if (model->nodes == MAX_NODES || (node.column >= 0 && at >= GT_RANKING_INNER))
            return fail(reading, "too many nodes, or too deep a tree", err);
        if (GT_ARRAY_RESERVE(&model->node, model->nodes + 1, &model->capacity, err))
            return GT_ENOMEM;
        model->node[model->nodes++] = node;
        if (node.column >= 0) {
            steps->step[at].column = (unsigned)node.column;
            steps->step[at].below = node.value;
            open[depth] = model->nodes - 1;
            step[depth++] = at;
            at = 2 * at + 1;
            continue;
        }
        fill_leaves(steps, at, node.value);
        done = !depth;
        if (depth--) {
            model->node[open[depth]].right = (unsigned short)(model->nodes - open[depth]);
            at = 2 * step[depth] + 2;
        }
    }
    if (!done)
        return fail(reading, "the tree is cut off", err);
    gt_ranking_end_tree(model->node + first, model->nodes - first);
    return GT_OK;
}

static int read_line(struct reading *reading, char *line, struct gt_err *err)
{
    static const struct {
        const char *word;
        bool of_kernel;
        int (*read)(struct reading *, char *, struct gt_err *);
    } kind[] = {
        {"arch", false, read_arch},      {"device", false, read_device},
        {"facts", false, read_facts},    {"loss", false, read_loss},
        {"kernel", false, read_kernel},  {"point", true, read_point},
        {"columns", true, read_columns}, {"tree", true, read_tree},
    };
    const char *word = next_word(&line);

    for (size_t i = 0; word && i < sizeof(kind) / sizeof(kind[0]); i++)
        if (strcmp(kind[i].word, word) == 0)
            return kind[i].of_kernel && !reading->named
                       ? fail(reading, "no kernel is named before", err)
                       : kind[i].read(reading, line, err);
    return fail(reading,
                "a line begins with arch, device, facts, loss, kernel, point, columns or tree",
                err);
}

static const struct gt_digested kind = {GT_RANKING_MAGIC, "is no gemmtune ranking of this version",
                                        "make it again with `tune doctor --predictor --learn`"};

/* Parses the body, which is NUL-terminated and is cut into words in place. */
static int parse_body(struct reading *reading, char *body, struct gt_err *err)
{
    const locale_t before = gt_locale_enter();
    int code = GT_OK;

    for (reading->line = 2; !code && *body; reading->line++) {
        char *end = strchr(body, '\n');

        if (!end) {
            code = fail(reading, "the last line is cut off", err);
            break;
        }
        *end = '\0';
        code = read_line(reading, body, err);
        body = end + 1;
    }
    gt_locale_leave(before);
    if (!code && !reading->ranking->cc)
        code = fail(reading, "no arch is named", err);
    return code;
}

int gt_ranking_parse(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                     const char *text, size_t length, struct gt_err *err)
{
    struct reading reading = {.ranking = ranking, .kernels = kernels, .path = path};
    char *body = NULL;
    int code = gt_digest_body(&body, &kind, path, text, length, err);

    if (code)
        return code;
    code = parse_body(&reading, body, err);
    free(body);
    if (code)
        gt_ranking_release(ranking);
    return code;
}

int gt_ranking_load(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                    struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int code = gt_strbuf_add_file(&text, path, err);

    GT_STEP(code, gt_ranking_parse(ranking, kernels, path, text.text, text.length, err));
    gt_strbuf_release(&text);
    return code;
}

void gt_ranking_release(struct gt_ranking *ranking)
{
    for (size_t i = 0; i < ranking->models; i++) {
        free(ranking->model[i].node);
        free(ranking->model[i].steps);
    }
    free(ranking->model);
    free(ranking->prototype);
    *ranking = (struct gt_ranking){0};
}

/* ---- the rankings of several devices ---- */

/* Adds the ranking of a file.  If the file cannot be used and is the first such file, the sentence
 * is kept. */
static int add(struct gt_rankings *rankings, const struct gt_kernels *kernels, const char *path,
               struct gt_err *err)
{
    struct gt_ranking ranking = {.cc = 0};
    struct gt_err why;
    int code = GT_ARRAY_RESERVE(&rankings->ranking, rankings->count + 1, &rankings->capacity, err);

    if (code)
        return code;
    code = gt_ranking_load(&ranking, kernels, path, &why);
    if (!code)
        rankings->ranking[rankings->count++] = ranking;
    else if (code != GT_ENOMEM && !rankings->damage)
        rankings->damage = strdup(why.msg);
    return !code || (code != GT_ENOMEM && rankings->damage) ? GT_OK : gt_err_nomem(err);
}

int gt_rankings_add(struct gt_rankings *rankings, const struct gt_kernels *kernels,
                    char *const *path, size_t paths, struct gt_err *err)
{
    int code = GT_OK;

    for (size_t i = 0; i < paths && !code; i++)
        code = add(rankings, kernels, path[i], err);
    return code;
}

void gt_rankings_release(struct gt_rankings *rankings)
{
    for (size_t i = 0; i < rankings->count; i++)
        gt_ranking_release(&rankings->ranking[i]);
    free(rankings->ranking);
    free(rankings->damage);
    *rankings = (struct gt_rankings){.count = 0};
}

/* How much the device differs from the one that the ranking was learned on; infinite where the file
 * does not say. */
static double distance(const struct gt_ranking *ranking, const struct gt_device *device)
{
    return fabs(log(device->sms) - log(ranking->sms)) +
           fabs(log(device->memory_gbps) - log(ranking->memory_gbps));
}

const struct gt_ranking *gt_rankings_for(const struct gt_rankings *rankings,
                                         const struct gt_device *device, const char *name)
{
    const struct gt_ranking *best = NULL;

    for (size_t i = 0; i < rankings->count; i++) {
        const struct gt_ranking *ranking = &rankings->ranking[i];

        if (ranking->cc != device->cc)
            continue;
        if (!*ranking->device || (name && gt_device_same(ranking->device, name)))
            return ranking;
        if (!best || distance(ranking, device) < distance(best, device))
            best = ranking;
    }
    return best;
}
