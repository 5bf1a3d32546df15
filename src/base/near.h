/* near.h - vocabulary: the nearest of a list of known words, for "did you mean" in sentences. */
#ifndef GT_NEAR_H
#define GT_NEAR_H

#include <stddef.h>

/* Edits (insert, delete, replace one character, swap two neighbours, case ignored) between
 * word[0..length) and known; more than 63 characters of either are not looked at. */
size_t gt_near_distance(const char *word, size_t length, const char *known);

/* The word of known[0..count) nearest to word[0..length), or NULL if none is near enough to be a
 * slip of the finger (at most a third of its characters, at least one). */
const char *gt_near(const char *word, size_t length, const char *const *known, size_t count);

#endif
