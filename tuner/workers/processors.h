/* processors.h - how many compilers can run at once: what the affinity mask and the control groups
 * leave of the processors that are there. */
#ifndef GT_PROCESSORS_H
#define GT_PROCESSORS_H

/* At least 1. */
int gt_processors(void);

/* Processors' worth of time that the control groups named in `groups` (/proc/self/cgroup) allow,
 * their files being below `root` (/sys/fs/cgroup): the least of the group's and its ancestors'; 0:
 * no limit, or none that can be read.  Version 2 (cpu.max) and 1 (cpu.cfs_quota_us). */
double gt_processors_quota(const char *groups, const char *root);

#endif
