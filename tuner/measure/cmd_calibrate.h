/* cmd_calibrate.h - what devices reach, for tune doctor: measures it, shows it beside what is
 * assumed without a measurement. */
#ifndef GT_CMD_CALIBRATE_H
#define GT_CMD_CALIBRATE_H

struct gt_cli;
struct gt_err;

/* Measures the GPU (device: "cuda" or "cuda:1") in a worker process, keeps the figures in the
 * database and prints them.  GT_ENOGPU, GT_ENOLIB: there is none. */
int gt_cmd_calibrate(struct gt_cli *cli, const char *device, const char *db, struct gt_err *err);

/* Prints the figures that the database holds, of all devices; nothing where it holds none or is not
 * there. */
int gt_cmd_calibrated(struct gt_cli *cli, const char *db, struct gt_err *err);

#endif
