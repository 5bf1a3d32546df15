/* score_svg.c - draws convergence curves as SVG: share of the optimum over evaluations, with what
 * others published, and performance over the time that counts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "score.h"

#define LEFT              60
#define TOP               40
#define WIDTH             420 /* of a panel */
#define HEIGHT            360
#define GAP               80  /* between panels */
#define LEAST_SHARE       0.6 /* lower edge of the first panel */
#define LEAST_PERFORMANCE (-0.4)

const struct gt_score_published gt_score_published[] = {
    {"dual annealing", 0.937, 0.960, 0.977},
    {"simulated annealing", 0.916, 0.967, 0.988},
    {"iterated local search", 0.918, 0.966, 0.985},
    {"genetic algorithm", 0.903, 0.951, 0.974},
    {"particle swarm", 0.839, 0.925, 0.973},
    {"SMAC", 0.839, 0.873, 0.918},
    {"random", 0.834, 0.874, 0.904},
    {NULL, 0, 0, 0},
};

static const char *const color[] = {
    "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2",
    "#7f7f7f", "#bcbd22", "#17becf", "#000000", "#aec7e8", "#98df8a",
};
#define COLORS (sizeof(color) / sizeof(color[0]))

static double share_x(double evals)
{
    return LEFT + WIDTH * log(evals) / log(GT_SCORE_EVALS);
}

static double share_y(double share)
{
    return TOP + HEIGHT * (1 - (fmax(share, LEAST_SHARE) - LEAST_SHARE) / (1 - LEAST_SHARE));
}

static double performance_x(double part)
{
    return LEFT + WIDTH + GAP + WIDTH * part;
}

static double performance_y(double value)
{
    return TOP + HEIGHT * (1 - (fmax(value, LEAST_PERFORMANCE) - LEAST_PERFORMANCE) /
                                   (1 - LEAST_PERFORMANCE));
}

static void text(FILE *file, double x, double y, const char *fill, const char *words)
{
    fprintf(file, "<text x='%.0f' y='%.0f' fill='%s'>%s</text>\n", x, y, fill, words);
}

static void rule(FILE *file, double x1, double x2, double y, const char *label)
{
    fprintf(file, "<path d='M%.0f %.1fH%.0f' stroke='#ccc'/>\n", x1, y, x2);
    text(file, x1 - 36, y + 4, "#333", label);
}

static void draw_axes(FILE *file)
{
    static const int evals[] = {1, 10, 20, 50, 100, 200, 400};
    char label[32];

    for (int i = 6; i <= 10; i++) {
        snprintf(label, sizeof(label), "%.1f", i / 10.0);
        rule(file, LEFT, LEFT + WIDTH, share_y(i / 10.0), label);
    }
    for (int i = -4; i <= 10; i += 2) {
        snprintf(label, sizeof(label), "%.1f", i / 10.0);
        rule(file, performance_x(0), performance_x(1), performance_y(i / 10.0), label);
    }
    for (size_t i = 0; i < sizeof(evals) / sizeof(evals[0]); i++) {
        snprintf(label, sizeof(label), "%d", evals[i]);
        text(file, share_x(evals[i]) - 8, TOP + HEIGHT + 16, "#333", label);
    }
    text(file, LEFT, TOP - 12, "#000", "share of the optimum (1: optimum) over evaluations");
    text(file, performance_x(0), TOP - 12, "#000",
         "performance over time (0: random search, 1: optimum)");
    text(file, performance_x(0), TOP + HEIGHT + 16, "#333", "50 %");
    text(file, performance_x(1) - 24, TOP + HEIGHT + 16, "#333", "95 %");
}

static void draw_line(FILE *file, const struct gt_score_line *line, const char *stroke)
{
    const char *style = "fill='none' stroke-width='1.5'";

    fprintf(file, "<polyline %s stroke='%s' points='", style, stroke);
    for (size_t i = 0; i < GT_SCORE_EVALS; i++)
        fprintf(file, "%.1f,%.1f ", share_x((double)i + 1), share_y(line->share[i]));
    fprintf(file, "'/>\n<polyline %s stroke='%s' points='", style, stroke);
    for (size_t i = 0; i < GT_SCORE_TIMES; i++)
        fprintf(file, "%.1f,%.1f ", performance_x((double)i / (GT_SCORE_TIMES - 1)),
                performance_y(line->performance[i]));
    fprintf(file, "'/>\n");
}

static void draw_published(FILE *file)
{
    for (const struct gt_score_published *p = gt_score_published; p->name; p++) {
        const double share[] = {p->at_100, p->at_200, p->at_400};

        for (int i = 0; i < 3; i++)
            fprintf(file,
                    "<circle cx='%.1f' cy='%.1f' r='3' fill='none' stroke='#555'>"
                    "<title>%s, published</title></circle>\n",
                    share_x(100 << i), share_y(share[i]), p->name);
    }
}

int gt_score_draw(const char *path, const struct gt_score_line *line, size_t lines,
                  struct gt_err *err)
{
    FILE *file = fopen(path, "w");
    double x = performance_x(1) + 20, y = TOP + 10;

    if (!file)
        return gt_err_set(err, GT_EIO, "%s: cannot be written: %m", path);
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%d' "
            "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' "
            "fill='white'/>\n",
            x + 200, TOP + HEIGHT + 40);
    draw_axes(file);
    for (size_t i = 0; i < lines; i++) {
        draw_line(file, &line[i], color[i % COLORS]);
        text(file, x, y + 18 * (double)i, color[i % COLORS], line[i].name);
    }
    draw_published(file);
    text(file, x, y + 18 * (double)lines, "#555", "o published, others' spaces");
    fprintf(file, "</svg>\n");
    if (fclose(file))
        return gt_err_set(err, GT_EIO, "%s: cannot be written: %m", path);
    return GT_OK;
}
