/* results.h - the results that a sweep of the fault tests stored in its database. */
#ifndef GT_TEST_RESULTS_H
#define GT_TEST_RESULTS_H

#include <stdbool.h>

#define MAX_RESULTS 64

struct result {
    char point[64]; /* "FAULT=0,BM=4,BN=16" */
    int fault;
    char status[32], detail[256];
    int stage, attempts;
    double us;
};

struct results {
    struct result row[MAX_RESULTS];
    int rows;
    int tables;                 /* in the database; 0: it is not set up yet */
    int open;                   /* attempts without a trial, which are to be made again */
    int attempts;               /* all attempts */
    char best[MAX_RESULTS][64]; /* "BM=4,BN=16": the winner, then those that tie with it */
    int bests;
};

/* Reads the database; if the file does not exist yet, there are no rows.  False: it cannot be read,
 * and a sentence was printed. */
bool results_read(struct results *results, const char *db);

/* The row of this point, or NULL. */
const struct result *results_find(const struct results *results, const char *point);

#endif
