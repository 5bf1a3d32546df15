/* cmd_calibrate.h - measures the rates that a device reaches, for tune doctor, and shows them
 * beside the figures assumed for a device that was not measured. */
#ifndef GT_CMD_CALIBRATE_H
#define GT_CMD_CALIBRATE_H

struct gt_cli;
struct gt_err;

/* Measures the GPU (device: "cuda" or "cuda:1") in a worker process, stores the figures in the
 * database `db` and prints them.  GT_ENOGPU, GT_ENOLIB: there is no GPU, or no driver or compiler.
 */
int gt_cmd_calibrate(struct gt_cli *cli, const char *device, const char *db, struct gt_err *err);

/* Prints the figures of all devices in the database; prints nothing if there are no figures, or no
 * database. */
int gt_cmd_calibrated(struct gt_cli *cli, const char *db, struct gt_err *err);

#endif
