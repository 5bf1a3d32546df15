/* lookup.h - stage: the look-up behind gt_lookup and gt_plan: an answer with its kernel, point and
 * geometry.  Internal to the library; the public side is gemmtune.h.
 *
 * An answer is found once and then remembered: gt_lookup of a problem seen before is one hash and
 * one comparison, without a lock. */
#ifndef GT_LOOKUP_H
#define GT_LOOKUP_H

#include "kernel/kernel.h"

struct gt_deployed_item;
struct gt_binary;

struct gt_resolved {
    struct gt_answer answer;             /* the answer's point and passed_over are malloc'ed */
    const struct gt_kernel *kernel;      /* NULL in tier NONE and from a deployed file */
    const struct gt_deployed_item *item; /* the item of a deployed file (deployed.h); else NULL */
    struct gt_point point;
    struct gt_geometry geometry; /* for the problem asked for, on this device */
    struct gt_problem problem;   /* the problem asked for; in FP32 if answer.in_f32 is set */
    struct gt_device device;     /* the GPU given, or the profile of the arch */
    bool elsewhere; /* the answer's row is of another device than the one asked about by name */
};
void gt_resolved_release(struct gt_resolved *resolved); /* a zeroed one is accepted */

/* As gt_lookup, for a GPU that is present: constraints and geometry are computed from its own
 * facts.  Fills resolved, which refers to gt and is to be released; on failure resolved is
 * zeroed. */
int gt_lookup_device(struct gt *gt, const struct gt_device *device,
                     const struct gt_problem *problem, struct gt_resolved *resolved,
                     struct gt_err *err);

/* The options that gt was opened with.  data_dir is NULL only with a deployed file, which needs
 * none. */
const struct gt_options *gt_lookup_options(const struct gt *gt);

/* Why gt has no kernel for the problem on the device: no kernel serves the problem, or no point of
 * the kernels that serve it is valid for its sizes.  Not for a deployed file. */
void gt_lookup_unserved(char text[GT_UNSERVED_MAX], const struct gt *gt,
                        const struct gt_problem *problem, const struct gt_device *device);

/* The deployed file that answers for gt; NULL: there is none. */
struct gt_deployed *gt_lookup_deployed(const struct gt *gt);

/* Versions of NVRTC (13010 for 13.1) whose code of a kernel the driver has refused. */
#define GT_REFUSED_MOST 16
struct gt_refused {
    int version[GT_REFUSED_MOST], count;
};

/* The machine code of an answer that has a kernel.  The code is taken from options->cubin_dir if a
 * compiler made it whose code resolved->device takes and that is not among `refused` (NULL: none
 * is); otherwise it is compiled if options->allow_nvrtc is set.  nvrtc (may be NULL): the
 * compiler's version.  GT_ENOTFOUND: the code is neither stored nor may be compiled. */
int gt_plan_binary(const struct gt_options *options, const struct gt_resolved *resolved,
                   const struct gt_refused *refused, struct gt_binary *binary, int *nvrtc,
                   struct gt_err *err);

#endif
