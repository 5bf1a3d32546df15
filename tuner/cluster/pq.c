/* pq.c - a connection to PostgreSQL; see pq.h. */
#include "cluster/pq.h"

#include "base/clock.h"
#include "base/err.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_MS 30000  /* silence of the server after which a connection counts as cut */
#define ANSWER_MS  900000 /* for a whole answer: a slower answer counts as endless */

enum { /* values of libpq-fe.h and postgres_ext.h, part of libpq's ABI */
       CONNECTION_OK = 0,
       COMMAND_OK = 1,
       TUPLES_OK = 2,
       PING_OK = 0,
       PING_NO_ATTEMPT = 3,
       SQLSTATE = 'C'
};

/* PQconninfoOption of libpq-fe.h, likewise. */
struct pq_option {
    char *keyword, *environment, *compiled, *value, *label, *display;
    int size;
};

/* X(field, symbol, result, parameters) */
#define PQ_MAP(X)                                                                                  \
    X(parse, PQconninfoParse, struct pq_option *, (const char *, char **))                         \
    X(free_options, PQconninfoFree, void, (struct pq_option *))                                    \
    X(free_text, PQfreemem, void, (void *))                                                        \
    X(connect, PQconnectdbParams, void *, (const char *const *, const char *const *, int))         \
    X(ping, PQpingParams, int, (const char *const *, const char *const *, int))                    \
    X(status, PQstatus, int, (const void *))                                                       \
    X(message, PQerrorMessage, char *, (const void *))                                             \
    X(finish, PQfinish, void, (void *))                                                            \
    X(send, PQsendQueryParams, int,                                                                \
      (void *, const char *, int, const unsigned *, const char *const *, const int *, const int *, \
       int))                                                                                       \
    X(set_nonblocking, PQsetnonblocking, int, (void *, int))                                       \
    X(flush, PQflush, int, (void *))                                                               \
    X(consume, PQconsumeInput, int, (void *))                                                      \
    X(busy, PQisBusy, int, (void *))                                                               \
    X(descriptor, PQsocket, int, (const void *))                                                   \
    X(result, PQgetResult, void *, (void *))                                                       \
    X(result_status, PQresultStatus, int, (const void *))                                          \
    X(result_message, PQresultErrorMessage, char *, (const void *))                                \
    X(result_field, PQresultErrorField, char *, (const void *, int))                               \
    X(clear, PQclear, void, (void *))                                                              \
    X(rows, PQntuples, int, (const void *))                                                        \
    X(changed, PQcmdTuples, char *, (void *))                                                      \
    X(value, PQgetvalue, char *, (const void *, int, int))                                         \
    X(length, PQgetlength, int, (const void *, int, int))

#define PQ_FIELD(field, symbol, result, parameters) result(*field) parameters;

struct gt_pq {
    struct {
        PQ_MAP(PQ_FIELD)
    } api;
    void *library, *connection, *answer;
};

static int load(struct gt_pq *pq, struct gt_err *err)
{
    void *found;

    pq->library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!pq->library)
        return gt_err_set(err, GT_ENOLIB,
                          "libpq.so.5, PostgreSQL's client library, is not installed (Debian: "
                          "libpq5): %s",
                          dlerror());
#define PQ_LOAD(field, symbol, result, parameters)                                   \
    found = dlsym(pq->library, #symbol);                                             \
    if (!found)                                                                      \
        return gt_err_set(err, GT_ENOLIB, "libpq.so.5 has no function %s", #symbol); \
    memcpy(&pq->api.field, &found, sizeof(found));
    PQ_MAP(PQ_LOAD)
    return GT_OK;
}

/* Whether a password stands in "postgresql://user:password@host", in "... password = ..." or in any
 * other spelling that libpq accepts; an address that libpq does not accept (no option) is judged by
 * its look. */
static bool has_password(const struct pq_option *option, const char *address)
{
    const char *user = strstr(address, "://");
    const char *at = user ? strchr(user + 3, '@') : NULL;
    const char *colon = user ? strchr(user + 3, ':') : NULL;
    bool found = !option && ((at && colon && colon < at) || strstr(address, "password"));

    for (const struct pq_option *each = option; each && each->keyword; each++)
        found |= each->value && *each->value && strstr(each->keyword, "password");
    return found;
}

/* Checks the words of an address, without asking a server. */
static int check_words(const struct gt_pq *pq, const char *address, struct gt_err *err)
{
    char *why = NULL;
    struct pq_option *option = pq->api.parse(address, &why);
    int rc = GT_OK;

    if (has_password(option, address))
        rc = gt_err_set(err, GT_ESYNTAX,
                        "the address of the queue has a password in it, which others could read; "
                        "put it into ~/.pgpass (see PostgreSQL's manual, The Password File)");
    else if (!option && why)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "the address of the queue: %.*s; write postgresql://HOST/DATABASE",
                        (int)strcspn(why, "\n"), why);
    else if (!option)
        rc = gt_err_nomem(err);
    if (why)
        pq->api.free_text(why);
    if (option)
        pq->api.free_options(option);
    return rc;
}

/* Opens the library and checks the address with it. */
static int prepare(struct gt_pq *pq, const char *address, struct gt_err *err)
{
    int rc;

    if (!strstr(address, "://") && !strchr(address, '='))
        return gt_err_set(err, GT_ESYNTAX, "\"%s\" is no address; write postgresql://HOST/DATABASE",
                          address);
    rc = load(pq, err);
    GT_STEP(rc, check_words(pq, address, err));
    return rc;
}

int gt_pq_check_address(const char *address, struct gt_err *err)
{
    struct gt_pq pq = {
        0}; /* the library stays: it may have registered what unloading would break */

    return prepare(&pq, address, err);
}

/* The server's sentences end with line feeds. */
static int fail(int code, const char *said, struct gt_err *err)
{
    const size_t length = strcspn(said, "\n");

    return gt_err_set(err, code, "PostgreSQL: %.*s", (int)length,
                      length ? said : "the connection is gone");
}

bool gt_pq_is_address(const char *named)
{
    static const char *const head[] = {"postgresql://", "postgres://", "service="};
    bool found = false;

    for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++)
        found |= named && strncmp(named, head[i], strlen(head[i])) == 0;
    return found;
}

/* Opens the connection.  If that fails although the server answers, the server refuses this user,
 * database or line. libpq asks no server if it does not know a value of the address, such as
 * sslmode=maybe. */
static int connect_to(struct gt_pq *pq, const char *address, bool *refused, struct gt_err *err)
{
    static const char *const keyword[] = {"dbname", "connect_timeout", "tcp_user_timeout",
                                          "application_name", NULL};
    const char *const value[] = {address, "10", "20000", "gemmtune", NULL};
    int answered;

    pq->connection = pq->api.connect(keyword, value, 1);
    if (!pq->connection)
        return gt_err_nomem(err);
    if (pq->api.status(pq->connection) == CONNECTION_OK)
        return pq->api.set_nonblocking(pq->connection, 1)
                   ? fail(GT_EIO, pq->api.message(pq->connection), err)
                   : GT_OK;
    answered = pq->api.ping(keyword, value, 1);
    if (refused)
        *refused = answered == PING_OK;
    return fail(answered == PING_NO_ATTEMPT ? GT_ESYNTAX : GT_EIO, pq->api.message(pq->connection),
                err);
}

int gt_pq_open(struct gt_pq **out, const char *address, bool *refused, struct gt_err *err)
{
    struct gt_pq *pq;
    int rc;

    *out = NULL;
    if (refused)
        *refused = false;
    pq = calloc(1, sizeof(*pq));
    if (!pq)
        return gt_err_nomem(err);
    rc = prepare(pq, address, err);
    GT_STEP(rc, connect_to(pq, address, refused, err));
    if (rc)
        gt_pq_close(pq);
    else
        *out = pq;
    return rc;
}

static void drop_answer(struct gt_pq *pq)
{
    if (pq->answer)
        pq->api.clear(pq->answer);
    pq->answer = NULL;
}

static void drop_connection(struct gt_pq *pq)
{
    if (pq->connection)
        pq->api.finish(pq->connection);
    pq->connection = NULL;
}

void gt_pq_close(struct gt_pq *pq)
{
    if (!pq)
        return;
    drop_answer(pq);
    drop_connection(pq);
    free(pq); /* the library stays: it may have registered what unloading would break */
}

/* Waits until the whole statement is sent, and then for the whole answer.  Results of many problems
 * take long on a slow line, so the connection counts as cut only if the server takes and sends
 * nothing. */
static int wait_for_answer(struct gt_pq *pq, struct gt_err *err)
{
    const int64_t end = gt_clock_ms() + ANSWER_MS;
    int64_t heard = gt_clock_ms();
    int unsent;

    while ((unsent = pq->api.flush(pq->connection)) > 0 || pq->api.busy(pq->connection)) {
        struct pollfd fd = {.fd = pq->api.descriptor(pq->connection),
                            .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        const int64_t now = gt_clock_ms();

        if (unsent < 0)
            return fail(GT_EIO, pq->api.message(pq->connection), err);

        if (now >= end)
            return gt_err_set(err, GT_EIO, "PostgreSQL: the answer had no end after %d minutes",
                              ANSWER_MS / 60000);
        if (now - heard >= SILENCE_MS)
            return gt_err_set(err, GT_EIO, "PostgreSQL: no answer for %d s", SILENCE_MS / 1000);
        if (poll(&fd, 1, (int)(SILENCE_MS - (now - heard))) <= 0)
            continue;
        if (!pq->api.consume(pq->connection))
            return fail(GT_EIO, pq->api.message(pq->connection), err);
        heard = gt_clock_ms();
    }
    return GT_OK;
}

/* Explains a failed statement.  GT_EIO: the statement may be run again as it is, because the
 * connection broke, or because of the class of SQLSTATE: the server lacks resources (53: disk,
 * memory, connections), is being ended or started (57P), or gave the statement up for another one
 * (40). */
static int refuse(const struct gt_pq *pq, struct gt_err *err)
{
    static const char *const passing[] = {"53", "57P", "40"};
    const char *state = pq->api.result_field(pq->answer, SQLSTATE);
    bool again = pq->api.status(pq->connection) != CONNECTION_OK;
    struct gt_err why = {0};
    int rc;

    for (size_t i = 0; state && i < sizeof(passing) / sizeof(*passing); i++)
        again |= strncmp(state, passing[i], strlen(passing[i])) == 0;
    rc = fail(again ? GT_EIO : GT_EDB, pq->api.result_message(pq->answer), &why);
    return gt_err_set(err, rc, "%s%s", why.msg,
                      state && strcmp(state, "42501") == 0
                          ? "; the rights of roles are in tuner/CLUSTER.md"
                          : "");
}

/* Takes the answer and the results behind it, which ends the statement. */
static int take_answer(struct gt_pq *pq, struct gt_err *err)
{
    int rc = wait_for_answer(pq, err), status;
    void *more;

    if (rc)
        return rc;
    pq->answer = pq->api.result(pq->connection);
    if (!pq->answer)
        return fail(GT_EIO, pq->api.message(pq->connection), err);
    while (!(rc = wait_for_answer(pq, err)) && (more = pq->api.result(pq->connection)))
        pq->api.clear(more);
    status = pq->api.result_status(pq->answer);
    return rc || status == COMMAND_OK || status == TUPLES_OK ? rc : refuse(pq, err);
}

int gt_pq_run(struct gt_pq *pq, const char *sql, const struct gt_pq_value *value, int values,
              bool binary, struct gt_err *err)
{
    const char *data[16];
    char integer[16][24];
    int length[16], format[16], rc = GT_OK;

    drop_answer(pq);
    if (!pq->connection)
        return gt_err_set(err, GT_EIO, "PostgreSQL: the connection is gone");
    for (int i = 0; i < values; i++) {
        snprintf(integer[i], sizeof(integer[i]), "%lld", (long long)value[i].integer);
        data[i] = value[i].data ? value[i].data : integer[i];
        length[i] = (int)value[i].bytes;
        format[i] = value[i].bytes > 0;
    }
    if (!pq->api.send(pq->connection, sql, values, NULL, data, length, format, binary))
        rc = fail(GT_EIO, pq->api.message(pq->connection), err);
    GT_STEP(rc, take_answer(pq, err));
    if (rc == GT_EIO)
        drop_connection(pq);
    return rc;
}

bool gt_pq_is_open(const struct gt_pq *pq)
{
    return pq && pq->connection;
}

int gt_pq_rows(const struct gt_pq *pq)
{
    return pq->answer ? pq->api.rows(pq->answer) : 0;
}

int64_t gt_pq_changed(const struct gt_pq *pq)
{
    return pq->answer ? strtoll(pq->api.changed(pq->answer), NULL, 10) : 0;
}

const char *gt_pq_get(const struct gt_pq *pq, int row, int column, size_t *bytes)
{
    if (bytes)
        *bytes = (size_t)pq->api.length(pq->answer, row, column);
    return pq->api.value(pq->answer, row, column);
}

int64_t gt_pq_get_int(const struct gt_pq *pq, int row, int column)
{
    return strtoll(gt_pq_get(pq, row, column, NULL), NULL, 10);
}
