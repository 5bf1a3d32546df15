/* growth.c - what the queue costs when it is large: JOBS problems and WORKERS tuners that tune
 * nothing, each a thread with a connection of its own, which takes a job and stores a result of
 * KIB KiB, for SECONDS.
 *
 *   growth ADDRESS JOBS WORKERS KIB SECONDS
 *
 * Prints lines of CSV.  tests/cluster/growth starts the server. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "cluster/queue.h"

#define SAMPLES 20000 /* latencies kept of each worker */

struct worker {
    pthread_t thread;
    const char *address;
    size_t bytes;
    double until;
    double *take, *finish; /* milliseconds */
    size_t count;
    struct gt_err err;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes that do not compress, as a database's hardly do. */
static void fill(unsigned char *bytes, size_t count)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        bytes[i] = (unsigned char)state;
    }
}

static void *work(void *context)
{
    struct worker *self = context;
    unsigned char *result = malloc(self->bytes);
    struct gt_queue_job job;
    struct gt_pq *pq = NULL;
    char name[32];
    int64_t left;
    bool taken = true, known;
    int rc = GT_EIO;

    for (int i = 0; i < 10 && rc; i++) /* a server with two cores is slow to take 256 connections */
        rc = gt_pq_open(&pq, self->address, NULL, &self->err);
    if (!rc)
        self->err.code = GT_OK;
    snprintf(name, sizeof(name), "w%p", context);
    fill(result, self->bytes);
    while (!rc && taken && now() < self->until && self->count < SAMPLES) {
        const double began = now();
        double ended;

        rc = gt_queue_take(pq, &job, name, "any", 600, &taken, &left, &self->err);
        if (rc || !taken)
            break;
        self->take[self->count] = 1e3 * (now() - began);
        ended = now();
        rc = gt_queue_put(pq, job.id, name, 100, result, self->bytes, true, &known, &self->err);
        self->finish[self->count++] = 1e3 * (now() - ended);
    }
    gt_pq_close(pq);
    free(result);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_latency(const char *name, const struct worker *worker, size_t workers, bool take)
{
    double *all = calloc(workers * SAMPLES, sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; i < workers; i++)
        for (size_t j = 0; j < worker[i].count; j++)
            all[count++] = take ? worker[i].take[j] : worker[i].finish[j];
    qsort(all, count, sizeof(*all), by_size);
    if (count)
        printf("%s_ms_median,%.1f\n%s_ms_99,%.1f\n", name, all[count / 2], name,
               all[count * 99 / 100]);
    free(all);
}

int main(int argc, char **argv)
{
    const long jobs = argc == 6 ? strtol(argv[2], NULL, 10) : 0;
    const size_t workers = argc == 6 ? strtoul(argv[3], NULL, 10) : 0;
    const double seconds = argc == 6 ? strtod(argv[5], NULL) : 0;
    struct worker *worker = calloc(workers + 1, sizeof(*worker));
    struct gt_err err = {0};
    struct gt_pq *pq = NULL;
    double began = now();
    size_t done = 0;
    bool added;
    char problem[64];
    int rc = jobs && workers && worker ? gt_pq_open(&pq, argv[1], NULL, &err) : GT_ESYNTAX;

    if (!rc)
        rc = gt_queue_create(pq, &err);
    if (!rc)
        rc = gt_pq_run(pq, "BEGIN", NULL, 0, false, &err);
    for (long i = 0; i < jobs && !rc; i++) {
        snprintf(problem, sizeof(problem), "%ldx64x64:f32:nn", i + 1);
        rc = gt_queue_submit(pq, problem, "", 1, "10s", &added, &err);
    }
    if (!rc)
        rc = gt_pq_run(pq, "COMMIT", NULL, 0, false, &err);
    printf("jobs,%ld\nworkers,%zu\nsubmitted_a_second,%.0f\n", jobs, workers,
           (double)jobs / (now() - began));
    began = now();
    for (size_t i = 0; i < workers && !rc; i++) {
        worker[i] = (struct worker){.address = argv[1],
                                    .bytes = 1024 * strtoul(argv[4], NULL, 10),
                                    .until = began + seconds,
                                    .take = calloc(SAMPLES, sizeof(double)),
                                    .finish = calloc(SAMPLES, sizeof(double))};
        rc = pthread_create(&worker[i].thread, NULL, work, &worker[i]);
    }
    for (size_t i = 0; i < workers && !rc; i++) {
        pthread_join(worker[i].thread, NULL);
        done += worker[i].count;
        if (worker[i].err.code)
            err = worker[i].err;
    }
    if (rc || err.code)
        fprintf(stderr, "growth: %s\n", err.msg);
    printf("jobs_done,%zu\njobs_a_second,%.0f\n", done, (double)done / (now() - began));
    print_latency("take", worker, workers, true);
    print_latency("finish", worker, workers, false);
    for (size_t i = 0; i < workers; i++) {
        free(worker[i].take);
        free(worker[i].finish);
    }
    free(worker);
    gt_pq_close(pq);
    return rc || err.code ? 1 : 0;
}
