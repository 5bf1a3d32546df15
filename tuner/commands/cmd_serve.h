/* cmd_serve.h - the part of serving that tune doctor shows. */
#ifndef GT_CMD_SERVE_H
#define GT_CMD_SERVE_H

#include "console/options.h"

/* Runs the command, serves nothing, and prints which of its products could be served and why the
 * others could not.  db: tables to look into; NULL: the user's.  Returns the command's exit code.
 */
int gt_cmd_doctor_program(struct gt_cli *cli, const char *db, char **command, struct gt_err *err);

#endif
