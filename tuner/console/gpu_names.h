/* gpu_names.h - the arch of a GPU whose name somebody types. */
#ifndef GT_GPU_NAMES_H
#define GT_GPU_NAMES_H

struct gt_err;

/* Replaces a name such as "H100", "rtx 4090", "ada", "8.6" or "compute_86" by the arch, e.g.
 * "sm_90"; any other text stays.  GT_ENOTFOUND, with advice on what to type: the name has several
 * archs, or an arch that compilers of today do not support any more. */
int gt_gpu_arch(const char **text, struct gt_err *err);

/* The compute capability of an arch or a name; *name: the text if it names one device ("h100", not
 * "hopper" or "sm_90"), else NULL. */
int gt_gpu_parse(const char *text, int *cc, const char **name, struct gt_err *err);

/* Figures of a GPU's data sheet. */
struct gt_gpu_sheet {
    const char *name;
    int sms;
    double clock_mhz, memory_gbps; /* boost clock; nominal bandwidth */
};

/* The data sheet of a GPU that has no profile; NULL: not known. */
const struct gt_gpu_sheet *gt_gpu_sheet(const char *name);

#endif
