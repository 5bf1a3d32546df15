/* cmd_show_json.h - one candidate at every stage as a JSON document (tune show --json). */
#ifndef GT_CMD_SHOW_JSON_H
#define GT_CMD_SHOW_JSON_H

#include "cuda/compile.h"
#include "kernel/kernel.h"

struct gt_cli;
struct gt_stored_energies;

/* What is known of a candidate; a stage that was not reached is NULL. */
struct gt_shown {
    const struct gt_candidate *candidate;
    const int64_t *slots;
    const struct gt_geometry *geometry;
    const struct gt_binary *binary;
    int nvrtc_version; /* of the binary */
    const struct gt_stored_energies *energies;
    bool one_point; /* of the energies, only those of the candidate's point */
    const char *source;
};

/* Prints the document on cli->out. */
int gt_show_json(const struct gt_cli *cli, const struct gt_shown *shown, struct gt_err *err);

#endif
