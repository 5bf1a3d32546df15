/* left_out_answers.c - what whole answers of look-ups lose on measured problems of which the
 * ranking has learned nothing and whose winners are in no table: each tenth of them is left out in
 * turn, and look-ups answer for it.
 *
 *     left-out-answers [OPTION VALUE]... PROBLEMS >answers.csv     PROBLEMS: a text, one a line
 *
 *     --ranking FILE  this ranking answers; without it one is learned for each tenth,
 *     --onto FILE     on top of this one
 *     --from FILE     trials (*trials.gz) that are learned from and by which answers are judged
 *     --table FILE    winners that look-ups know
 *     --winners FILE  likewise, but for those of the problems that are left out
 *     --device NAME   trials of this device are judged, and look-ups are for it; standard: that of
 *                     an H200
 *     --data FOLDER   with templates, configs and the arch's profile; standard: .
 *     --keep FOLDER   what is learned for each tenth stays there, and is taken from there if it is
 *                     there: for trying other look-ups by the same rankings, which takes seconds
 *
 * An answer that a trial has measured has that time.  Others are estimated, and say so in the last
 * column: by a ranking of all trials, those of the problem included, times what it is off by at the
 * nearest points that were measured.  db/measured/README.md has what came out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_write.h"
#include "db/store.h"
#include "exchange/trials.h"
#include "learn/learn.h"
#include "lookup/lookup.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

#define NEAREST 4
#define FOLDS   10

struct judging {
    const char *data, *device, *keep;
    struct gt_kernels kernels;
    struct gt_learning learning;
    struct gt_ranking base, fixed, judge; /* judge: of all trials */
    struct gt_table table, winners;
    struct gt_learn_source source; /* of the learning */
};

/* A problem's answer. */
struct judged {
    struct gt_resolved resolved;
    size_t problem, kernel; /* indices into the learning's */
    double us;
    bool measured;
};

/* Sets a device's facts, under its own name. */
static int find_device(struct gt_device *device, const char *data, const char *name,
                       struct gt_err *err)
{
    const int rc = gt_device_profile_of(device, data, 90, name, err);

    snprintf(device->name, sizeof(device->name), "%s", name);
    device->profile = false;
    return rc;
}

static double expect(const struct judging *judging, const struct gt_candidate *candidate)
{
    struct gt_geometry geometry;
    struct gt_prediction unused;

    if (gt_candidate_geometry(candidate, &geometry, NULL))
        return 0;
    return gt_ranking_us(&judging->judge, candidate, &geometry, HUGE_VAL, &unused);
}

static int distance(const struct gt_kernel *kernel, const struct gt_point *x,
                    const struct gt_point *y)
{
    int differ = 0;

    for (size_t i = 0; i < kernel->params; i++)
        differ += x->value[i] != y->value[i];
    return differ;
}

/* The trials of a kernel that lie nearest to a point, the nearest first. */
struct nearest {
    const struct gt_learn_row *row[NEAREST];
    int distance[NEAREST], count;
};

static void find_nearest(const struct judging *judging, const struct judged *judged,
                         struct nearest *nearest)
{
    const struct gt_learning *learning = &judging->learning;

    *nearest = (struct nearest){.count = 0};
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        int at = nearest->count, away;

        if (row->problem != judged->problem || row->kernel != judged->kernel)
            continue;
        away = distance(learning->kernels->kernel[row->kernel], &learning->point[row->point].point,
                        &judged->resolved.point);
        if (row->avoided && away)
            continue;
        for (; at > 0 && away < nearest->distance[at - 1]; at--)
            if (at < NEAREST) {
                nearest->row[at] = nearest->row[at - 1];
                nearest->distance[at] = nearest->distance[at - 1];
            }
        if (at == NEAREST)
            continue;
        nearest->row[at] = row;
        nearest->distance[at] = away;
        nearest->count += nearest->count < NEAREST;
    }
}

/* A candidate that spills has no time: it counts as half again as slow as the best one. */
static void judge(const struct judging *judging, struct judged *judged)
{
    const struct gt_learning *learning = &judging->learning;
    const double best_us = learning->problem[judged->problem].best_us;
    struct gt_candidate candidate = {judged->resolved.kernel, &judged->resolved.problem,
                                     &learning->device, judged->resolved.point};
    double weights = 0, off = 0;
    struct nearest nearest;

    find_nearest(judging, judged, &nearest);
    judged->measured = nearest.count && nearest.distance[0] == 0;
    if (judged->measured) {
        judged->us =
            nearest.row[0]->avoided ? fmax(nearest.row[0]->us, 1.5 * best_us) : nearest.row[0]->us;
        return;
    }
    judged->us = expect(judging, &candidate);
    for (int i = 0; i < nearest.count; i++) {
        const double weight = 1.0 / nearest.distance[i] / nearest.distance[i];
        double expected;

        candidate.point = learning->point[nearest.row[i]->point].point;
        expected = expect(judging, &candidate);
        if (!(expected > 0))
            continue;
        weights += weight;
        off += weight * log(nearest.row[i]->us / expected);
    }
    judged->us *= weights > 0 ? exp(off / weights) : 1;
}

static int answer(const struct judging *judging, const struct gt_sources *sources, size_t problem,
                  struct gt_err *err)
{
    const struct gt_learn_problem *of = &judging->learning.problem[problem];
    struct judged judged = {.problem = problem};
    char kind[32];
    int rc;

    judged.resolved.problem = of->problem;
    judged.resolved.device = judging->learning.device;
    rc = gt_lookup_resolve(sources, judging->learning.device.name, &judged.resolved, err);
    if (!rc && judged.resolved.kernel) {
        while (judging->kernels.kernel[judged.kernel] != judged.resolved.kernel)
            judged.kernel++;
        judge(judging, &judged);
        gt_ranking_kind_name(of->kind, kind);
        printf("%s,%s,%.3f,%.3f,%.4f,%s\n", of->text, kind, judged.us, of->best_us,
               fmax(judged.us / of->best_us - 1, 0), judged.measured ? "measured" : "estimated");
        fflush(stdout);
    }
    gt_resolved_release(&judged.resolved);
    return rc;
}

/* The part that the problem is left out with; -1: there are no trials of it. */
static int fold_of(const struct gt_learning *learning, const char *text)
{
    for (size_t i = 0; i < learning->problems; i++)
        if (strcmp(learning->problem[i].text, text) == 0)
            return learning->problem[i].fold;
    return -1;
}

/* The winners that look-ups know while a part is left out.  The rows stay the tables'. */
static int find_rows(const struct judging *judging, int fold, struct gt_table *rows,
                     struct gt_err *err)
{
    *rows = (struct gt_table){
        .row = calloc(judging->table.rows + judging->winners.rows + 1, sizeof(*rows->row))};
    if (!rows->row)
        return gt_err_nomem(err);
    for (size_t i = 0; i < judging->table.rows; i++)
        rows->row[rows->rows++] = judging->table.row[i];
    for (size_t i = 0; i < judging->winners.rows; i++) {
        const struct gt_table_row *row = &judging->winners.row[i];
        bool known = fold_of(&judging->learning, row->text) == fold;

        for (size_t t = 0; t < judging->table.rows && !known; t++)
            known = strcmp(judging->table.row[t].text, row->text) == 0;
        if (!known)
            rows->row[rows->rows++] = *row;
    }
    return GT_OK;
}

static int keep(const char *path, const struct gt_strbuf *text, struct gt_err *err)
{
    return gt_cmd_write_bytes(path, text->text, text->length, err);
}

/* The ranking of all trials but those of a part; -1: of all. */
static int learn(const struct judging *judging, int fold, struct gt_ranking *ranking,
                 struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT, path = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&path, "%s/without-%d.ranking", judging->keep ? judging->keep : "", fold);
    rc = gt_strbuf_check(&path, err);
    if (!rc && judging->keep && access(path.text, R_OK) == 0) {
        rc = gt_ranking_load(ranking, &judging->kernels, path.text, err);
        gt_strbuf_release(&path);
        return rc;
    }
    GT_STEP(rc, gt_learn_write(&judging->learning, fold, &text, err));
    GT_STEP(rc,
            gt_ranking_parse(ranking, &judging->kernels, "learned", text.text, text.length, err));
    if (!rc && judging->keep)
        rc = keep(path.text, &text, err);
    gt_strbuf_release(&text);
    gt_strbuf_release(&path);
    return rc;
}

/* Answers for those of the problems that are in a part. */
static int answer_part(const struct judging *judging, int fold, FILE *problems, struct gt_err *err)
{
    struct gt_ranking ranking = judging->fixed;
    struct gt_sources sources = {.kernels = judging->kernels,
                                 .rankings = {.ranking = &ranking, .count = 1}};
    char line[GT_PROBLEM_TEXT_MAX + 2];
    int rc = judging->fixed.cc ? GT_OK : learn(judging, fold, &ranking, err);

    GT_STEP(rc, find_rows(judging, fold, &sources.table, err));
    rewind(problems);
    while (!rc && fgets(line, sizeof(line), problems)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < judging->learning.problems && !rc; i++)
            if (judging->learning.problem[i].fold == fold &&
                strcmp(judging->learning.problem[i].device, judging->device) == 0 &&
                strcmp(judging->learning.problem[i].text, line) == 0)
                rc = answer(judging, &sources, i, err);
    }
    free(sources.table.row);
    if (!judging->fixed.cc)
        gt_ranking_release(&ranking);
    return rc;
}

static int read_option(struct judging *judging, const char *name, const char *value,
                       struct gt_err *err)
{
    if (strcmp(name, "--data") == 0 || strcmp(name, "--device") == 0)
        return GT_OK; /* was read before */
    if (strcmp(name, "--keep") == 0) {
        judging->keep = value;
        return GT_OK;
    }
    if (strcmp(name, "--ranking") == 0)
        return gt_ranking_load(&judging->fixed, &judging->kernels, value, err);
    if (strcmp(name, "--onto") == 0) {
        const int rc = gt_ranking_load(&judging->base, &judging->kernels, value, err);

        return rc ? rc : gt_learn_onto(&judging->learning, &judging->base, err);
    }
    if (strcmp(name, "--from") == 0)
        return gt_trials_read(value, gt_learn_take, &judging->source, err);
    if (strcmp(name, "--table") == 0)
        return gt_table_load(&judging->table, value, err);
    if (strcmp(name, "--winners") == 0)
        return gt_table_load(&judging->winners, value, err);
    return gt_err_set(err, GT_ESYNTAX, "there is no option %s", name);
}

static int read_all(struct judging *judging, int argc, char **argv, struct gt_err *err)
{
    int rc;

    judging->data = ".";
    judging->device = "NVIDIA H200";
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--data") == 0)
            judging->data = argv[i + 1];
        else if (strcmp(argv[i], "--device") == 0)
            judging->device = argv[i + 1];
    rc = gt_kernels_load(&judging->kernels, judging->data, NULL, NULL, err);
    judging->learning.kernels = &judging->kernels;
    judging->source =
        (struct gt_learn_source){.learning = &judging->learning, .data_dir = judging->data};
    GT_STEP(rc, find_device(&judging->learning.device, judging->data, judging->device, err));
    for (int i = 1; i + 1 < argc && !rc; i += 2)
        rc = read_option(judging, argv[i], argv[i + 1], err);
    return rc;
}

int main(int argc, char **argv)
{
    struct judging judging = {.data = NULL};
    struct gt_err err = {0};
    FILE *problems = argc % 2 == 0 ? fopen(argv[argc - 1], "re") : NULL;
    int rc = problems ? read_all(&judging, argc, argv, &err)
                      : gt_err_set(&err, GT_ESYNTAX,
                                   "left-out-answers [OPTION VALUE]... PROBLEMS: a file that can "
                                   "be read");

    gt_learn_split(&judging.learning, GT_LEARN_BY_SIZE);
    GT_STEP(rc, learn(&judging, -1, &judging.judge, &err));
    if (!rc)
        printf("problem,kind,us,best_us,loss,how\n");
    for (int fold = 0; fold < FOLDS && !rc; fold++)
        rc = answer_part(&judging, fold, problems, &err);
    if (problems)
        fclose(problems);
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    gt_table_release(&judging.table);
    gt_table_release(&judging.winners);
    gt_ranking_release(&judging.base);
    gt_ranking_release(&judging.fixed);
    gt_ranking_release(&judging.judge);
    gt_learn_release(&judging.learning);
    gt_kernels_release(&judging.kernels);
    return rc ? 1 : 0;
}
