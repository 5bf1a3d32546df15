/* cmd_json.h - how commands print a JSON document. */
#ifndef GT_CMD_JSON_H
#define GT_CMD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cJSON;
struct gt_cli;
struct gt_err;

/* From now on an allocation of cJSON that fails is remembered: a member that could not be added is
 * missed by gt_cmd_print_json, not by each of the lines that add one.  Forgets earlier failures. */
void gt_cmd_json_watch(void);

/* Prints the document on cli->out and deletes it; GT_ENOMEM if it (or a part of it) is missing.
 * Bytes of names that are not UTF-8 become question marks. */
int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err);

/* A number of a document that has no other parts. */
struct gt_json_count {
    const char *key;
    int64_t count;
};

/* Prints an object with `format` and the counts; GT_ENOMEM. */
int gt_cmd_print_counts(const struct gt_cli *cli, const char *format,
                        const struct gt_json_count *count, size_t counts, struct gt_err *err);

/* Prints how a command failed as a line of its own: {"error": "SENTENCE", "code": EXIT CODE}.
 * false: memory did not suffice, and nothing is printed. */
bool gt_cmd_json_error(FILE *out, const char *sentence, int code);

#endif
