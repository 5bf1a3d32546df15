/* score_search.c - scores the strategies on recorded spaces (tools/score-search runs it).
 *
 * Every strategy searches every space from many seeds, in virtual time: an evaluation costs what it
 * cost when it was recorded, and the strategy is told one recorded sample, drawn at random.  The
 * score is the methodology's: how far the mean curve of best times lies from random search (0)
 * towards the optimum (1), averaged over the time in which random search goes from 50 to 95 % of
 * the way from the median to the optimum.  The column +- is the standard error over the seeds. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "console/cmd_write.h"
#include "score.h"

#define SPACES_MAX     64
#define STRATEGIES_MAX 64

static const char usage[] =
    "usage: score-search [OPTION]... SPACE...\n"
    "  SPACE                recorded spaces: Kernel Tuner caches, T4 results, .gz too\n"
    "  --strategy NAME[:OPTION=VALUE,...]   may be repeated (default: all but exhaustive)\n"
    "  --seeds N            runs of each strategy on each space (default: 50)\n"
    "  --flying N           points in flight at once (default: 1)\n"
    "  --exact              tell strategies the recorded time instead of one of the samples\n"
    "  --transfer           let strategies know the other spaces\n"
    "  --follow N           follow a run for N evaluations that had a time (default: 400, the "
    "most\n"
    "                       whose shares are printed) or to the end of the range, if that is "
    "later\n"
    "  --regret N           evaluations, failed ones too, after which the regret is taken: how "
    "far\n"
    "                       the best is above the optimum (default: 50)\n"
    "  --csv FILE           the table as CSV\n"
    "  --runs FILE          score and regret of each run as CSV, for tools/compare-scores\n"
    "  --curves FILE        convergence curves as CSV, for tools/pictures\n";

struct command {
    const char *strategy[STRATEGIES_MAX];
    size_t strategies;
    const char *csv, *runs, *curves;
    struct gt_score_options options;
    struct gt_score_space space[SPACES_MAX];
    size_t spaces;
    struct gt_score_line *line;
    FILE *table;
};

static int parse(struct command *command, int argc, char **argv)
{
    static const struct option known[] = {
        {"strategy", required_argument, NULL, 's'},
        {"seeds", required_argument, NULL, 'n'},
        {"flying", required_argument, NULL, 'f'},
        {"exact", no_argument, NULL, 'e'},
        {"transfer", no_argument, NULL, 't'},
        {"csv", required_argument, NULL, 'c'},
        {"curves", required_argument, NULL, 'g'},
        {"runs", required_argument, NULL, 'r'},
        {"follow", required_argument, NULL, 'l'},
        {"regret", required_argument, NULL, 'a'},
        {NULL, 0, NULL, 0},
    };
    bool all = true;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        all &= option != 's';
        if (option == 's' && command->strategies < STRATEGIES_MAX)
            command->strategy[command->strategies++] = optarg;
        else if (option == 'n')
            command->options.seeds = (int)strtol(optarg, NULL, 10);
        else if (option == 'f')
            command->options.flying = (int)strtol(optarg, NULL, 10);
        else if (option == 'e')
            command->options.exact = true;
        else if (option == 't')
            command->options.transfer = true;
        else if (option == 'c')
            command->csv = optarg;
        else if (option == 'g')
            command->curves = optarg;
        else if (option == 'r')
            command->runs = optarg;
        else if (option == 'l')
            command->options.follow = (int)strtol(optarg, NULL, 10);
        else if (option == 'a')
            command->options.regret = (int)strtol(optarg, NULL, 10);
        else
            return GT_ESYNTAX;
    }
    if (command->options.seeds < 1 || command->options.flying < 1 ||
        command->options.flying > 256 || command->options.follow < 0 ||
        command->options.follow > GT_SCORE_EVALS || command->options.regret < 1 || optind == argc ||
        argc - optind > SPACES_MAX)
        return GT_ESYNTAX;
    for (size_t i = 0; all && gt_strategies[i]; i++)
        if (strcmp(gt_strategies[i]->name, "exhaustive") != 0)
            command->strategy[command->strategies++] = gt_strategies[i]->name;
    return GT_OK;
}

static int open_spaces(struct command *command, char **path, size_t count, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++)
        rc = gt_score_open(&command->space[command->spaces++], path[i], err);
    for (size_t i = 0; i < count && !rc && command->options.transfer; i++)
        rc = gt_score_learn(&command->space[i], command->space, command->spaces, err);
    return rc;
}

static void print_heads(const struct command *command)
{
    printf("%-32s", "strategy");
    for (size_t i = 0; i < command->spaces; i++)
        printf(" %10.10s", command->space[i].name);
    printf("   score  +-     ranks   @20   @100  @200  @400  regret  us/point\n");
    if (command->table)
        fprintf(command->table, "strategy,space,seeds,score,by_rank,share_20,share_100,share_200,"
                                "share_400,us_per_point,standard_error,regret\n");
    if (command->options.runs)
        fputs(GT_SCORE_RUNS_HEAD, command->options.runs);
}

static void write_row(const struct command *command, const char *strategy, const char *space,
                      const struct gt_score *score)
{
    if (command->table)
        fprintf(command->table, "\"%s\",%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.1f,%.4f,%.4f\n",
                strategy, space, command->options.seeds, score->score, score->by_rank,
                score->share[19], score->share[99], score->share[199], score->share[399],
                1e6 * score->seconds / score->asked, score->error, score->regret);
}

static void add(struct gt_score *sum, const struct gt_score *score, double weight)
{
    sum->score += score->score * weight;
    sum->by_rank += score->by_rank * weight;
    sum->regret += score->regret * weight;
    sum->seconds += score->seconds;
    sum->asked += score->asked;
    sum->squares += score->error * score->error * weight * weight;
    for (size_t i = 0; i < GT_SCORE_EVALS; i++)
        sum->share[i] += score->share[i] * weight;
    for (size_t i = 0; i < GT_SCORE_TIMES; i++)
        sum->performance[i] += score->performance[i] * weight;
}

static int score_strategy(struct command *command, const char *strategy, struct gt_score_line *line,
                          struct gt_err *err)
{
    struct gt_score mean = {0}, score;

    printf("%-32s", strategy);
    for (size_t i = 0; i < command->spaces; i++) {
        int rc = gt_score_run(&score, strategy, &command->space[i], &command->options, err);

        if (rc)
            return rc;
        printf(" %10.3f", score.score);
        fflush(stdout);
        write_row(command, strategy, command->space[i].name, &score);
        add(&mean, &score, 1 / (double)command->spaces);
        if (command->options.runs)
            fflush(command->options.runs); /* what is done stays, if the rest is stopped */
    }
    mean.error = sqrt(mean.squares);
    printf("  %6.3f %6.3f %6.3f %6.3f %5.3f %5.3f %5.3f  %6.4f %7.1f\n", mean.score, mean.error,
           mean.by_rank, mean.share[19], mean.share[99], mean.share[199], mean.share[399],
           mean.regret, 1e6 * mean.seconds / mean.asked);
    write_row(command, strategy, "mean", &mean);
    line->name = strategy;
    memcpy(line->share, mean.share, sizeof(line->share));
    memcpy(line->performance, mean.performance, sizeof(line->performance));
    return GT_OK;
}

static void write_point(FILE *file, const struct command *command, size_t place, bool share)
{
    for (size_t i = 0; i < command->strategies; i++)
        fprintf(file, ",%.4f",
                share ? command->line[i].share[place] : command->line[i].performance[place]);
    fputc('\n', file);
}

/* The means over spaces, a column for each strategy: the share of the optimum after `at`
 * evaluations, each of the first 20, then at every 5th and from 100 on at every 20th; the score
 * at 100 places of the way, in per cent, that counts. */
static int write_curves(void *context, FILE *file, struct gt_err *err)
{
    const struct command *command = context;

    (void)err;
    fputs("axis,at", file);
    for (size_t i = 0; i < command->strategies; i++)
        fprintf(file, ",\"%s\"", command->line[i].name);
    fputc('\n', file);
    for (size_t n = 1; n <= GT_SCORE_EVALS; n += n < 20 ? 1 : n < 100 ? 5 : 20) {
        fprintf(file, "evaluations,%zu", n);
        write_point(file, command, n - 1, true);
    }
    for (size_t i = 0; i < GT_SCORE_TIMES; i += GT_SCORE_TIMES / 100) {
        double part = (double)i / (GT_SCORE_TIMES - 1);

        fprintf(file, "way,%.2f", 100 * (GT_SCORE_BEGIN + (GT_SCORE_END - GT_SCORE_BEGIN) * part));
        write_point(file, command, i, false);
    }
    return GT_OK;
}

static int run(struct command *command, struct gt_err *err)
{
    const struct gt_cmd_writing curves = {.write = write_curves, .context = command, .mode = 0666};
    struct gt_cmd_output table = {NULL, NULL, NULL}, runs = {NULL, NULL, NULL};
    int rc;

    command->line = calloc(command->strategies, sizeof(*command->line));
    if (!command->line)
        return gt_err_nomem(err);
    rc = command->csv ? gt_cmd_output_open(&table, command->csv, err) : GT_OK;
    if (!rc && command->runs)
        rc = gt_cmd_output_open(&runs, command->runs, err);
    command->table = table.file;
    command->options.runs = runs.file;
    if (!rc)
        print_heads(command);
    for (size_t i = 0; i < command->strategies && !rc; i++)
        rc = score_strategy(command, command->strategy[i], &command->line[i], err);
    rc = gt_cmd_output_close(&table, rc, err);
    rc = gt_cmd_output_close(&runs, rc, err);
    if (!rc && command->curves)
        rc = gt_cmd_write_file(command->curves, &curves, err);
    return rc;
}

int main(int argc, char **argv)
{
    static struct command command = {
        .options = {.seeds = 50, .flying = 1, .follow = GT_SCORE_EVALS, .regret = 50}};
    struct gt_err err = {0};
    int rc;

    if (parse(&command, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    rc = open_spaces(&command, argv + optind, (size_t)(argc - optind), &err);
    GT_STEP(rc, run(&command, &err));
    if (rc)
        fprintf(stderr, "score-search: %s\n", err.msg);
    for (size_t i = 0; i < command.spaces; i++)
        gt_score_close(&command.space[i]);
    free(command.line);
    return rc ? 1 : 0;
}
