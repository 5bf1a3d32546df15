/* cmd_stored_energy.h - what a database says that products of a problem cost, for tune lookup and
 * tune show: the candidates whose energies were measured, by the text that their kernels have
 * today.
 *
 * Energies of two devices, or of two drivers of one, are never compared: each device with its
 * driver is a place of its own. */
#ifndef GT_CMD_STORED_ENERGY_H
#define GT_CMD_STORED_ENERGY_H

#include <stddef.h>
#include <stdio.h>

#include "db/store.h"
#include "kernel/kernel.h"

struct cJSON;
struct gt_cli;

/* A device with its driver. */
struct gt_energy_place {
    char device[96], uuid[64], driver[24]; /* driver: "13.0" */
    char date[32];                         /* of its newest row */
};

struct gt_stored_energy {
    const struct gt_kernel *kernel; /* NULL: cuBLASLt's answer */
    struct gt_point point;
    struct gt_energy energy;
    char date[32];
    size_t place;
};

struct gt_stored_energies {
    struct gt_stored_energy *entry; /* place by place, the fastest first */
    struct gt_energy_place *place;
    size_t entries, entry_capacity, places, place_capacity;
};

/* What is asked for. */
struct gt_energy_question {
    const char *path; /* of the database; a file that is not there holds nothing */
    const struct gt_kernels *kernels;
    int cc;
    const char *device;             /* the GPU's name; NULL: any, with the usual operands */
    const struct gt_kernel *kernel; /* candidates of this one; NULL: of all, and cuBLASLt's */
    const struct gt_problem *problem;
};

/* Reads them; *found is to be released also after a failure. */
int gt_stored_energies_read(struct gt_stored_energies *found,
                            const struct gt_energy_question *asked, struct gt_err *err);
void gt_stored_energies_release(struct gt_stored_energies *found);

/* The best of ours of the place whose rows are the newest; NULL: no place has any of ours. */
const struct gt_stored_energy *gt_stored_energies_choose(const struct gt_stored_energies *found,
                                                         enum gt_objective objective);

/* Prints all that were found; point: only of this one, NULL: of all.  Each place has a heading, and
 * a star before its best by the objective, = before those that are not told apart.  Returns how
 * many lines there were. */
size_t gt_stored_energies_print(const struct gt_stored_energies *found,
                                const struct gt_point *point, enum gt_objective objective,
                                FILE *out);

/* The same as a list `energies` of an object. */
void gt_stored_energies_list(const struct gt_stored_energies *found, const struct gt_point *point,
                             struct cJSON *json);

/* Prints for a problem which of our kernels takes the least, or that nothing is known; adds an
 * object to list if that is not NULL.  *answered: there is such a kernel. */
int gt_stored_energy_answer(const struct gt_cli *cli, const struct gt_energy_question *asked,
                            enum gt_objective objective, struct cJSON *list, bool *answered,
                            struct gt_err *err);

#endif
