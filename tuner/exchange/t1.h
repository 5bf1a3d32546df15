/* t1.h - a kernel's space as T1, the input format of the autotuning community
 * (https://github.com/odgaard/TuningSchema): parameters with the Python of their values, conditions
 * that a valid point satisfies.  T1's sources, arguments and sizes are for programs that run the
 * kernel; here the kernel's space is searched in a recording. */
#ifndef GT_T1_H
#define GT_T1_H

#include "kernel/kernel.h"
#include "exchange/python.h"

struct gt_t1_param {
    char *name;
    struct gt_python_value *value; /* texts are the parameter's own */
    size_t count, capacity;
    bool truths; /* a recording's parameter, with true or false among the values */
};

/* The index of the value among the parameter's values; a new value is added.  GT_ERANGE: there
 * would be more than 256 values. */
int gt_t1_value(struct gt_t1_param *param, const struct gt_python_value *value, uint8_t *index,
                struct gt_err *err);
void gt_t1_release_param(struct gt_t1_param *param);

struct gt_t1_condition {
    struct gt_python *python;
    size_t last; /* the last parameter of the condition, which can be checked once that parameter
                    has a value */
};

struct gt_t1 {
    char *kernel;    /* KernelSpecification.KernelName */
    char *recording; /* KernelSpecification.SimulationInput: "" if not given */
    struct gt_t1_param param[GT_MAX_PARAMS];
    size_t params;
    struct gt_t1_condition *condition;
    size_t conditions;
};

/* Whether text[0..length) is meant to be T1: an object with "ConfigurationSpace". */
bool gt_t1_is(const char *text, size_t length);

/* Reads text[0..length), which came from `path`; text[length] is NUL.  GT_ECONFIG, GT_ESYNTAX...
 * with file and parameter or condition.  Release *t1 also after a failure. */
int gt_t1_parse(struct gt_t1 *t1, const char *path, const char *text, size_t length,
                struct gt_err *err);
void gt_t1_release(struct gt_t1 *t1);

/* Lists the valid points, params bytes each: the index of each parameter's value.  *index is
 * malloc'ed.  GT_ERANGE: there are no valid points, or more than `most`. */
int gt_t1_points(const struct gt_t1 *t1, size_t most, uint8_t **index, size_t *count,
                 struct gt_err *err);

#endif
