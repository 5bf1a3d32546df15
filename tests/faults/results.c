/* results.c - reads trials, attempts and winners of a tuning database for the fault tests. */
#include "results.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void take_row(struct results *results, sqlite3_stmt *statement);

static void copy(char *to, size_t size, sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);

    snprintf(to, size, "%s", text ? (const char *)text : "");
}

static void take_trial(struct results *results, sqlite3_stmt *statement)
{
    struct result *row = &results->row[results->rows];

    if (results->rows == MAX_RESULTS)
        return;
    results->rows++;
    copy(row->point, sizeof(row->point), statement, 0);
    copy(row->status, sizeof(row->status), statement, 1);
    copy(row->detail, sizeof(row->detail), statement, 2);
    row->stage = sqlite3_column_int(statement, 3);
    row->us = sqlite3_column_double(statement, 4);
    row->attempts = sqlite3_column_int(statement, 5);
    if (sscanf(row->point, "FAULT=%d", &row->fault) != 1)
        row->fault = -1;
}

static void take_sums(struct results *results, sqlite3_stmt *statement)
{
    results->open = sqlite3_column_int(statement, 0);
    results->attempts = sqlite3_column_int(statement, 1);
}

static void take_tables(struct results *results, sqlite3_stmt *statement)
{
    results->tables = sqlite3_column_int(statement, 0);
}

/* Takes the tile of a point, which the kernels `planted` and `sound` have in common. */
static void take_best(struct results *results, sqlite3_stmt *statement)
{
    char point[64];
    const char *tile;

    copy(point, sizeof(point), statement, 0);
    tile = strstr(point, ",BM=");
    if (results->bests == MAX_RESULTS)
        return;
    snprintf(results->best[results->bests++], sizeof(results->best[0]), "%s%s",
             strncmp(point, "FAULT=0,", 8) ? "faulty " : "", tile ? tile + 1 : point);
}

static bool query(sqlite3 *db, struct results *results, const char *sql, take_row *take)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        take(results, statement);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        printf("%s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE;
}

bool results_read(struct results *results, const char *path)
{
    sqlite3 *db = NULL;
    bool good;

    *results = (struct results){0};
    if (access(path, F_OK))
        return true;
    good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;
    if (!good)
        printf("%s: %s\n", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 5000);
    good = good && query(db, results, "SELECT count(*) FROM sqlite_schema", take_tables);
    if (good && !results->tables) { /* the sweep was killed before it made any table */
        sqlite3_close(db);
        return true;
    }
    good =
        good &&
        query(db, results,
              "SELECT t.point, t.status, t.detail, t.stage, t.us, coalesce(a.count, 0) FROM "
              "trial AS t LEFT JOIN attempt AS a USING (device, toolchain, kernel, problem, "
              "timing, point) WHERE t.provenance = 'measured' ORDER BY t.point",
              take_trial) &&
        query(db, results,
              "SELECT coalesce(sum(open AND count < 3), 0), coalesce(sum(count), 0) FROM attempt",
              take_sums) &&
        query(db, results, "SELECT point FROM winner WHERE provenance = 'measured'", take_best) &&
        query(db, results, "SELECT point FROM tie WHERE chosen = 0", take_best);
    sqlite3_close(db);
    return good;
}

const struct result *results_find(const struct results *results, const char *point)
{
    int i;

    for (i = 0; i < results->rows; i++) {
        if (!strcmp(results->row[i].point, point))
            return &results->row[i];
    }
    return NULL;
}
