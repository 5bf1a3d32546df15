/* predicted_arms.c - what the model expects of each kernel that serves a problem, for winners of a
 * shipped table: how far behind was the kernel that won?  The shares of a sweep's kernels rest on
 * the answer (tuner/sweep/race.c).
 *
 *     build/tools/predicted-arms db/shipped/h200.csv [EVERY]        every n-th winner; 3 */
#include "base/err.h"
#include "lookup/predict.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "search/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS 60000 /* of a space, evenly drawn; all of them are predicted */

/* The least predicted time of the kernel's points, 0 if it has none. */
static double predicted_us(const struct gt_kernel *kernel, const struct gt_problem *problem,
                           const struct gt_device *device)
{
    struct gt_candidate candidate = {.kernel = kernel, .problem = problem, .device = device};
    struct gt_space space;
    double best = INFINITY;

    if (gt_space_init(&space, kernel, problem, device, POINTS, NULL))
        return 0;
    for (size_t i = 0; i < space.count; i++) {
        struct gt_geometry geometry;
        double us;

        gt_space_point(&space, i, &candidate.point);
        if (!gt_candidate_geometry(&candidate, &geometry, NULL) &&
            !gt_predict(&candidate, &geometry, 0, 0, &us, NULL))
            best = fmin(best, us);
    }
    gt_space_release(&space);
    return isinf(best) ? 0 : best;
}

/* One line for each kernel that takes part. */
static void print_arms(const struct gt_kernels *kernels, const struct gt_table_row *row,
                       const struct gt_device *device)
{
    for (size_t i = 0; i < kernels->count; i++) {
        const struct gt_kernel *kernel = kernels->kernel[i];
        double us;

        if (!kernel->production || !gt_kernel_serves(kernel, &row->problem, device))
            continue;
        us = predicted_us(kernel, &row->problem, device);
        if (us > 0)
            printf("%s,%s,%.2f,%s\n", row->text, kernel->name, us,
                   strcmp(kernel->name, row->kernel) ? "" : "won");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const size_t every = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    struct gt_table table = {.rows = 0};
    struct gt_kernels kernels = {.count = 0};
    struct gt_device device;
    struct gt_err err = {0};
    char *data_dir = NULL;
    int rc;

    if (argc < 2 || !every) {
        fprintf(stderr, "usage: predicted-arms TABLE.csv [EVERY]\n");
        return 2;
    }
    rc = gt_data_dir(&data_dir, &err);
    GT_STEP(rc, gt_kernels_load(&kernels, data_dir, NULL, NULL, &err));
    GT_STEP(rc, gt_table_load(&table, argv[1], &err));
    printf("problem,kernel,predicted_us,won\n");
    for (size_t i = 0; i < table.rows && !rc; i += every) {
        rc = gt_device_profile(&device, data_dir, table.row[i].cc, &err);
        if (!rc)
            print_arms(&kernels, &table.row[i], &device);
    }
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    gt_table_release(&table);
    gt_kernels_release(&kernels);
    free(data_dir);
    return rc != GT_OK;
}
