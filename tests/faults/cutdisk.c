/* cutdisk.c - part of powercut.c: files as a program sees them and as they were at their last sync,
 * and images of what a disk may hold after a power cut. */
#include "cutdisk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void die(const char *what)
{
    perror(what);
    exit(2);
}

static void resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->capacity) {
        bytes->capacity = 2 * size;
        bytes->at = realloc(bytes->at, bytes->capacity);
        if (!bytes->at)
            die("realloc");
    }
    if (size > bytes->size)
        memset(bytes->at + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static struct file *find_file(struct disk *disk, const char *path, bool make)
{
    for (size_t i = 0; i < disk->files; i++)
        if (!strcmp(disk->file[i].path, path))
            return &disk->file[i];
    if (!make)
        return NULL;
    if (disk->files == MAX_FILES)
        die("more files than are expected");
    snprintf(disk->file[disk->files].path, sizeof(disk->file[0].path), "%s", path);
    return &disk->file[disk->files++];
}

static void forget(struct disk *disk, struct file *file)
{
    free(file->now.at);
    free(file->synced.at);
    free(file->dirty);
    *file = disk->file[--disk->files];
    memset(&disk->file[disk->files], 0, sizeof(*file));
}

static void mark_dirty(struct file *file, size_t from, size_t to)
{
    size_t sectors = (to + SECTOR - 1) / SECTOR;

    if (sectors > file->sectors) {
        file->dirty = realloc(file->dirty, sectors);
        if (!file->dirty)
            die("realloc");
        memset(file->dirty + file->sectors, 0, sectors - file->sectors);
        file->sectors = sectors;
    }
    for (size_t i = from / SECTOR; i < sectors; i++)
        file->dirty[i] = 1;
}

static void write_file(const struct disk *disk, const struct file *file, const unsigned char *bytes,
                       size_t size)
{
    char path[256];
    FILE *to;

    snprintf(path, sizeof(path), "%s/disk%s", disk->folder, file->path);
    to = fopen(path, "w");
    if (!to || (size && fwrite(bytes, 1, size, to) != size) || fclose(to))
        die(path);
}

void disk_image(struct disk *disk, bool lossy)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -rf '%s/disk'", disk->folder);
    if (system(command))
        die(command);
    snprintf(command, sizeof(command), "%s/disk", disk->folder);
    if (mkdir(command, 0700))
        die(command);
    for (size_t i = 0; i < disk->files; i++) {
        struct file *file = &disk->file[i];
        struct bytes image = {0};

        if (!lossy) {
            write_file(disk, file, file->synced.at, file->synced.size);
            continue;
        }
        resize(&image, file->now.size);
        if (image.size)
            memcpy(image.at, file->now.at, image.size);
        for (size_t s = 0; s < file->sectors && s * SECTOR < image.size; s++) {
            size_t left = image.size - s * SECTOR, size = left < SECTOR ? left : SECTOR;
            size_t old = file->synced.size > s * SECTOR ? file->synced.size - s * SECTOR : 0;

            if (!file->dirty[s] || gt_random_below(&disk->random, 2))
                continue;
            memset(image.at + s * SECTOR, 0, size);
            memcpy(image.at + s * SECTOR, file->synced.at + s * SECTOR, old < size ? old : size);
        }
        write_file(disk, file, image.at, image.size);
        free(image.at);
    }
}

void disk_apply(struct disk *disk, const struct cut_record *record, const unsigned char *bytes)
{
    struct file *file = find_file(disk, record->path, record->op <= CUT_TRUNCATE), *other;
    size_t offset = (size_t)record->offset;

    if (!file)
        return;
    switch (record->op) {
    case CUT_WRITE:
        if (offset + record->size > file->now.size)
            resize(&file->now, offset + record->size);
        memcpy(file->now.at + offset, bytes, record->size);
        mark_dirty(file, offset, offset + record->size);
        break;
    case CUT_TRUNCATE:
        resize(&file->now, offset);
        mark_dirty(file, offset, offset);
        break;
    case CUT_SYNC:
        resize(&file->synced, file->now.size);
        if (file->now.size)
            memcpy(file->synced.at, file->now.at, file->now.size);
        memset(file->dirty, 0, file->sectors);
        break;
    case CUT_UNLINK:
        forget(disk, file);
        break;
    case CUT_RENAME:
        other = find_file(disk, record->other, false);
        if (other)
            forget(disk, other);
        file = find_file(disk, record->path, false);
        snprintf(file->path, sizeof(file->path), "%s", record->other);
        break;
    default:
        break;
    }
}

void disk_sync(struct disk *disk, const struct cut_record *record, bool lying,
               void (*check)(void *context), void *context)
{
    struct file *file = find_file(disk, record->path, false);
    struct bytes before = {0};

    if (!file)
        return;
    resize(&before, file->synced.size);
    if (before.size)
        memcpy(before.at, file->synced.at, before.size);
    disk_apply(disk, record, NULL);
    check(context);
    if (lying && strstr(file->path, "-wal")) {
        free(file->synced.at);
        file->synced = before;
        memset(file->dirty, 1, file->sectors);
    } else {
        free(before.at);
    }
}

void disk_release(struct disk *disk)
{
    while (disk->files)
        forget(disk, &disk->file[0]);
}
