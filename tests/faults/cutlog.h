/* cutlog.h - a record of the log that cutlog.c writes and powercut.c reads. */
#ifndef GT_CUTLOG_H
#define GT_CUTLOG_H

#include <stdint.h>

enum cut_op { CUT_WRITE = 1, CUT_TRUNCATE, CUT_SYNC, CUT_UNLINK, CUT_RENAME };

struct cut_record {
    int32_t op;
    uint32_t size;  /* bytes that follow, of a write */
    int64_t offset; /* of a write; the size of a truncation */
    char path[96];  /* below the folder */
    char other[96]; /* the new path of a rename */
};

#endif
