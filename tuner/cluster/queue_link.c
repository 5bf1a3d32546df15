/* queue_link.c - what the workers of a queue share; see queue_link.h. */
#include "cluster/queue_link.h"

#include "base/err.h"
#include "console/cmd_json.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define AWAY_FIRST_S 1  /* between two attempts to reach the server ... */
#define AWAY_MOST_S  30 /* ... which grow to this */
#define REFUSED_MOST                                                               \
    3 /* times that a worker is refused before it gives up, because the server may \
         have too many connections for a moment */

bool gt_queue_interrupted(const struct gt_queue_link *link)
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
    const struct gt_json_count count[] = {{"jobs", jobs}, {"compiled", compiled}, {"found", found}};

    return gt_cmd_print_counts(cli, GT_QUEUE_FORMAT, count, sizeof(count) / sizeof(*count), err);
}

void gt_queue_wait(const struct gt_queue_link *link, double seconds)
{
    struct timespec step = {.tv_nsec = 100 * 1000 * 1000};

    for (double passed = 0; passed < seconds && !gt_queue_interrupted(link); passed += 0.1)
        nanosleep(&step, NULL);
}

void gt_queue_leave(struct gt_queue_link *link)
{
    gt_pq_close(link->pq);
    link->pq = NULL;
}

/* It may come before the first job: the tables are made. */
static int open_link(struct gt_queue_link *link, struct gt_err *err)
{
    bool refused;
    int rc = gt_pq_open(&link->pq, link->address, &refused, err);

    link->refused += refused;
    GT_STEP(rc, gt_queue_create(link->pq, err));
    link->known |= !rc;
    return rc;
}

int gt_queue_reach(struct gt_queue_link *link, int (*then)(void *context, struct gt_err *err),
                   void *context, struct gt_err *err)
{
    double pause = AWAY_FIRST_S;
    bool said = false;

    for (;;) {
        struct gt_err why = {0};
        int rc = link->pq ? GT_OK : open_link(link, &why);

        GT_STEP(rc, then(context, &why));
        if (rc != GT_EIO || gt_pq_is_open(link->pq)) { /* open: a file's trouble */
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
        if (gt_queue_interrupted(link))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted while the server is away");
        gt_queue_wait(link, pause);
        pause = pause * 2 > AWAY_MOST_S ? AWAY_MOST_S : pause * 2;
    }
}

void gt_queue_name(char name[GT_QUEUE_NAME], bool predicts)
{
    char host[48] = "host";
    struct timespec now;

    gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    for (char *at = host; *at; at++)
        if (*at == '/' || *at == ',')
            *at = '-';
    snprintf(name, GT_QUEUE_NAME, "%s-%ld-%lld.%09ld%s", host, (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec, predicts ? GT_QUEUE_PREDICTS : "");
}

void gt_queue_class(char class_of[GT_QUEUE_CLASS], const struct gt_device *device)
{
    snprintf(class_of, GT_QUEUE_CLASS, "%s/%d SMs/%.0f W/driver %d", device->name, device->sms,
             device->power_w, device->driver);
}
