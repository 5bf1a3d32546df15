/* gpu_names.h - the arch of a GPU whose name somebody types. */
#ifndef GT_GPU_NAMES_H
#define GT_GPU_NAMES_H

struct gt_err;

/* Replaces a name such as "H100", "rtx 4090", "ada", "8.6" or "compute_86" by the arch, e.g.
 * "sm_90"; any other text stays.  GT_ENOTFOUND with what to type where a name has several archs, or
 * an older one than compilers of today support. */
int gt_gpu_arch(const char **text, struct gt_err *err);

/* The compute capability of an arch or a name; *name: the text, where it names one device ("h100"
 * and not "hopper" or "sm_90"), else NULL. */
int gt_gpu_parse(const char *text, int *cc, const char **name, struct gt_err *err);

/* What data sheets say of a GPU. */
struct gt_gpu_sheet {
    const char *name;
    int sms;
    double clock_mhz, memory_gbps; /* boost clock; nominal bandwidth */
};

/* That of a GPU that has no profile; NULL: it is not known. */
const struct gt_gpu_sheet *gt_gpu_sheet(const char *name);

#endif
