/* queue.c - the jobs in PostgreSQL, and what the workers of a queue share: the connection and the
 * loop of their work. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cluster/queue.h"
#include "console/cmd_record.h"

#define TEXT GT_PQ_TEXT
#define INT  GT_PQ_INT

static int has_table(struct gt_pq *pq, const char *table, bool *has, struct gt_err *err)
{
    int rc =
        gt_pq_run(pq, "SELECT to_regclass($1) IS NOT NULL", GT_PQ_VALUES(TEXT(table)), false, err);

    *has = !rc && strcmp(gt_pq_get(pq, 0, 0, NULL), "t") == 0;
    return rc;
}

int gt_queue_check(struct gt_pq *pq, struct gt_err *err)
{
    bool has;
    int rc = has_table(pq, "gemmtune.result", &has, err);

    if (rc || has)
        return rc;
    return gt_err_set(err, GT_EDB,
                      "this database of PostgreSQL has no queue; `tune queue submit` makes it");
}

int gt_queue_create(struct gt_pq *pq, struct gt_err *err)
{
    static const char *const sql[] = {
        "SET client_min_messages = warning", /* no notices of IF NOT EXISTS */
        "BEGIN",
        "SELECT pg_advisory_xact_lock(1195724109)", /* two IF NOT EXISTS at the same time would
                                                       collide */
        "CREATE SCHEMA IF NOT EXISTS gemmtune",
        "CREATE TABLE IF NOT EXISTS gemmtune.job ("
        " id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, problem text NOT NULL,"
        " class text NOT NULL, weight double precision NOT NULL, budget text NOT NULL,"
        " state text NOT NULL DEFAULT 'ready'"
        "  CHECK (state IN ('ready', 'leased', 'done', 'failed')),"
        " attempts integer NOT NULL DEFAULT 0, worker text NOT NULL DEFAULT '',"
        " lease_until timestamptz, submitted timestamptz NOT NULL DEFAULT now(),"
        " finished timestamptz, UNIQUE (problem, class, budget))",
        "SELECT setval(pg_get_serial_sequence('gemmtune.job', 'id'),"
        " (extract(epoch FROM now()) * 1000)::bigint)", /* milliseconds: above earlier numbers */
        "CREATE INDEX IF NOT EXISTS job_ready ON gemmtune.job (weight DESC, id)"
        " WHERE state = 'ready'",
        "CREATE INDEX IF NOT EXISTS job_leased ON gemmtune.job (lease_until)"
        " WHERE state = 'leased'",
        "CREATE TABLE IF NOT EXISTS gemmtune.result ("
        " job bigint NOT NULL REFERENCES gemmtune.job (id), worker text NOT NULL,"
        " at timestamptz NOT NULL DEFAULT now(), trials bigint NOT NULL,"
        " database bytea NOT NULL, PRIMARY KEY (job, worker))",
        "CREATE TABLE IF NOT EXISTS gemmtune.device ("
        " class text NOT NULL, nvrtc integer NOT NULL, facts text NOT NULL,"
        " profile boolean NOT NULL, seen timestamptz NOT NULL DEFAULT now(),"
        " PRIMARY KEY (class, nvrtc))",
        "CREATE TABLE IF NOT EXISTS gemmtune.ahead ("
        " job bigint NOT NULL, class text NOT NULL, nvrtc integer NOT NULL, worker text NOT NULL,"
        " lease_until timestamptz NOT NULL, finished timestamptz,"
        " candidates bigint NOT NULL DEFAULT 0, compiled bigint NOT NULL DEFAULT 0,"
        " PRIMARY KEY (job, class, nvrtc))",
        "COMMIT",
    };
    bool has;
    int rc = has_table(pq, "gemmtune.ahead", &has, err); /* the last table that is created */

    if (rc || has) /* IF NOT EXISTS needs the right to create even if all is there */
        return rc;
    for (size_t i = 0; i < sizeof(sql) / sizeof(*sql) && !rc; i++)
        rc = gt_pq_run(pq, sql[i], NULL, 0, false, err);
    if (!rc)
        return GT_OK;
    gt_pq_run(pq, "ROLLBACK", NULL, 0, false, NULL);
    return gt_err_prefix(err, rc, "the schema gemmtune is not there and cannot be made");
}

int gt_queue_submit(struct gt_pq *pq, const char *problem, const char *class_of, double weight,
                    const char *budget, bool *added, struct gt_err *err)
{
    char number[40];
    int rc;

    snprintf(number, sizeof(number), "%.17g", weight);
    rc = gt_pq_run(
        pq,
        "INSERT INTO gemmtune.job (problem, class, weight, budget) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT DO NOTHING",
        GT_PQ_VALUES(TEXT(problem), TEXT(class_of), TEXT(number), TEXT(budget)), false, err);
    *added = !rc && gt_pq_changed(pq) > 0;
    return rc;
}

/* Makes jobs whose lease ran out ready again, or failed. */
static int free_expired(struct gt_pq *pq, struct gt_err *err)
{

    return gt_pq_run(
        pq,
        "UPDATE gemmtune.job SET state = CASE WHEN attempts >= $1::integer THEN 'failed'"
        " ELSE 'ready' END WHERE id IN (SELECT id FROM gemmtune.job WHERE state = 'leased'"
        " AND lease_until < now() FOR UPDATE SKIP LOCKED)",
        GT_PQ_VALUES(INT(GT_QUEUE_ATTEMPTS)), false, err);
}

int gt_queue_take(struct gt_pq *pq, struct gt_queue_job *job, const char *worker,
                  const char *class_of, int64_t lease_s, bool *taken, int64_t *left,
                  struct gt_err *err)
{
    int rc = free_expired(pq, err);

    *taken = false;
    *left = 0;
    if (!rc)
        rc =
            gt_pq_run(pq,
                      "WITH next AS (SELECT id FROM gemmtune.job WHERE state = 'ready'"
                      " AND starts_with($2, class) ORDER BY weight DESC, id LIMIT 1"
                      " FOR UPDATE SKIP LOCKED)"
                      " UPDATE gemmtune.job AS j SET state = 'leased', worker = $1,"
                      " attempts = attempts + 1, lease_until = now() + $3::integer * interval '1 s'"
                      " FROM next WHERE j.id = next.id RETURNING j.id, j.problem, j.budget",
                      GT_PQ_VALUES(TEXT(worker), TEXT(class_of), INT(lease_s)), false, err);
    if (rc)
        return rc;
    *taken = gt_pq_rows(pq) > 0;
    if (!*taken) {
        rc = gt_pq_run(pq, "SELECT count(*) FROM gemmtune.job WHERE state = 'leased'", NULL, 0,
                       false, err);
        *left = rc ? 0 : gt_pq_get_int(pq, 0, 0);
        return rc;
    }
    /* Read as a number, because the id becomes part of a file's name. */
    snprintf(job->id, sizeof(job->id), "%lld", (long long)gt_pq_get_int(pq, 0, 0));
    snprintf(job->problem, sizeof(job->problem), "%s", gt_pq_get(pq, 0, 1, NULL));
    snprintf(job->budget, sizeof(job->budget), "%s", gt_pq_get(pq, 0, 2, NULL));
    return GT_OK;
}

int gt_queue_renew(struct gt_pq *pq, const char *job, const char *worker, int64_t lease_s,
                   struct gt_err *err)
{
    return gt_pq_run(pq,
                     "UPDATE gemmtune.job SET lease_until = now() + $3::integer * interval '1 s'"
                     " WHERE id = $1::bigint AND worker = $2 AND state = 'leased'",
                     GT_PQ_VALUES(TEXT(job), TEXT(worker), INT(lease_s)), false, err);
}

int gt_queue_put(struct gt_pq *pq, const char *job, const char *worker, int64_t trials,
                 const void *database, size_t bytes, bool ends, bool *known, struct gt_err *err)
{
    int rc;

    /* One statement is one transaction. */
    rc = gt_pq_run(pq,
                   "WITH stored AS (INSERT INTO gemmtune.result (job, worker, trials, database)"
                   " SELECT id, $2, $3::bigint, $4 FROM gemmtune.job WHERE id = $1::bigint"
                   " ON CONFLICT DO NOTHING), ended AS (UPDATE gemmtune.job"
                   " SET state = 'done', finished = now(), worker = $2"
                   " WHERE id = $1::bigint AND state <> 'done' AND $5::boolean)"
                   " SELECT FROM gemmtune.job WHERE id = $1::bigint",
                   GT_PQ_VALUES(TEXT(job), TEXT(worker), INT(trials),
                                {.data = database, .bytes = bytes}, INT(ends)),
                   false, err);
    *known = !rc && gt_pq_rows(pq) > 0;
    return rc;
}

int gt_queue_give_back(struct gt_pq *pq, const char *job, const char *worker,
                       enum gt_queue_back how, struct gt_err *err)
{
    return gt_pq_run(pq,
                     "UPDATE gemmtune.job SET attempts = attempts - $3::integer,"
                     " state = CASE WHEN $5::boolean OR attempts - $3::integer >= $4::integer"
                     " THEN 'failed' ELSE 'ready' END"
                     " WHERE id = $1::bigint AND worker = $2 AND state = 'leased'",
                     GT_PQ_VALUES(TEXT(job), TEXT(worker), INT(how == GT_QUEUE_UNTOUCHED),
                                  INT(GT_QUEUE_ATTEMPTS), INT(how == GT_QUEUE_IMPOSSIBLE)),
                     false, err);
}

/* Jobs that have results, but no result of a worker that measures. */
#define ONLY_PREDICTED                                                                        \
    "state = 'done' AND EXISTS (SELECT FROM gemmtune.result AS r WHERE r.job = j.id)"         \
    " AND NOT EXISTS (SELECT FROM gemmtune.result AS r WHERE r.job = j.id AND r.worker LIKE " \
    "'%" GT_QUEUE_MEASURES "')"

int gt_queue_retry(struct gt_pq *pq, bool predicted, int64_t *jobs, struct gt_err *err)
{
    int rc = gt_pq_run(pq,
                       predicted ? "UPDATE gemmtune.job AS j SET state = 'ready', attempts = 0,"
                                   " finished = NULL WHERE " ONLY_PREDICTED
                                 : "UPDATE gemmtune.job SET state = 'ready', attempts = 0"
                                   " WHERE state = 'failed'",
                       NULL, 0, false, err);

    *jobs = rc ? 0 : gt_pq_changed(pq);
    return rc;
}

int gt_queue_count_predicted(struct gt_pq *pq, int64_t *jobs, int64_t *unmarked, struct gt_err *err)
{
    int rc = gt_pq_run(pq,
                       "SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM"
                       " gemmtune.result AS r WHERE r.job = j.id AND " GT_QUEUE_UNMARKED "))"
                       " FROM gemmtune.job AS j WHERE " ONLY_PREDICTED,
                       NULL, 0, false, err);

    *jobs = rc ? 0 : gt_pq_get_int(pq, 0, 0);
    *unmarked = rc ? 0 : gt_pq_get_int(pq, 0, 1);
    return rc;
}

int gt_queue_cancel(struct gt_pq *pq, struct gt_queue_cancelled *cancelled, struct gt_err *err)
{
    int64_t *const count[] = {&cancelled->gone, &cancelled->failed, &cancelled->taken};
    int rc;

    *cancelled = (struct gt_queue_cancelled){0};
    /* All attempts of a job that is being tuned count as made: a worker that gives the job back, or
     * lets its lease run out, ends the job. */
    rc = gt_pq_run(pq,
                   "WITH ready AS MATERIALIZED (SELECT id, EXISTS (SELECT FROM gemmtune.result AS r"
                   " WHERE r.job = j.id) AS begun FROM gemmtune.job AS j WHERE state = 'ready'"
                   " FOR UPDATE), gone AS (DELETE FROM gemmtune.job AS j USING ready"
                   " WHERE j.id = ready.id AND NOT begun RETURNING j.id),"
                   " failed AS (UPDATE gemmtune.job AS j SET state = 'failed' FROM ready"
                   " WHERE j.id = ready.id AND begun RETURNING j.id),"
                   " taken AS (UPDATE gemmtune.job SET attempts = $1::integer + 1"
                   " WHERE state = 'leased' RETURNING id)"
                   " SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM failed),"
                   " (SELECT count(*) FROM taken)",
                   GT_PQ_VALUES(INT(GT_QUEUE_ATTEMPTS)), false, err);
    for (int i = 0; i < 3 && !rc; i++)
        *count[i] = gt_pq_get_int(pq, 0, i);
    return rc;
}

/* ---- what the workers of a queue share ---- */

#define AWAY_FIRST_S 1  /* least seconds between two attempts to reach the server */
#define AWAY_MOST_S  30 /* most seconds, to which the pause grows */
/* A worker gives up after so many refusals: the server may have too many connections for a
 * moment. */
#define REFUSED_MOST 3

static bool interrupted(const struct gt_queue_link *link)
{
    return *link->cli->signals > 0;
}

void gt_queue_note(const struct gt_queue_link *link, const char *sentence)
{
    if (!link->cli->quiet)
        fprintf(link->cli->log, "%s\n", sentence);
}

int gt_queue_print_work(const struct gt_cli *cli, int64_t jobs, int64_t compiled, int64_t found,
                        struct gt_err *err)
{
    return gt_cmd_print_members(cli, err, "format=%s jobs=%g compiled=%g found=%g", GT_QUEUE_FORMAT,
                                (double)jobs, (double)compiled, (double)found);
}

/* Waits, but not after a signal. */
static void wait_for(const struct gt_queue_link *link, double seconds)
{
    struct timespec step = {.tv_nsec = 100 * 1000 * 1000};

    for (double passed = 0; passed < seconds && !interrupted(link); passed += 0.1)
        nanosleep(&step, NULL);
}

void gt_queue_leave(struct gt_queue_link *link)
{
    gt_pq_close(link->pq);
    link->pq = NULL;
}

/* Opens the connection.  The worker may come before the first job, so missing tables are made. */
static int open_link(struct gt_queue_link *link, struct gt_err *err)
{
    bool refused;
    int rc = gt_pq_open(&link->pq, link->address, &refused, err);

    link->refused += refused;
    GT_STEP(rc, gt_queue_create(link->pq, err));
    link->known |= !rc;
    return rc;
}

/* Opens the connection if it is closed, and greets.  Tries again, ever more rarely, as long as the
 * result is GT_EIO.  GT_EINTERRUPTED: a signal came meanwhile.  GT_EIO: a server that has never let
 * this worker in has refused it several times. */
static int reach(struct gt_queue_link *link, const struct gt_queue_duty *duty, void *context,
                 struct gt_err *err)
{
    double pause = AWAY_FIRST_S;
    bool said = false;

    for (;;) {
        struct gt_err why = {0};
        int rc = link->pq ? GT_OK : open_link(link, &why);

        GT_STEP(rc, duty->greet(context, &why));
        if (rc != GT_EIO || gt_pq_is_open(link->pq)) { /* still open: the error is a file's */
            if (rc && err)
                *err = why;
            return rc;
        }
        gt_queue_leave(link);
        if (!link->known && link->refused >= REFUSED_MOST)
            return gt_err_pass(err, &why, rc);
        if (!said)
            gt_queue_note(link, why.msg);
        said = true;
        if (interrupted(link))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted while the server is away");
        wait_for(link, pause);
        pause = pause * 2 > AWAY_MOST_S ? AWAY_MOST_S : pause * 2;
    }
}

int gt_queue_serve(struct gt_queue_link *link, const struct gt_queue_duty *duty, void *context,
                   struct gt_err *err)
{
    for (;;) {
        int64_t left = 0;
        bool taken = false;
        int rc = reach(link, duty, context, err);

        if (rc)
            return rc;
        if (interrupted(link))
            return gt_err_set(err, GT_EINTERRUPTED, "%s", duty->interrupted);
        rc = duty->work(context, &taken, &left, err);
        if (rc == GT_EIO && !gt_pq_is_open(link->pq)) { /* the loop reaches the server again */
            gt_queue_leave(link);
            wait_for(link, 1);
            continue;
        }
        if (rc || (!taken && !left && !duty->stay))
            return rc;
        if (!taken)
            wait_for(link, 1);
    }
}

void gt_queue_name(char name[GT_QUEUE_NAME], const char *mark)
{
    char host[48] = "host";
    struct timespec now;

    gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    for (char *at = host; *at; at++)
        if (*at == '/' || *at == ',')
            *at = '-';
    snprintf(name, GT_QUEUE_NAME, "%s-%ld-%lld.%09ld%s", host, (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec, mark);
}

void gt_queue_class(char class_of[GT_QUEUE_CLASS], const struct gt_device *device)
{
    snprintf(class_of, GT_QUEUE_CLASS, "%s/%d SMs/%.0f W/driver %d", device->name, device->sms,
             device->power_w, device->driver);
}
