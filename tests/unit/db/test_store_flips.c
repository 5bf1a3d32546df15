/* test_store_flips.c - one flipped bit in a user's database, at random places: the winners are the
 * same as before, or reading them fails with a sentence.  GT_FLIPS: how many. */
#include "store_fixture.h"

#include "base/stats.h"
#include "whole.h"

#include <fcntl.h>
#include <sys/stat.h>

static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_strbuf *text = context;

    gt_strbuf_addf(text, "%s %d %d %lld %s %s %s %s %d %d %.17g\n", row->device, row->cc, row->sms,
                   (long long)row->l2_bytes, row->problem, row->kernel, row->signature, row->point,
                   (int)row->provenance, (int)row->timing, row->us);
    return gt_strbuf_check(text, err);
}

/* Problems with a winner, others, ties, two devices and a kernel of two texts. */
static void fill(struct fixture *f)
{
    struct gt_device device = fixture_device();
    struct gt_kernel newer = fixture_kernel((char *)"simt", "cccc");
    const char *const kernels[] = {"simt"}, *const points[] = {"BM=16"};

    for (int i = 0; i < 24; i++) {
        struct gt_problem problem;
        struct gt_trial trial = fixture_trial(50 + i, 1 + i % 3);

        gt_problem_init(&problem, 256 + 8 * i, 128, 64);
        snprintf(device.name, sizeof(device.name), "NVIDIA Test %d", i % 2);
        device.sms = 100 + i % 2;
        OK(f, gt_store_device(f->store, &device, &f->key.device, &f->err));
        OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
        if (i == 12)
            OK(f, gt_store_kernel(f->store, &newer, &f->key.kernel, &f->err));
        fixture_put(f, "BM=64", &trial);
        trial = fixture_trial(50.2 + i, 1 + i % 3);
        fixture_put(f, "BM=16", &trial);
        OK(f, gt_store_tie(f->store, &f->key, kernels, points, 1, &f->err));
    }
}

/* The winners of the file; false: it was refused. */
static bool read_winners(struct fixture *f, struct gt_strbuf *text)
{
    gt_strbuf_reset(text);
    f->err.msg[0] = '\0';
    if (gt_store_winners(f->path, collect, text, &f->err) == GT_OK)
        return true;
    assert_true(f->err.msg[0] != '\0');
    return false;
}

static void flip(int file, off_t at, int bit)
{
    unsigned char byte;

    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= (unsigned char)(1 << bit);
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
}

static void test_flips(void **state)
{
    struct fixture *f = *state;
    struct gt_strbuf sound = GT_STRBUF_INIT, found = GT_STRBUF_INIT;
    struct gt_random random = {.state = 7};
    const char *wanted = getenv("GT_FLIPS");
    long refused = 0, same = 0, flips = wanted ? strtol(wanted, NULL, 10) : gt_whole(1000, 250);
    struct stat status;
    int file;

    fill(f);
    gt_store_close(f->store);
    f->store = NULL;
    assert_true(read_winners(f, &sound));
    file = open(f->path, O_RDWR);
    assert_int_equal(fstat(file, &status), 0);
    for (long i = 0; i < flips; i++) {
        off_t at = (off_t)gt_random_below(&random, (uint64_t)status.st_size);
        int bit = (int)gt_random_below(&random, 8);

        flip(file, at, bit);
        if (!read_winners(f, &found))
            refused++;
        else if (strcmp(sound.text, found.text) == 0)
            same++;
        else
            fail_msg("bit %d of byte %lld changes an answer", bit, (long long)at);
        flip(file, at, bit);
    }
    close(file);
    print_message("%ld flips of %lld bytes: %ld refused, %ld without effect, 0 accepted\n", flips,
                  (long long)status.st_size, refused, same);
    assert_true(refused > 0 && same > 0);
    gt_strbuf_release(&sound);
    gt_strbuf_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_flips, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
