/* cmd_doctor.c - tune doctor: prints a line for each thing that tuning needs: whether it is there,
 * and what to do if it is missing. */

#include <cjson/cJSON.h>

#include "base/err.h"
#include "measure/cmd_calibrate.h"
#include "console/cmd_record.h"
#include "doctor/cmd_predictor.h"
#include "doctor/doctor_checks.h"
#include "commands/cmd_serve.h"
#include "session/cmd_session.h"
#include "console/commands.h"
#include "console/options.h"

struct options {
    const char *db, *device, *csv, *learn, *onto;
    struct gt_texts recording, from;
    bool calibrate, predictor, leave_out, narrow, program;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, db, "db", 0, "FILE",
            "database that is looked at, with its place (default: as of a sweep)"),
    GT_FLAG(options, calibrate, "calibrate", 0,
            "measure what the GPU reaches and keep it in the database, for the predictor"),
    GT_TEXT(options, device, "device", 0, "DEVICE",
            "the GPU to calibrate (default: cuda, the first one)"),
    GT_FLAG(options, predictor, "predictor", 0,
            "how well the model predicts what the database holds"),
    GT_TEXTS(
        options, recording, "recording", 0, "FILE",
        "with --predictor: a recorded space (.json, .json.gz), exported trials, a table (.csv) or "
        "a database, instead of --db; may be repeated"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "with --predictor: write the table there too"),
    GT_FLAG(options, leave_out, "leave-out", 0,
            "with --predictor: what choosing loses on problems left out"),
    GT_TEXT(options, learn, "learn", 0, "FILE",
            "with --predictor: the same, and write what was learned of all trials: a ranking for "
            "look-ups"),
    GT_TEXT(options, onto, "onto", 0, "FILE",
            "with --leave-out or --learn: improve this ranking, whose own trials may be gone"),
    GT_FLAG(options, narrow, "narrow", 0,
            "with --onto: the trials are of sweeps of some kernels or values only; what is said of "
            "answers' losses stays what it was"),
    GT_TEXTS(
        options, from, "from", 0, "FILE",
        "with --leave-out or --learn: such a file, beside or instead of --db; may be repeated"),
    GT_FLAG(options, program, "program", 0,
            "run a program and say which of its products tune serve would serve"),
    GT_OPTIONS_END,
};

/* Judges the predictor by the database's trials, unless only recordings are named. */
static int report_predictor(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const bool learns = options->learn || options->leave_out;
    const struct gt_texts *instead = learns ? &options->from : &options->recording;
    const struct gt_predictor_options wanted = {
        .db = options->db || !instead->count ? gt_doctor_database(cli, options->db) : NULL,
        .recording = options->recording,
        .csv = options->csv,
        .from = options->from,
        .onto = options->onto,
        .narrow = options->narrow,
        .output = options->learn,
    };

    return learns ? gt_cmd_learn(cli, &wanted, err) : gt_cmd_predictor(cli, &wanted, err);
}

static const struct gt_option_pair pairs[] = {{"device", "calibrate", NULL},
                                              {"recording", "predictor", NULL},
                                              {"csv", "predictor", NULL},
                                              {"leave-out", "predictor", NULL},
                                              {"learn", "predictor", NULL},
                                              {"onto", "leave-out", "learn"},
                                              {"narrow", "onto", NULL},
                                              {"from", "leave-out", "learn"},
                                              {NULL, NULL, NULL}};

static int report_checks(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    static const char *const words[] = {"ok", "optional", "MISSING", "BROKEN"};
    const struct gt_checking checking = {cli, options->db};
    bool found[sizeof(words) / sizeof(*words)] = {false};
    struct gt_records records = {0};
    int rc;

    gt_records_open(&records, cli, NULL);
    for (size_t i = 0; i < GT_DOCTOR_CHECKS; i++) {
        struct gt_finding finding;

        gt_doctor_probe(i, &checking, &finding);
        found[finding.verdict] = true;
        gt_copy_clean(finding.text, sizeof(finding.text), finding.text);
        gt_records_add(&records, "check=%-12s verdict=%-9s text=%s", gt_doctor_check_name(i),
                       words[finding.verdict], finding.text);
    }
    rc = gt_records_close(&records, cli, GT_OK, err);
    if (!cli->json)
        GT_STEP(rc, gt_cmd_calibrated(cli, gt_doctor_database(cli, options->db), err));
    if (!rc && found[GT_FOUND_BROKEN])
        return gt_err_set(err, GT_EDB, "the database cannot be used; the line about it says why");
    if (!rc && found[GT_FOUND_MISSING])
        return gt_err_set(err, GT_ENOLIB,
                          "tuning is not possible yet: a line above says what is missing");
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *path;

    if (!options->program && cli->arguments)
        return gt_err_set(err, GT_ESYNTAX,
                          "unexpected argument \"%s\"; only --program runs a command",
                          cli->argument[0]);
    if (options->program && !cli->arguments)
        return gt_err_set(err, GT_ESYNTAX,
                          "--program needs a command: tune doctor --program -- COMMAND");
    if (options->program)
        return gt_cmd_doctor_program(cli, options->db, cli->argument, err);
    if (gt_session_database(&path, cli, options->db, options->calibrate, err) &&
        (options->calibrate || options->predictor || options->db))
        return err->code;
    if (options->calibrate)
        return gt_cmd_calibrate(cli, options->device ? options->device : "cuda",
                                gt_doctor_database(cli, options->db), err);
    return options->predictor ? report_predictor(cli, options, err)
                              : report_checks(cli, options, err);
}

const struct gt_command gt_command_doctor = {
    .name = "doctor",
    .doc = "what is there, what is missing, what to do about it",
    .usage =
        "doctor [--db FILE] [--calibrate [--device cuda:N]] [--predictor [--recording FILE]...] "
        "[--program -- COMMAND]",
    .about =
        "Looks at everything that tuning needs, each in a process of its own, and prints a\n"
        "line for each: ok, optional (not there, and what then), MISSING (and what to do). Below "
        "are\n"
        "the figures of GPUs that the database holds, beside those of their profile in\n"
        "configs/devices. --calibrate measures the GPU instead: launches, bandwidths and rates,\n"
        "in less than ten seconds. The predictor takes them in place of the profile.\n"
        "--predictor compares the model's times with those that were measured: of all trials of\n"
        "the database, or of recorded spaces. --program runs a command and lists its products of\n"
        "cuBLAS, with what tune serve would do about each.\n"
        "\n"
        "  tune doctor --calibrate\n"
        "  tune doctor --predictor --db gemmtune.db --csv predictor.csv\n"
        "  tune doctor --predictor --learn own.ranking --from first.db --from second.db\n"
        "  tune doctor --program -- python3 train.py\n",
    .group = {{option_table, 0, pairs}},
    .size = sizeof(struct options),
    .max_args = GT_WORDS_OF_A_PROGRAM,
    .run = run,
};
