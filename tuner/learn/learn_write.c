/* learn_write.c - stage: writes a ranking; src/lookup/README.md has the format.  See learn.h. */
#include "learn/learn.h"

#include "base/strbuf.h"
#include "base/digest.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Answers may be points that were never measured.  They lose so many times the losses of choices
 * among measured points: 1.1 times by db/measured/h200-left-out.csv, half of which is estimates,
 * and 1.9 times by the measured losses of earlier look-ups' answers (h200-untuned.csv).  The value
 * is chosen between these. */
#define UNMEASURED 1.4

/* A ranking that improves another device's ranking holds all trees of that ranking beside its own,
 * and both files lie in the source tree.  In such a ranking, leaves of a split whose logarithms
 * differ by less than this become one leaf: that saves a third of an H100's file, for .5 % of time
 * (db/measured/README.md). */
#define LEAST_SPLIT 0.003F

static bool is_onto_another(const struct gt_learning *learning)
{
    return learning->base && *learning->base->device &&
           strcmp(learning->base->device, learning->device.name) != 0;
}

/* The loss over the problems of both.  The mean of the two p90 is near enough. */
static struct gt_ranking_loss weighted(const struct gt_ranking_loss *a,
                                       const struct gt_ranking_loss *b)
{
    const double of_a = (double)a->problems / (double)(a->problems + b->problems);

    return (struct gt_ranking_loss){.mean = of_a * a->mean + (1 - of_a) * b->mean,
                                    .p90 = of_a * a->p90 + (1 - of_a) * b->p90,
                                    .problems = a->problems + b->problems};
}

/* Finds the loss to state for a kind.  For a kind without problems here, and for narrow trials, it
 * is the base's loss.  A base of another device may know these very problems from that device, so
 * its loss is only a lower bound for new problems.  If a base of the same device has learned from
 * more problems, which its trees still know, both losses count. */
static int find_loss(const struct gt_learning *learning, const struct gt_learn_choice *choice,
                     size_t kind, struct gt_ranking_loss *said, struct gt_err *err)
{
    struct gt_learn_loss loss;
    const int rc = gt_learn_loss_of(learning, choice, kind, learning->device.name, &loss, err);

    *said = learning->base ? learning->base->loss[kind] : (struct gt_ranking_loss){.problems = 0};
    if (rc || !loss.problems || learning->narrow)
        return rc;
    const struct gt_ranking_loss here = {UNMEASURED * loss.mean, UNMEASURED * loss.p90,
                                         loss.problems};
    if (!is_onto_another(learning))
        *said = said->problems > here.problems ? weighted(said, &here) : here;
    else if (!said->problems || said->mean <= here.mean)
        *said = here;
    return GT_OK;
}

/* Writes the losses of every kind with a known loss. */
static int write_losses(const struct gt_learning *learning, struct gt_strbuf *text,
                        struct gt_err *err)
{
    struct gt_learn_choice *choice = calloc(learning->problems + 1, sizeof(*choice));
    int rc = choice ? gt_learn_choose(learning, GT_LEARN_TREES, choice, err) : gt_err_nomem(err);

    for (size_t kind = 0; kind < GT_RANKING_KINDS && !rc; kind++) {
        struct gt_ranking_loss loss;
        char name[32];

        rc = find_loss(learning, choice, kind, &loss, err);
        gt_ranking_kind_name(kind, name);
        if (!rc && loss.problems)
            gt_strbuf_addf(text, "loss %s %.4f %.4f %zu\n", name, loss.mean, loss.p90,
                           loss.problems);
    }
    free(choice);
    return rc;
}

/* kinds[i]: the kinds of which point i is a prototype. */
static int choose_kinds(const struct gt_learning *learning, int fold, struct gt_kinds *kinds,
                        struct gt_err *err)
{
    bool *taken = malloc((learning->points + 1) * sizeof(*taken));
    int rc = taken ? GT_OK : gt_err_nomem(err);

    for (size_t kind = 0; kind < GT_RANKING_KINDS && !rc; kind++) {
        rc = gt_learn_prototypes(learning, kind, fold, taken, err);
        for (size_t i = 0; i < learning->points && !rc; i++)
            if (taken[i])
                gt_kinds_add(&kinds[i], kind);
    }
    free(taken);
    return rc;
}

static void write_points(const struct gt_learning *learning, size_t kernel,
                         const struct gt_kinds *kinds, struct gt_strbuf *text)
{
    for (size_t i = 0; i < learning->points; i++) {
        const char *between = "point ";

        if (learning->point[i].kernel != kernel)
            continue;
        for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++) {
            char name[32];

            if (!gt_kinds_have(&kinds[i], kind))
                continue;
            gt_ranking_kind_name(kind, name);
            gt_strbuf_addf(text, "%s%s", between, name);
            between = ",";
        }
        if (*between == 'p')
            continue; /* the point is no prototype */
        gt_strbuf_add(text, " ");
        gt_point_format(text, learning->kernels->kernel[kernel], &learning->point[i].point);
        gt_strbuf_add(text, "\n");
    }
}

/* The base's trees of a kernel, and behind them the learned trees. */
static int all_trees(const struct gt_learning *learning, size_t kernel, int fold,
                     struct gt_boosted *boosted, struct gt_err *err)
{
    const struct gt_kernel *described = learning->kernels->kernel[kernel];
    const size_t before = learning->base ? gt_ranking_trees(learning->base, described, NULL) : 0;
    int rc = gt_learn_trees(learning, kernel, fold, boosted, err);

    if (rc || !before)
        return rc;
    rc = GT_ARRAY_RESERVE(&boosted->node, before + boosted->nodes, &boosted->capacity, err);
    if (rc)
        return rc;
    memmove(boosted->node + before, boosted->node, boosted->nodes * sizeof(*boosted->node));
    boosted->nodes += gt_ranking_trees(learning->base, described, boosted->node);
    return GT_OK;
}

/* Copies the tree at *from, without splits that decide next to nothing, to its own place or further
 * in front.  Returns the copy's number of nodes. */
static size_t prune(const struct gt_ranking_node **from, struct gt_ranking_node *to)
{
    size_t left, right;

    *to = *(*from)++;
    if (to->column < 0)
        return 1;
    left = prune(from, to + 1);
    right = prune(from, to + 1 + left);
    if (left + right > 2 || fabsf(to[1].value - to[2].value) >= LEAST_SPLIT)
        return 1 + left + right;
    *to = (struct gt_ranking_node){.column = -1, .value = (to[1].value + to[2].value) / 2};
    return 1;
}

static void prune_all(struct gt_boosted *boosted)
{
    const struct gt_ranking_node *from = boosted->node, *end = from + boosted->nodes;

    boosted->nodes = 0;
    while (from < end)
        boosted->nodes += prune(&from, boosted->node + boosted->nodes);
}

/* Writes the trees of a kernel, naming only columns that a tree uses. */
static int write_trees(const struct gt_learning *learning, size_t kernel, int fold,
                       struct gt_strbuf *text, struct gt_err *err)
{
    const struct gt_kernel *described = learning->kernels->kernel[kernel];
    short place[GT_RANKING_COLUMNS];
    struct gt_boosted boosted;
    size_t open = 0;
    short places = 0;
    int rc = all_trees(learning, kernel, fold, &boosted, err);

    if (rc || !boosted.nodes) {
        gt_boosted_release(&boosted);
        return rc;
    }
    if (is_onto_another(learning))
        prune_all(&boosted);
    memset(place, -1, sizeof(place));
    gt_strbuf_add(text, "columns");
    for (size_t i = 0; i < boosted.nodes; i++) {
        const short column = boosted.node[i].column;

        if (column < 0 || place[column] >= 0)
            continue;
        place[column] = places++;
        gt_strbuf_addf(text, " %s", gt_ranking_column_name(described, (size_t)column));
    }
    for (size_t i = 0; i < boosted.nodes; i++) {
        const struct gt_ranking_node *node = &boosted.node[i];

        gt_strbuf_add(text, open ? " " : "\ntree ");
        if (node->column < 0)
            gt_strbuf_addf(text, "=%.3g", (double)node->value);
        else
            gt_strbuf_addf(text, "%d<%.6g", place[node->column], (double)node->value);
        open = (open ? open - 1 : 0) + (node->column < 0 ? 0 : 2);
    }
    gt_strbuf_add(text, "\n");
    gt_boosted_release(&boosted);
    return GT_OK;
}

static int write_body(const struct gt_learning *learning, int fold, struct gt_strbuf *text,
                      struct gt_err *err)
{
    const struct gt_device *device = &learning->device;
    struct gt_kinds *kinds = calloc(learning->points + 1, sizeof(*kinds));
    int rc = GT_OK;

    if (!kinds)
        return gt_err_nomem(err);
    for (size_t i = 0; i < learning->points; i++)
        kinds[i] = learning->point[i].kinds;
    rc = choose_kinds(learning, fold, kinds, err);

    gt_strbuf_addf(text, "arch %d\n", device->cc);
    if (!device->profile)
        gt_strbuf_addf(text, "device %s\nfacts %d %.0f\n", device->name, device->sms,
                       device->memory_gbps);
    if (fold == GT_LEARN_WHOLE)
        GT_STEP(rc, write_losses(learning, text, err));
    for (size_t kernel = 0; kernel < learning->kernels->count && !rc; kernel++) {
        const size_t before = text->length;

        gt_strbuf_addf(text, "kernel %s\n", learning->kernels->kernel[kernel]->name);
        write_points(learning, kernel, kinds, text);
        rc = write_trees(learning, kernel, fold, text, err);
        if (text->length ==
            before + strlen("kernel \n") + strlen(learning->kernels->kernel[kernel]->name)) {
            text->length = before; /* nothing is known of the kernel */
            text->text[before] = '\0';
        }
    }
    free(kinds);
    return rc ? rc : gt_strbuf_check(text, err);
}

int gt_learn_write(const struct gt_learning *learning, int fold, struct gt_strbuf *text,
                   struct gt_err *err)
{
    const locale_t before = gt_locale_enter();
    struct gt_strbuf body = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];
    int rc = write_body(learning, fold, &body, err);

    gt_locale_leave(before);
    if (!rc) {
        gt_digest_bytes(body.text, body.length, digest);
        gt_strbuf_addf(text, "%s%s\n", GT_RANKING_MAGIC, digest);
        gt_strbuf_add(text, body.text);
        rc = gt_strbuf_check(text, err);
    }
    gt_strbuf_release(&body);
    return rc;
}
