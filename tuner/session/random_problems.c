/* random_problems.c - vocabulary: problems of sizes that programs have, drawn, or the layers of a
 * model; see problemset.h.
 *
 * A type is drawn first, then a family of problems, then the problem itself.  A problem that is too
 * large for a benchmark is drawn again in the same family.  The tables below hold the shares. */
#include "session/problemset.h"

#include "base/err.h"
#include "base/json.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "problem/problem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LIST  64 /* entries of one list of models.json */
#define MOST_BYTES ((int64_t)1 << 31)

struct sizes {
    int64_t value[MOST_LIST];
    size_t count;
};

struct model {
    char name[40];
    bool gate; /* the feed-forward layer has one, as wide as its values */
    int64_t hidden, ffn, qkv, heads, head, vocabulary;
};

struct source {
    struct sizes rows, lengths, round;
    struct model model[MOST_LIST];
    size_t models;
};

struct draw {
    const struct source *source;
    struct gt_random random;
    int64_t m, n, k, batch;
    unsigned layout; /* trans_a * 2 + trans_b */
};

enum { LAYOUT_NN, LAYOUT_NT, LAYOUT_TN };

static int64_t below(struct draw *draw, int64_t bound)
{
    return (int64_t)gt_random_below(&draw->random, (uint64_t)bound);
}

static int64_t one_of(struct draw *draw, const struct sizes *sizes)
{
    return sizes->value[below(draw, (int64_t)sizes->count)];
}

static const struct model *any_model(struct draw *draw)
{
    return &draw->source->model[below(draw, (int64_t)draw->source->models)];
}

static int64_t any_rows(struct draw *draw)
{
    return below(draw, 5) ? one_of(draw, &draw->source->rows) : 1 + below(draw, 9000);
}

/* The inputs and outputs of a model's layers: queries, keys and values together, attention's
 * output, the feed-forward layer, the way down, the vocabulary. */
enum { LAYERS = 5 };
static void layers_of(const struct model *model, int64_t layer[LAYERS][2])
{
    const int64_t attended = model->heads * model->head;

    memcpy(layer,
           (const int64_t[LAYERS][2]){{model->hidden, model->qkv},
                                      {attended, model->hidden},
                                      {model->hidden, model->ffn},
                                      {model->ffn, model->hidden},
                                      {model->hidden, model->vocabulary}},
           LAYERS * sizeof(*layer));
}

/* Draws inputs and outputs of a layer of the model; the vocabulary half as often as another. */
static void any_layer(struct draw *draw, const struct model *model, int64_t size[2])
{
    int64_t layer[LAYERS][2];

    layers_of(model, layer);
    memcpy(size, layer[below(draw, 2 * LAYERS - 1) / 2], sizeof(*layer));
}

/* Draws a projection of a model: its forward pass, or one of the two products of its backward pass.
 */
static void projection(struct draw *draw)
{
    const struct model *model = any_model(draw);
    const int64_t rows = any_rows(draw);
    int64_t size[2], pass;

    any_layer(draw, model, size);
    pass = below(draw, 20);
    if (pass < 15) { /* forward, with weights as checkpoints store them: a row for each output */
        draw->m = rows, draw->n = size[1], draw->k = size[0], draw->layout = LAYOUT_NT;
    } else if (pass < 18) {
        draw->m = rows, draw->n = size[0], draw->k = size[1], draw->layout = LAYOUT_NN;
    } else {
        draw->m = size[1], draw->n = size[0], draw->k = rows, draw->layout = LAYOUT_TN;
    }
}

/* Draws scores (queries by keys) or mixes (scores by values) of all heads of some sequences. */
static void attention(struct draw *draw)
{
    const struct model *model = any_model(draw);
    const int64_t length = one_of(draw, &draw->source->lengths);
    const bool scores = below(draw, 2);

    draw->m = length;
    draw->n = scores ? length : model->head;
    draw->k = scores ? model->head : length;
    draw->layout = scores ? LAYOUT_NT : LAYOUT_NN;
    draw->batch = model->heads * ((int64_t)1 << below(draw, 4));
}

/* 32 to 8191, each octave with the same chance. */
static int64_t octave(struct draw *draw)
{
    const int64_t least = (int64_t)32 << below(draw, 8);

    return least + below(draw, least);
}

static void ragged(struct draw *draw)
{
    draw->m = octave(draw), draw->n = octave(draw), draw->k = octave(draw);
    draw->layout = (unsigned)below(draw, 4);
}

static void middle(struct draw *draw)
{
    draw->m = 8 * (50 + below(draw, 431)), draw->n = 8 * (50 + below(draw, 431));
    draw->k = 8 * (50 + below(draw, 751));
    draw->layout = (unsigned)below(draw, 3);
}

/* Draws sizes that people type by hand; half of these are squares. */
static void round_sizes(struct draw *draw)
{
    const struct sizes *sizes = &draw->source->round;

    draw->m = draw->n = draw->k = one_of(draw, sizes);
    if (below(draw, 2))
        draw->n = one_of(draw, sizes), draw->k = one_of(draw, sizes);
    draw->layout = (unsigned)below(draw, 3);
}

static void batched(struct draw *draw)
{
    static const int64_t count[] = {8, 16, 32, 64, 96};

    draw->m = (int64_t)64 << below(draw, 6), draw->n = (int64_t)64 << below(draw, 4);
    draw->k = (int64_t)64 << below(draw, 6);
    if (!below(draw, 3)) /* sizes of programs are not all powers of two */
        draw->m = draw->m * 3 / 4 + below(draw, 2), draw->k = draw->k * 3 / 4;
    draw->layout = (unsigned)below(draw, 4);
    draw->batch = count[below(draw, (int64_t)(sizeof(count) / sizeof(*count)))];
}

/* Layers of models alone, in the layout of checkpoints: what is quantised. */
static void weights(struct draw *draw)
{
    do
        projection(draw);
    while (draw->layout != LAYOUT_NT);
}

/* Sums of products over a short k, as blocked factorisations of matrices have them, and thin ones.
 */
static void panels(struct draw *draw)
{
    draw->m = octave(draw), draw->n = octave(draw);
    draw->k = (int64_t)16 << below(draw, 5);
    draw->layout = (unsigned)below(draw, 4);
}

/* Draws the gradient of a layer's weights, which a training step adds to the gradient so far; rows
 * are those of a batch of sequences.  One in four has sizes of no model. */
static void gradient(struct draw *draw)
{
    const struct model *model = any_model(draw);
    int64_t size[2];

    any_layer(draw, model, size);
    draw->m = size[1], draw->n = size[0];
    for (draw->k = any_rows(draw); draw->k < 256;)
        draw->k *= 4;
    if (!below(draw, 4))
        ragged(draw);
    draw->layout = LAYOUT_TN;
}

/* Draws the update behind a panel of LU, Cholesky or QR; half of them are of whole panels. */
static void trailing(struct draw *draw)
{
    static const unsigned layout[] = {LAYOUT_NN, LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    const bool whole = below(draw, 2);

    draw->k = (int64_t)32 << below(draw, 5);
    draw->m = draw->n = whole ? draw->k * (1 + below(draw, 1 + 8192 / draw->k)) : octave(draw);
    if (below(draw, 2))
        draw->n = whole ? draw->k * (1 + below(draw, 1 + 8192 / draw->k)) : octave(draw);
    draw->layout = layout[below(draw, 4)];
}

#define MOST_SHAPES 6
#define MOST_KINDS  18

/* What --family names: kinds of products and of sizes, each with its share in a hundred draws. */
static const struct family {
    const char *name;
    struct {
        int64_t share;
        enum gt_dtype type;
        const char *words;               /* are appended to the problem's text */
        void (*draw)(struct draw *draw); /* its sizes; NULL: the sizes of the family */
    } kind[MOST_KINDS];
    struct {
        int64_t share;
        void (*draw)(struct draw *draw);
    } shape[MOST_SHAPES];
} families[] = {
    {"plain",
     {{36, GT_BF16, "", NULL},
      {18, GT_F16, "", NULL},
      {12, GT_TF32, "", NULL},
      {22, GT_F32, "", NULL},
      {12, GT_F32, ":accuracy=f32", NULL}},
     {{42, projection},
      {8, attention},
      {20, ragged},
      {18, middle},
      {7, round_sizes},
      {5, batched}}},
    {"scaled",
     {{40, GT_E4M3, ":scale_a=vector:scale_b=vector:sums=fast", NULL},
      {30, GT_E4M3, ":scale_a=vector:scale_b=vector", NULL},
      {15, GT_E4M3, ":scale_a=tensor:scale_b=tensor:sums=fast", NULL},
      {10, GT_E4M3, ":scale_a=tensor:scale_b=tensor", NULL},
      {5, GT_E4M3, ":scale_a=vector:scale_b=vector:out=f16", NULL}},
     {{100, weights}}},
    {"int8",
     {{50, GT_S8, ":out=bf16:scale_a=vector:scale_b=vector", NULL},
      {20, GT_S8, ":out=f16:scale_a=vector:scale_b=vector", NULL},
      {20, GT_S8, ":out=bf16:scale_a=tensor:scale_b=vector", NULL},
      {10, GT_S8, ":out=bf16:scale_a=vector:scale_b=vector:epi=bias", NULL}},
     {{100, weights}}},
    {"mxfp8",
     {{100, GT_E4M3, ":scale_a=1x32/ue8m0/tiled:scale_b=1x32/ue8m0/tiled", NULL}},
     {{100, weights}}},
    {"nvfp4",
     {{100, GT_E2M1, ":scale_a=1x16/ue4m3/tiled+tensor:scale_b=1x16/ue4m3/tiled+tensor", NULL}},
     {{100, weights}}},
    {"blocks", {{100, GT_E4M3, ":scale_a=1x128:scale_b=128x128", NULL}}, {{100, weights}}},
    {"update",
     {{18, GT_BF16, ":beta=1", gradient},
      {14, GT_BF16, ":out=f32:beta=1", gradient},
      {5, GT_F16, ":beta=1", gradient},
      {3, GT_F16, ":out=f32:beta=1", gradient},
      {4, GT_TF32, ":beta=1", gradient},
      {4, GT_F32, ":beta=1", gradient},
      {8, GT_BF16, ":epi=bias", weights},
      {7, GT_BF16, ":epi=bias+gelu", weights},
      {6, GT_BF16, ":epi=bias+gelu_tanh", weights},
      {4, GT_F16, ":epi=bias+relu", weights},
      {5, GT_BF16, ":beta=1:epi=bias", weights},
      {4, GT_BF16, ":out=f32", weights},
      {6, GT_F32, ":alpha=-1:beta=1", trailing},
      {3, GT_F16, ":out=f32:alpha=-1:beta=1", trailing},
      {2, GT_TF32, ":alpha=-1:beta=1", trailing},
      {3, GT_BF16, ":alpha=0.5:beta=0.5", NULL},
      {2, GT_F16, ":epi=gelu", NULL},
      {2, GT_F32, ":epi=bias+relu", NULL}},
     {{50, ragged}, {35, middle}, {15, round_sizes}}},
    {"double",
     {{100, GT_F64, "", NULL}},
     {{35, ragged}, {30, middle}, {15, round_sizes}, {10, batched}, {10, panels}}},
};
#define FAMILIES (sizeof(families) / sizeof(*families))

#define PADDED 16   /* one in so many problems without a batch has leading dimensions of its own */
#define TRIES  1000 /* attempts to draw a problem that is not too large */

/* Adds leading dimensions, as slices of wider matrices have them. */
static void pad(struct draw *draw, struct gt_problem *problem)
{
    static const int64_t more[] = {1, 3, 8, 16, 64, 1024};
    const unsigned which = 1 + (unsigned)below(draw, 7); /* which of A, B, C have them; at least one
                                                            matrix */
    int64_t *ld[] = {&problem->lda, &problem->ldb, &problem->ldc};

    for (size_t i = 0; i < 3; i++)
        if (which >> i & 1)
            *ld[i] += more[below(draw, (int64_t)(sizeof(more) / sizeof(*more)))];
}

/* Operations, which take an H200 2 to 10 ms. */
static int64_t most_of(enum gt_dtype type)
{
    return type == GT_F64             ? 150000000000
           : type == GT_F32           ? 300000000000
           : gt_dtype_bits(type) <= 8 ? 2400000000000
                                      : 1200000000000;
}

static bool too_large(const struct draw *draw, enum gt_dtype type)
{
    const int64_t elements = draw->m * draw->k + draw->k * draw->n + draw->m * draw->n;

    return elements > MOST_BYTES / gt_dtype_size(type) / draw->batch ||
           draw->m * draw->n > most_of(type) / 2 / draw->k / draw->batch;
}

static int draw_one(struct draw *draw, const struct family *family, char text[GT_PROBLEM_TEXT_MAX],
                    struct gt_err *err)
{
    int64_t of_kind = below(draw, 100), of_shape = below(draw, 100);
    size_t of = 0, in = 0;
    struct gt_problem problem;
    int rc, tries = 0;

    for (; of_kind >= family->kind[of].share; of++)
        of_kind -= family->kind[of].share;
    for (; of_shape >= family->shape[in].share; in++)
        of_shape -= family->shape[in].share;

    do {
        if (tries++ == TRIES)
            return gt_err_set(err, GT_ECONFIG, "models.json: its sizes are too large for %s",
                              gt_dtype_name(family->kind[of].type));
        draw->batch = 1;
        (family->kind[of].draw ? family->kind[of].draw : family->shape[in].draw)(draw);
    } while (too_large(draw, family->kind[of].type));
    snprintf(text, GT_PROBLEM_TEXT_MAX, "%lldx%lldx%lld:%s:%s:batch=%lld%s", (long long)draw->m,
             (long long)draw->n, (long long)draw->k, gt_dtype_name(family->kind[of].type),
             gt_layout_name(draw->layout), (long long)draw->batch, family->kind[of].words);
    rc = gt_problem_parse(&problem, text, err);
    if (!rc) { /* lines of factors are padded to 16 bytes, as TMA and cuBLASLt ask */
        problem.lsa = (problem.lsa + 3) / 4 * 4;
        problem.lsb = (problem.lsb + 3) / 4 * 4;
    }
    if (!rc && draw->batch == 1 && !below(draw, PADDED))
        pad(draw, &problem);
    if (!rc)
        gt_problem_format(&problem, text);
    return rc;
}

/* ---- models.json ---- */

static int read_sizes(struct sizes *sizes, const cJSON *root, const char *path, const char *key,
                      struct gt_err *err)
{
    const cJSON *list = NULL, *item;
    int rc = gt_json_get(&list, root, path, key, cJSON_Array, GT_REQUIRED, err);

    if (rc)
        return rc;
    cJSON_ArrayForEach(item, list)
    {
        if (sizes->count == MOST_LIST ||
            !gt_json_whole(item, 1, 1000000, &sizes->value[sizes->count]))
            return gt_err_set(err, GT_ECONFIG,
                              "%s: \"%s\" must be a list of at most %d whole numbers from 1 to "
                              "1000000",
                              path, key, MOST_LIST);
        sizes->count++;
    }
    return sizes->count ? GT_OK : gt_err_set(err, GT_ECONFIG, "%s: \"%s\" is empty", path, key);
}

static int read_model(struct model *model, const cJSON *object, const char *where,
                      struct gt_err *err)
{
    static const char *const key[] = {"hidden", "ffn", "qkv", "heads", "head", "vocabulary"};
    int64_t *const field[] = {&model->hidden, &model->ffn,  &model->qkv,
                              &model->heads,  &model->head, &model->vocabulary};
    const char *name;
    int rc = gt_json_keys(object, where, "name gate hidden ffn qkv heads head vocabulary", err);

    GT_STEP(rc, gt_json_string(&name, object, where, "name", GT_REQUIRED, err));
    GT_STEP(rc, gt_json_bool(&model->gate, object, where, "gate", GT_OPTIONAL, err));
    if (!rc)
        snprintf(model->name, sizeof(model->name), "%s", name);
    for (size_t i = 0; i < sizeof(field) / sizeof(*field) && !rc; i++)
        rc = gt_json_integer(field[i], object, where, key[i], 1, 1000000, GT_REQUIRED, err);
    return rc;
}

static int read_models(struct source *source, const cJSON *root, const char *path,
                       struct gt_err *err)
{
    const cJSON *list = NULL, *item;
    char where[512];
    int rc = gt_json_get(&list, root, path, "models", cJSON_Array, GT_REQUIRED, err);

    if (rc)
        return rc;
    cJSON_ArrayForEach(item, list)
    {
        snprintf(where, sizeof(where), "%.440s: models[%zu]", path, source->models);
        if (source->models == MOST_LIST || !cJSON_IsObject(item))
            return gt_err_set(err, GT_ECONFIG,
                              "%s: \"models\" must be a list of at most %d objects", path,
                              MOST_LIST);
        rc = read_model(&source->model[source->models++], item, where, err);
        if (rc)
            return rc;
    }
    return source->models ? GT_OK : gt_err_set(err, GT_ECONFIG, "%s: \"models\" is empty", path);
}

static int read_source(struct source *source, const char *data_dir, struct gt_err *err)
{
    static const char allowed[] = "doc rows lengths round models";
    struct gt_strbuf path = GT_STRBUF_INIT;
    cJSON *root = NULL;
    int rc;

    gt_strbuf_addf(&path, "%s/configs/problems/models.json", data_dir);
    rc = gt_strbuf_check(&path, err);
    GT_STEP(rc, gt_json_load(&root, path.text, err));
    GT_STEP(rc, gt_json_keys(root, path.text, allowed, err));
    GT_STEP(rc, read_sizes(&source->rows, root, path.text, "rows", err));
    GT_STEP(rc, read_sizes(&source->lengths, root, path.text, "lengths", err));
    GT_STEP(rc, read_sizes(&source->round, root, path.text, "round", err));
    GT_STEP(rc, read_models(source, root, path.text, err));
    cJSON_Delete(root);
    gt_strbuf_release(&path);
    return rc;
}

/* ---- the list ---- */

static bool is_known(const struct gt_problemset *set, const char *text)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->entry[i].text, text) == 0)
            return true;
    return false;
}

/* Finds a family by its name; NULL: the first one. */
static const struct family *find_family(const char *name, struct gt_err *err)
{
    struct gt_strbuf known = GT_STRBUF_INIT;

    for (size_t i = 0; i < FAMILIES; i++)
        if (!name || strcmp(families[i].name, name) == 0)
            return &families[i];
    for (size_t i = 0; i < FAMILIES; i++)
        gt_strbuf_addf(&known, " %s", families[i].name);
    gt_err_set(err, GT_ENOTFOUND,
               "--family: no problems of family \"%.40s\" are drawn; there are%s", name,
               known.text ? known.text : "");
    gt_strbuf_release(&known);
    return NULL;
}

int gt_random_problems(struct gt_problemset *set, const char *data_dir, const char *family,
                       size_t count, uint64_t seed, struct gt_err *err)
{
    const struct family *of = find_family(family, err);
    struct source *source = calloc(1, sizeof(*source));
    struct draw draw = {.source = source, .random = {seed}};
    const size_t all = set->count + count;
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = !of ? GT_ENOTFOUND : source ? read_source(source, data_dir, err) : gt_err_nomem(err);

    while (!rc && set->count < all) {
        rc = draw_one(&draw, of, text, err);
        if (!rc && !is_known(set, text))
            rc = gt_problemset_add(set, text, "--random", err);
    }
    free(source);
    return rc;
}

/* ---- the layers of one model ---- */

/* Whether two names have the same letters and digits, whatever stands between them. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a))
            a++;
        while (*b && !isalnum((unsigned char)*b))
            b++;
        if (!*a || !*b || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return *a == *b;
    }
}

static const struct model *find_model(const struct source *source, const char *name,
                                      struct gt_err *err)
{
    struct gt_strbuf known = GT_STRBUF_INIT;

    for (size_t i = 0; i < source->models; i++)
        if (same_name(source->model[i].name, name))
            return &source->model[i];
    for (size_t i = 0; i < source->models; i++)
        gt_strbuf_addf(&known, "%s %s", i ? "," : "", source->model[i].name);
    gt_err_set(err, GT_ENOTFOUND, "--model \"%.60s\" is not in models.json, which has%s", name,
               known.text ? known.text : "");
    gt_strbuf_release(&known);
    return NULL;
}

static int add_layer(void *context, const char *text, struct gt_err *err)
{
    return gt_problemset_add(context, text, "--model", err);
}

int gt_model_problems(struct gt_problemset *set, const char *data_dir, const char *name,
                      const char *rows, struct gt_err *err)
{
    struct source *source = calloc(1, sizeof(*source));
    int rc = source ? read_source(source, data_dir, err) : gt_err_nomem(err);
    const struct model *model = rc ? NULL : find_model(source, name, err);
    int64_t layer[LAYERS][2];
    char text[GT_PROBLEM_TEXT_MAX];

    if (!rc && !model)
        rc = GT_ENOTFOUND;
    if (!rc && (!*rows || rows[strspn(rows, "0123456789,:x*+")]))
        rc = gt_err_set(err, GT_ESYNTAX,
                        "--rows \"%.60s\": expected numbers of rows, such as 1,16,128 or 1:8192:x2",
                        rows);
    if (!rc) {
        layers_of(model, layer);
        layer[LAYERS - 1][1] = 2 * model->ffn; /* in place of the vocabulary: gate and values */
    }
    for (int i = 0; i < LAYERS - (model && !model->gate) && !rc; i++) {
        snprintf(text, sizeof(text), "%.200sx%lldx%lld:bf16:nt", rows, (long long)layer[i][1],
                 (long long)layer[i][0]);
        rc = gt_ranges_expand(text, add_layer, set, err);
    }
    free(source);
    return rc;
}
