/* processors.h - counts how many compilers can run at once: the processors that the affinity mask
 * and the control groups allow. */
#ifndef GT_PROCESSORS_H
#define GT_PROCESSORS_H

/* At least 1. */
int gt_processors(void);

/* The processor time that control groups allow, in processors; 0: no limit, or none that can be
 * read.  It is the least limit of the groups named in the file `groups` (/proc/self/cgroup) and of
 * their ancestors below the folder `root` (/sys/fs/cgroup).  It reads version 2 (cpu.max) and
 * version 1 (cpu.cfs_quota_us). */
double gt_processors_quota(const char *groups, const char *root);

#endif
