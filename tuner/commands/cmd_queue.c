/* cmd_queue.c - tune queue submit|status|retry|cancel|export: manages the list of problems in
 * PostgreSQL that the workers of `tune --queue` tune. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cluster/queue.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "problem/problem.h"
#include "session/cmd_session.h"

struct options {
    struct gt_problem_options problem;
    const char *budget, *class_of, *db;
    int64_t seed;
    bool predicted;
};

#define NAMED_MOST 8 /* jobs of each kind that status names */

static const struct gt_option option_table[] = {
    GT_TEXT(options, budget, "budget", 'b', "BUDGET",
            "submit: of each problem, as of a sweep (default: 10s)"),
    GT_TEXT(
        options, class_of, "class", 0, "CLASS",
        "submit: only for GPUs whose class begins so, such as \"NVIDIA H200\" (default: for any)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "export: database to merge into, created if missing (default: as of a sweep)"),
    GT_INTEGER(options, seed, "seed", 0, "N", 1, INT64_MAX,
               "submit: seed of what --random draws (default: 1)"),
    GT_FLAG(options, predicted, "predicted", 0,
            "retry: the jobs that ended without a measured result, not those that failed"),
    GT_OPTIONS_END,
};

/* Says how many jobs of the queue have ended without being measured. */
static int tell_predicted(FILE *to, struct gt_pq *pq, struct gt_err *err)
{
    int64_t jobs = 0, unmarked = 0;
    int rc = gt_queue_count_predicted(pq, &jobs, &unmarked, err);

    if (rc || !jobs)
        return rc;
    fprintf(to, "%lld job%s ended ", (long long)jobs, jobs == 1 ? "" : "s");
    if (unmarked)
        fprintf(
            to,
            "with no result that is known to be measured (the older programs whose results %lld "
            "of them ha%s do not say)",
            (long long)unmarked, unmarked == 1 ? "s" : "ve");
    else
        fprintf(to, "with predictions only, made without a GPU");
    fprintf(to, "; `tune queue retry --predicted` makes %s ready again\n",
            jobs == 1 ? "it" : "them");
    return GT_OK;
}

/* Submits jobs.  The connection is opened last, so that a mistake in the command is reported
 * without a server. */
static int submit(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const char *budget = options->budget ? options->budget : "10s";
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    struct gt_budget parsed;
    struct gt_pq *pq = NULL;
    double *weight = NULL;
    size_t count = 0, fresh = 0;
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = gt_budget_parse(&parsed, budget, err);

    asked.seed = options->seed;
    GT_STEP(rc, gt_session_problems(cli, NULL, &problem, &weight, &count, &asked, err));
    GT_STEP(rc, gt_pq_open(&pq, cli->argument[1], NULL, err));
    GT_STEP(rc, gt_queue_create(pq, err));
    for (size_t i = 0; i < count && !rc; i++) {
        bool added = false;

        gt_problem_format(&problem[i], text);
        rc = gt_queue_submit(pq, text, options->class_of ? options->class_of : "", weight[i],
                             budget, &added, err);
        fresh += added;
    }
    if (!rc && !cli->quiet)
        fprintf(cli->log, "%zu of %zu problems submitted%s\n", fresh, count,
                fresh < count ? "; the others were there already" : "");
    if (!rc && !cli->quiet && fresh < count)
        tell_predicted(cli->log, pq, NULL); /* a user who may submit need not be allowed to read */
    if (!rc && cli->json)
        rc = gt_cmd_print_members(cli, err, "format=%s submitted=%g known=%g", GT_QUEUE_FORMAT,
                                  (double)fresh, (double)(count - fresh));
    gt_pq_close(pq);
    free(problem);
    free(weight);
    return rc;
}

static int status_ahead(struct gt_cli *cli, struct gt_pq *pq, cJSON *json, struct gt_err *err)
{
    int64_t problems, cubins;
    int rc = gt_queue_create(pq, err); /* a queue of an earlier version gets the missing table */

    GT_STEP(rc, gt_queue_count_ahead(pq, &problems, &cubins, err));
    if (!rc && json)
        gt_json_object(json, "ahead", "problems=%g cubins=%g", (double)problems, (double)cubins);
    else if (!rc && problems)
        fprintf(cli->out, "compiled ahead: %lld problems, %lld cubins\n", (long long)problems,
                (long long)cubins);
    return rc;
}

/* Prints, after `what`, the problems of the jobs that the query finds, and the classes that the
 * jobs are for. */
static int name_jobs(struct gt_cli *cli, struct gt_pq *pq, cJSON *json, const char *key,
                     const char *what, const char *sql, struct gt_err *err)
{
    int rc = gt_pq_run(pq, sql, NULL, 0, false, err);
    cJSON *list = json && !rc ? cJSON_AddArrayToObject(json, key) : NULL;
    const int jobs = rc ? 0 : gt_pq_rows(pq);

    if (jobs && !json)
        fprintf(cli->out, "%s:", what);
    for (int i = 0; i < jobs; i++) {
        char problem[GT_PROBLEM_TEXT_MAX], class_of[192];

        gt_copy_clean(problem, sizeof(problem), gt_pq_get(pq, i, 0, NULL));
        gt_copy_clean(class_of, sizeof(class_of), gt_pq_get(pq, i, 1, NULL));
        if (json)
            cJSON_AddItemToArray(list, cJSON_CreateString(problem));
        else if (i < NAMED_MOST)
            fprintf(cli->out, "%s %s%s%s%s", i ? "," : "", problem, *class_of ? " (for " : "",
                    class_of, *class_of ? ")" : "");
    }
    if (jobs > NAMED_MOST && !json)
        fprintf(cli->out, " and %d more", jobs - NAMED_MOST);
    if (jobs && !json)
        fputc('\n', cli->out);
    return rc;
}

/* Prints the speed of the queue: the jobs that ended in the last hour, and the time that the other
 * jobs will take at that rate. */
static int status_rate(struct gt_cli *cli, struct gt_pq *pq, cJSON *json, struct gt_err *err)
{
    static const char sql[] =
        "SELECT count(DISTINCT worker) FILTER (WHERE state = 'leased'),"
        " count(*) FILTER (WHERE state = 'done' AND finished > now() - interval '1 hour'),"
        " count(*) FILTER (WHERE state IN ('ready', 'leased')),"
        " extract(epoch FROM now() - greatest(min(submitted), now() - interval '1 hour'))"
        " FROM gemmtune.job";
    int rc = gt_pq_run(pq, sql, NULL, 0, false, err);
    double value[4] = {0};

    if (rc)
        return rc;
    for (int i = 0; i < 4; i++)
        value[i] = strtod(gt_pq_get(pq, 0, i, NULL), NULL);
    if (json) {
        gt_json_add(json, "workers=%g ended_last_hour=%g left_s=%g", value[0], value[1],
                    gt_if(value[1] > 0, value[2] * value[3] / value[1]));
        return GT_OK;
    }
    fprintf(cli->out, "%.0f worker%s at work; %.0f job%s ended in the last hour", value[0],
            value[0] == 1 ? "" : "s", value[1], value[1] == 1 ? "" : "s");
    if (value[1] > 0 && value[2] > 0)
        fprintf(cli->out, ", at that rate the others take %.0f min",
                value[2] * value[3] / value[1] / 60 + 0.5);
    fputc('\n', cli->out);
    return GT_OK;
}

/* Prints more than the counts: who works, which jobs failed, and which nobody has measured. */
static int status_more(struct gt_cli *cli, struct gt_pq *pq, cJSON *json, struct gt_err *err)
{
    int rc = status_rate(cli, pq, json, err);

    GT_STEP(rc, name_jobs(cli, pq, json, "failed_problems", "failed",
                          "SELECT problem, class FROM gemmtune.job WHERE state = 'failed'"
                          " ORDER BY weight DESC, id",
                          err));
    GT_STEP(rc, name_jobs(cli, pq, json, "without_candidate", "ended without a trial",
                          "SELECT problem, class FROM gemmtune.job AS j WHERE state = 'done'"
                          " AND NOT EXISTS (SELECT FROM gemmtune.result AS r WHERE r.job = j.id"
                          " AND r.trials > 0) ORDER BY weight DESC, id",
                          err));
    GT_STEP(rc, name_jobs(cli, pq, json, "classes", "classes of the jobs that are ready",
                          "SELECT DISTINCT class, '' FROM gemmtune.job WHERE state = 'ready'"
                          " AND class <> '' ORDER BY class",
                          err));
    if (!rc && !json)
        rc = tell_predicted(cli->out, pq, err);
    return rc;
}

/* Prints the number of jobs in one state, with their results, measured results and trials. */
static void status_line(struct gt_cli *cli, struct gt_pq *pq, int row, cJSON *json)
{
    const char *state = gt_pq_get(pq, row, 0, NULL);
    double of[5];

    for (int i = 0; i < 5; i++)
        of[i] = strtod(gt_pq_get(pq, row, i + 1, NULL), NULL);
    if (json)
        gt_json_object(json, state, "jobs=%g results=%g trials=%g measured=%g predicted=%g", of[0],
                       of[1], of[2], of[3], of[4]);
    else
        fprintf(cli->out, "%-6s %5.0f %8.0f %7.0f %9.0f %10.0f\n", state, of[0], of[1], of[2],
                of[3], of[4]);
}

static int status(struct gt_cli *cli, const struct options *options, struct gt_pq *pq,
                  struct gt_err *err)
{
    static const char sql[] =
        "SELECT s.state, count(j.id), coalesce(sum(r.results), 0), coalesce(sum(r.trials), 0),"
        " coalesce(sum(r.measured), 0), coalesce(sum(r.predicted), 0)"
        " FROM (VALUES ('ready'), ('leased'), ('done'), ('failed')) AS s (state)"
        " LEFT JOIN gemmtune.job AS j ON j.state = s.state"
        " LEFT JOIN (SELECT job, sum(trials) AS trials, count(*) AS results,"
        " count(*) FILTER (WHERE worker LIKE '%" GT_QUEUE_MEASURES "') AS measured,"
        " count(*) FILTER (WHERE worker LIKE '%" GT_QUEUE_PREDICTS "') AS predicted"
        " FROM gemmtune.result GROUP BY job) AS r ON r.job = j.id"
        " GROUP BY s.state ORDER BY s.state DESC";
    cJSON *json = NULL;
    int rc = gt_pq_run(pq, sql, NULL, 0, false, err);

    (void)options;
    if (!rc && cli->json && !(json = cJSON_CreateObject()))
        rc = gt_err_nomem(err);
    if (json)
        cJSON_AddStringToObject(json, "format", GT_QUEUE_FORMAT);
    else if (!rc)
        fprintf(cli->out, "state   jobs  results  trials  measured  predicted\n");
    for (int i = 0; i < gt_pq_rows(pq) && !rc; i++)
        status_line(cli, pq, i, json);
    GT_STEP(rc, status_ahead(cli, pq, json, err));
    GT_STEP(rc, status_more(cli, pq, json, err));
    if (!rc && json)
        return gt_cmd_print_json(cli, json, err);
    cJSON_Delete(json);
    return rc;
}

static int retry(struct gt_cli *cli, const struct options *options, struct gt_pq *pq,
                 struct gt_err *err)
{
    int64_t jobs = 0;
    int rc = gt_queue_retry(pq, options->predicted, &jobs, err);

    if (!rc && !cli->quiet)
        fprintf(cli->log, "%lld %s job%s ready again\n", (long long)jobs,
                options->predicted ? "predicted" : "failed", jobs == 1 ? " is" : "s are");
    if (!rc && !cli->quiet && !options->predicted)
        rc = tell_predicted(cli->log, pq, err);
    return rc || !cli->json ? rc
                            : gt_cmd_print_members(cli, err, "format=%s retried=%g",
                                                   GT_QUEUE_FORMAT, (double)jobs);
}

static void tell_cancelled(FILE *log, const struct gt_queue_cancelled *cancelled)
{
    fprintf(log, "%lld job%s gone", (long long)cancelled->gone,
            cancelled->gone == 1 ? " is" : "s are");
    if (cancelled->failed)
        fprintf(log, ", %lld that ha%s results ha%s failed", (long long)cancelled->failed,
                cancelled->failed == 1 ? "s" : "ve", cancelled->failed == 1 ? "s" : "ve");
    if (cancelled->taken)
        fprintf(log, ", %lld that %s being tuned will not be handed out again",
                (long long)cancelled->taken, cancelled->taken == 1 ? "is" : "are");
    fputc('\n', log);
}

static int cancel(struct gt_cli *cli, const struct options *options, struct gt_pq *pq,
                  struct gt_err *err)
{
    struct gt_queue_cancelled cancelled;
    int rc = gt_queue_cancel(pq, &cancelled, err);

    (void)options;
    if (!rc && !cli->quiet)
        tell_cancelled(cli->log, &cancelled);
    if (rc || !cli->json)
        return rc;
    return gt_cmd_print_members(cli, err, "format=%s gone=%g ended=%g taken=%g", GT_QUEUE_FORMAT,
                                (double)cancelled.gone, (double)cancelled.failed,
                                (double)cancelled.taken);
}

static void tell_merged(FILE *log, const struct gt_queue_merged *merged, const char *path)
{
    fprintf(log, "%lld result%s merged into %s; measured: %lld, predicted: %lld",
            (long long)merged->merged, merged->merged == 1 ? "" : "s", path,
            (long long)(merged->merged - merged->predicted - merged->unmarked),
            (long long)merged->predicted);
    if (merged->unmarked)
        fprintf(log, ", of older programs, which do not say: %lld", (long long)merged->unmarked);
    fputc('\n', log);
}

static int print_merged(const struct gt_cli *cli, const struct gt_queue_merged *merged,
                        struct gt_err *err)
{
    return gt_cmd_print_members(cli, err,
                                "format=%s merged=%g refused=%g predicted=%g unmarked=%+g",
                                GT_QUEUE_FORMAT, (double)merged->merged, (double)merged->refused,
                                (double)merged->predicted, (double)merged->unmarked);
}

static int export_all(struct gt_cli *cli, const struct options *options, struct gt_pq *pq,
                      struct gt_err *err)
{
    struct gt_store *store = NULL;
    const char *path = NULL;
    struct gt_queue_merged merged = {0};
    int rc = gt_session_database(&path, cli, options->db, true, err);

    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_WRITE, err));
    GT_STEP(rc, gt_queue_export(cli, pq, store, &merged, err));
    gt_store_close(store);
    if (!rc && !cli->quiet)
        tell_merged(cli->log, &merged, path);
    if (!rc && cli->json)
        rc = print_merged(cli, &merged, err);
    if (!rc)
        gt_session_doubts(cli, "the results", merged.rows, merged.dated);
    GT_STEP(rc, gt_queue_refused(&merged, err));
    return rc;
}

static const struct {
    const char *name;
    int (*run)(struct gt_cli *cli, const struct options *options, struct gt_pq *pq,
               struct gt_err *err);
} action[] = {{"submit", NULL},
              {"status", status},
              {"retry", retry},
              {"cancel", cancel},
              {"export", export_all}};

/* --db is an option of export, --predicted of retry, and all others are of submit.  An option that
 * an action does not take is refused: a cancel that names a problem must not cancel the whole
 * queue. */
static int check_options(const char *word, const struct options *options, struct gt_err *err)
{
    const bool submits = strcmp(word, "submit") == 0, exports = strcmp(word, "export") == 0;
    struct options of_submit = *options;
    const char *given = NULL;

    if (options->db && !exports)
        return gt_err_set(err, GT_ESYNTAX,
                          "--db is an option of queue export; queue %s does not take it", word);
    if (options->predicted && strcmp(word, "retry") != 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--predicted is an option of queue retry; queue %s does not take it",
                          word);
    of_submit.db = NULL;
    of_submit.predicted = false;
    if (submits)
        return GT_OK;
    given = gt_options_given(gt_problem_option_table, &options->problem);
    if (!given)
        given = gt_options_given(gt_draw_option_table, &options->problem);
    if (!given)
        given = gt_options_given(option_table, &of_submit);
    return given ? gt_err_set(err, GT_ESYNTAX,
                              "--%s is an option of queue submit; queue %s does not take it: it is "
                              "about all jobs of the queue",
                              given, word)
                 : GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct gt_pq *pq = NULL;
    int rc = GT_ESYNTAX;

    for (size_t i = 0; i < sizeof(action) / sizeof(*action); i++) {
        if (strcmp(cli->argument[0], action[i].name) != 0)
            continue;
        rc = check_options(action[i].name, fields, err);
        if (!rc && !action[i].run)
            return submit(cli, fields, err);
        GT_STEP(rc, gt_pq_open(&pq, cli->argument[1], NULL, err));
        GT_STEP(rc, gt_queue_check(pq, err));
        GT_STEP(rc, action[i].run(cli, fields, pq, err));
        gt_pq_close(pq);
        return rc;
    }
    return gt_err_set(err, rc,
                      "\"%s\" is nothing that can be done with a queue: submit, status, "
                      "retry, cancel or export",
                      cli->argument[0]);
}

const struct gt_command gt_command_queue = {
    .name = "queue",
    .doc = "problems in PostgreSQL for tuners on many machines",
    .usage = "queue submit|status|retry|cancel|export postgresql://HOST/DATABASE [OPTION]...",
    .about =
        "A list of problems in a PostgreSQL database, which `tune --queue` works off on any "
        "number\n"
        "of machines. submit adds problems; status counts them; retry makes failed ones ready\n"
        "again, or with --predicted those that have predictions only; cancel removes those that "
        "nobody has begun, and has the others not handed out\n"
        "again; export merges all results into a database of this machine. Only submit takes\n"
        "options of problems: the others are about all jobs of the queue.\n"
        "\n"
        "  tune queue submit postgresql://db/tuning --shapes bench --budget 20s\n"
        "  tune --queue postgresql://db/tuning\n"
        "  tune queue export postgresql://db/tuning --db all.db\n",
    .argument = "submit|status|retry|cancel|export",
    .group = {{gt_problem_option_table, offsetof(struct options, problem), NULL},
              {gt_draw_option_table, offsetof(struct options, problem), NULL},
              {option_table, 0, NULL}},
    .size = sizeof(struct options),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
