/* pq.h - a connection to PostgreSQL through libpq, which is loaded at run time: without libpq only
 * --queue and `tune queue` do not work.
 *
 * Users, passwords and TLS are libpq's: ~/.pgpass, PGPASSFILE, PGSSLMODE and so on.  An address
 * with a password is refused, because command lines and databases would show the password.  One
 * thread uses a connection. */
#ifndef GT_PQ_H
#define GT_PQ_H

#include "gemmtune.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_pq;

/* A value of a statement: a text, bytes that are sent as they are, or an integer. */
struct gt_pq_value {
    const void *data; /* NULL: the integer */
    size_t bytes;     /* 0: a text, which ends with NUL */
    int64_t integer;
};
#define GT_PQ_TEXT(text) ((struct gt_pq_value){.data = (text)})
#define GT_PQ_INT(value) ((struct gt_pq_value){.integer = (value)})
/* The values of a statement and their number, at most 16: two arguments of gt_pq_run. */
#define GT_PQ_VALUES(...)                      \
    (const struct gt_pq_value[]){__VA_ARGS__}, \
        (int)(sizeof((struct gt_pq_value[]){__VA_ARGS__}) / sizeof(struct gt_pq_value))

/* GT_ENOLIB: there is no libpq; GT_ESYNTAX: libpq cannot read the address, or the address has a
 * password.  No server is asked. */
int gt_pq_check_address(const char *address, struct gt_err *err);

/* GT_ENOLIB: there is no libpq; GT_EIO: the server does not answer, or refuses (then *refused,
 * which may be NULL, is true); GT_ESYNTAX: as gt_pq_check_address, or a value is wrong. */
int gt_pq_open(struct gt_pq **pq, const char *address, bool *refused, struct gt_err *err);
void gt_pq_close(struct gt_pq *pq); /* NULL accepted */

/* Runs one statement with parameters $1... and keeps its rows until the next statement.  binary:
 * columns come as the server stores them, for bytes.  GT_EIO: the connection is gone, the server
 * was silent for half a minute, its answer had no end after a quarter of an hour, or it cannot run
 * statements now (no space on its disk, it shuts down); the connection is then closed.  GT_EDB: the
 * statement failed; the sentence is the server's. */
int gt_pq_run(struct gt_pq *pq, const char *sql, const struct gt_pq_value *value, int values,
              bool binary, struct gt_err *err);

/* Whether the name is an address of a PostgreSQL database, and not a file. */
bool gt_pq_is_address(const char *named);

bool gt_pq_is_open(const struct gt_pq *pq); /* false: the connection is gone; NULL accepted */
int gt_pq_rows(const struct gt_pq *pq);
int64_t gt_pq_changed(const struct gt_pq *pq); /* rows that the statement wrote */
/* Valid until the next statement; "" for NULL.  *bytes may be NULL. */
const char *gt_pq_get(const struct gt_pq *pq, int row, int column, size_t *bytes);
int64_t gt_pq_get_int(const struct gt_pq *pq, int row, int column);

#endif
