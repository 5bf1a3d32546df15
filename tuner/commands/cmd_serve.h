/* cmd_serve.h - runs programs with libgemmtune_cublas.so preloaded. */
#ifndef GT_CMD_SERVE_H
#define GT_CMD_SERVE_H

#include "console/options.h"
#include "console/cmd_write.h"
#include "session/problemset.h"

/* Runs the command without serving it, and prints which of its products could be served and why the
 * others could not.  db: tables to look into; NULL: the user's.  Returns the command's exit
 * code. */
int gt_cmd_doctor_program(struct gt_cli *cli, const char *db, char **command, struct gt_err *err);

/* Runs a program with libgemmtune_cublas.so preloaded, for tune capture, tune serve
 * and tune doctor --program. */

/* Puts the library at the front of this process's LD_PRELOAD, and the current folder into
 * GEMMTUNE_FOLDER, so that programs that start in another folder mean the same paths.  library: its
 * file; NULL: the file beside this program, or in the lib folder beside the program's folder. */
int gt_preload(const char *library, struct gt_err *err);

/* Sets a variable of the environment, unless the value is NULL. */
int gt_preload_set(const char *variable, const char *value, struct gt_err *err);

/* Runs the command and waits for its end.  Signals that end programs are passed on to the command.
 * *status: as waitpid sets it. */
int gt_preload_run(char **command, int *status, struct gt_err *err);

/* Makes this process end as the command ended: with its exit code, or by its signal. */
int gt_preload_end(int status);

/* Makes a new folder, into which each of the command's processes writes a file, as the environment
 * variable `variable` tells it.  The folder is to be removed also after a failure. */
int gt_preload_folder(struct gt_scratch *folder, const char *variable, struct gt_err *err);

/* Calls visit with each file of the folder, in the order of their names. */
typedef int gt_preload_visit(void *context, const char *path, struct gt_err *err);
int gt_preload_files(const char *folder, gt_preload_visit *visit, void *context,
                     struct gt_err *err);

#endif
