/* json.h - vocabulary: reading configuration files (kernel descriptions, device profiles, problem
 * sets) so that every mistake is reported with file, key and the allowed values.  Readers only. */
#ifndef GT_JSON_H
#define GT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "gemmtune.h"

/* Whether a string of the text has \u0000, at which C would end the string. */
bool gt_json_escapes_nul(const char *text);

/* Parses a whole file; GT_ECONFIG names the line of a syntax error.  The top must be an object.
 * Free with cJSON_Delete. */
int gt_json_load(cJSON **root, const char *path, struct gt_err *err);

/* As gt_json_load, for text[0..length) (text[length] is NUL), which came from `path`. */
int gt_json_parse(cJSON **root, const char *path, const char *text, size_t length,
                  struct gt_err *err);

/* `where` of the functions below is the object's place, for sentences: "configs/kernels/simt.json:
 * params[3]".  Every failure is GT_ECONFIG. */

/* Refuses keys that are no word of `allowed`, such as "name values doc", and keys given twice. */
int gt_json_keys(const cJSON *object, const char *where, const char *allowed, struct gt_err *err);

enum gt_presence { GT_OPTIONAL, GT_REQUIRED };

/* The member, or NULL if it is optional and absent; type is cJSON_String, cJSON_Array... */
int gt_json_get(const cJSON **member, const cJSON *object, const char *where, const char *key,
                int type, enum gt_presence presence, struct gt_err *err);

/* *text (which belongs to the object) and *value are unchanged if the member is absent. */
int gt_json_string(const char **text, const cJSON *object, const char *where, const char *key,
                   enum gt_presence presence, struct gt_err *err);
int gt_json_integer(int64_t *value, const cJSON *object, const char *where, const char *key,
                    int64_t least, int64_t most, enum gt_presence presence, struct gt_err *err);
int gt_json_real(double *value, const cJSON *object, const char *where, const char *key,
                 double least, double most, enum gt_presence presence, struct gt_err *err);
int gt_json_bool(bool *value, const cJSON *object, const char *where, const char *key,
                 enum gt_presence presence, struct gt_err *err);

/* A whole number that a double holds exactly, within least..most. */
bool gt_json_whole(const cJSON *item, int64_t least, int64_t most, int64_t *value);

#endif
