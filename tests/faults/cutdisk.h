/* cutdisk.h - part of powercut.c: the disk on which a sweep's database lies, as its log tells it.
 * Whatever fails ends the test. */
#ifndef CUTDISK_H
#define CUTDISK_H

#include "base/stats.h"
#include "cutlog.h"

#include <stdbool.h>
#include <stddef.h>

#define SECTOR    512
#define MAX_FILES 16

struct bytes {
    unsigned char *at;
    size_t size, capacity;
};

/* A file of the folder, as the program sees it and as it was at its last sync. */
struct file {
    char path[96];
    struct bytes now, synced;
    unsigned char *dirty; /* a flag for each sector of `now` */
    size_t sectors;
};

struct disk {
    const char *folder; /* images of it are made in the folder `disk` of that */
    struct file file[MAX_FILES];
    size_t files;
    struct gt_random random;
};

void die(const char *what); /* with the reason of errno */

/* Makes an image of the disk.  lossy: a random half of the unsynced sectors is lost; otherwise all
 * of them are, so that only durable content is left. */
void disk_image(struct disk *disk, bool lossy);

/* Does what a record of the log says; bytes: of a write. */
void disk_apply(struct disk *disk, const struct cut_record *record, const unsigned char *bytes);

/* Applies a sync, after which `check` is called.  lying: then the disk loses it again. */
void disk_sync(struct disk *disk, const struct cut_record *record, bool lying,
               void (*check)(void *context), void *context);

void disk_release(struct disk *disk);

#endif
