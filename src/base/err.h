/* err.h - vocabulary: how a failing function leaves its one sentence (struct gt_err, gemmtune.h).
 *
 * The function that fails writes the whole sentence; its callers may only put words in front of it.
 * Every function accepts err == NULL. */
#ifndef GT_ERR_H
#define GT_ERR_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"

/* Writes the sentence and returns `code`, so that failing is one line:
 *     return gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno)); */
__attribute__((format(printf, 3, 4))) int gt_err_set(struct gt_err *err, int code,
                                                     const char *format, ...);

/* Puts "<words>: " in front of the sentence; returns err->code (or `code` if err is NULL). */
__attribute__((format(printf, 3, 4))) int gt_err_prefix(struct gt_err *err, int code,
                                                        const char *format, ...);

/* For functions of gemmtune.h, whose err is untouched on success: they hand an err of their own
 * (`inner`) down and end with this.  Copies it if `code` is a failure; returns `code`. */
int gt_err_pass(struct gt_err *err, const struct gt_err *inner, int code);

/* The sentence for a failed allocation. */
int gt_err_nomem(struct gt_err *err);

/* A step of several, for errors that stick: the call runs unless an earlier step failed.
 *     int rc = open_file(&file, err);
 *     GT_STEP(rc, read_head(file, err));
 *     GT_STEP(rc, read_rows(file, err)); */
#define GT_STEP(code, call) ((code) = (code) ? (code) : (call))

/* Whether text[i] is a control character: below a blank, DEL, or one of U+0080 to U+009F in UTF-8.
 * Terminals act on these, so texts from elsewhere are shown without them. */
bool gt_is_control(const char *text, size_t i);

/* Copies as much of the text as fits, on one line: a blank for each line break in it, a question
 * mark for each other control character. */
void gt_copy_clean(char *to, size_t size, const char *text);

/* ---- the nearest of a list of known words, for "did you mean" in sentences ---- */

/* Edits (insert, delete, replace one character, swap two neighbours, case ignored) between
 * word[0..length) and known; more than 63 characters of either are not looked at. */
size_t gt_near_distance(const char *word, size_t length, const char *known);

/* The word of known[0..count) nearest to word[0..length), or NULL if none is near enough to be a
 * slip of the finger (at most a third of its characters, at least one). */
const char *gt_near(const char *word, size_t length, const char *const *known, size_t count);

#endif
