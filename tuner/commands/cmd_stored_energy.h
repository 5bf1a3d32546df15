/* cmd_stored_energy.h - the measured energies of a problem's products in a database, for tune
 * lookup and tune show: those of candidates of the text that their kernels have today.
 *
 * Energies of two devices, or of two drivers of one, are never compared: each device with its
 * driver is a place. */
#ifndef GT_CMD_STORED_ENERGY_H
#define GT_CMD_STORED_ENERGY_H

#include <stddef.h>
#include <stdio.h>

#include "db/store.h"
#include "kernel/kernel.h"

struct cJSON;
struct gt_cli;

struct gt_stored_energy {
    const struct gt_kernel *kernel; /* NULL: cuBLASLt's answer */
    struct gt_point point;
    struct gt_energy energy;
    struct gt_energy_rank rank;            /* among the entries of our kernels in its place */
    char device[96], uuid[64], driver[24]; /* driver: "13.0" */
    char date[32];
    size_t place; /* the first entry of the same place */
};

struct gt_stored_energies {
    const struct gt_kernels *kernels; /* of the question */
    struct gt_stored_energy *entry;   /* place by place, the fastest first */
    size_t entries, capacity;
};

/* The energies that a caller asks for. */
struct gt_energy_question {
    const char *path; /* the database's; a missing file counts as an empty database */
    const struct gt_kernels *kernels;
    struct gt_row_filter gpu;       /* cc, and the GPU's name with `whole`; no name: any GPU, with
                                       the usual operands */
    const struct gt_kernel *kernel; /* only this kernel's candidates; NULL: those of all kernels,
                                       and cuBLASLt's answer */
    const struct gt_problem *problem;
};

/* Reads the energies; *found is to be released also after a failure. */
int gt_stored_energies_read(struct gt_stored_energies *found,
                            const struct gt_energy_question *asked, struct gt_err *err);
void gt_stored_energies_release(struct gt_stored_energies *found);

/* The best entry of our kernels in the place with the newest row; NULL: no place has an entry of
 * our kernels. */
const struct gt_stored_energy *gt_stored_energies_choose(const struct gt_stored_energies *found,
                                                         enum gt_objective objective);

/* Prints the entries of the point; NULL: of all points.  Each place has a heading.  A star marks
 * the place's best entry by the objective, and = marks entries that the errors do not tell apart
 * from the best.  Returns the number of lines. */
size_t gt_stored_energies_print(const struct gt_stored_energies *found,
                                const struct gt_point *point, enum gt_objective objective,
                                FILE *out);

/* Adds the same entries to an object as a list `energies`. */
void gt_stored_energies_list(const struct gt_stored_energies *found, const struct gt_point *point,
                             struct cJSON *json);

/* Prints which of our kernels is the best for the problem by the objective, or that nothing is
 * known; adds an object to list unless list is NULL.  *answered: there is such a kernel. */
int gt_stored_energy_answer(const struct gt_cli *cli, const struct gt_energy_question *asked,
                            enum gt_objective objective, struct cJSON *list, bool *answered,
                            struct gt_err *err);

#endif
