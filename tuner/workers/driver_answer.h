/* driver_answer.h - what the CUDA driver means when it does not start. */
#ifndef GT_DRIVER_ANSWER_H
#define GT_DRIVER_ANSWER_H

#include <stddef.h>

/* Puts name and remedy behind "cuInit answers N" in a sentence of gt_gpu_open or gt_gpu_count, in
 * place of the driver's own words.  Other sentences, and answers that are not known, stay. */
void gt_driver_answer(char *text, size_t size);

#endif
