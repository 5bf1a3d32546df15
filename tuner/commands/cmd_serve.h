/* cmd_serve.h - the part of serving that tune doctor shows. */
#ifndef GT_CMD_SERVE_H
#define GT_CMD_SERVE_H

#include "console/options.h"
#include "console/cmd_write.h"
#include "session/problemset.h"

/* Runs the command, serves nothing, and prints which of its products could be served and why the
 * others could not.  db: tables to look into; NULL: the user's.  Returns the command's exit code.
 */
int gt_cmd_doctor_program(struct gt_cli *cli, const char *db, char **command, struct gt_err *err);

/* Runs a program with libgemmtune_cublas.so preloaded, for tune capture, tune serve
 * and tune doctor --program. */

/* Puts the library into LD_PRELOAD of this process, before what stands there, and this folder into
 * GEMMTUNE_FOLDER, so that programs that begin elsewhere mean the same paths.  library: its file;
 * NULL: beside this program, or in the lib folder beside its own. */
int gt_preload(const char *library, struct gt_err *err);

/* Sets a variable of the environment, unless the value is NULL. */
int gt_preload_set(const char *variable, const char *value, struct gt_err *err);

/* Runs the command and waits for it.  Signals that end programs are handed on to it.  *status: as
 * waitpid has it. */
int gt_preload_run(char **command, int *status, struct gt_err *err);

/* Makes this process end as the command ended: with its exit code, or by its signal. */
int gt_preload_end(int status);

/* A new folder for files of the command's processes, which `variable` tells them to write, one
 * each.  To be removed also after a failure. */
int gt_preload_folder(struct gt_scratch *folder, const char *variable, struct gt_err *err);

/* Calls visit with each file of the folder, in the order of their names. */
typedef int gt_preload_visit(void *context, const char *path, struct gt_err *err);
int gt_preload_files(const char *folder, gt_preload_visit *visit, void *context,
                     struct gt_err *err);

#endif
