# One file to deploy: exported on the stub driver, then looked up, planned, run and served where
# there is no data folder, no compiler and no cache; and what is wrong costs a sentence.
need_serve
unset GEMMTUNE_DB
t capture -o shapes.txt -q -- $client
t --shapes shapes.txt --kernels simt_thread1d --budget 20 --db mine.db -q >/dev/null
t export --format deploy --db mine.db
t export --format deploy --db mine.db -o winners.gt | sed 's/[0-9]* KB/N KB/'
t export --format deploy --db mine.db -o one.gt --problem 64x64x64 | sed 's/[0-9]* KB/N KB/'
t export --format deploy --db mine.db -o none.gt --arch sm_86
t export --format deploy --db winners.gt -o again.gt
t export --format deploy --db mine.db -o all.gt --all
t export --format deploy --db mine.db -o /dev/full
t export --format deploy --db mine.db -o /nonexistent/one.gt
t --device predict:sm_80 --shape 96x80x4 --kernels simt_naive --budget 3 --db archs.db -q >/dev/null
t --device predict:sm_86 --shape 96x80x4 --kernels simt_naive --budget 3 --db archs.db -q >/dev/null
t export --format deploy --db archs.db -o archs.gt | sed 's/[0-9]* KB/N KB/'
for arch in sm_80 sm_86 sm_90; do t lookup 96x80x4 --arch $arch --db archs.gt | grep -E 'tuned for|reason'; done
t export --format deploy --db archs.db -o measured.gt --measured
t lookup 64x64x64 --arch sm_90 --db one.gt --json | grep -E '"(tier|kernel|workspace_bytes)"' | tr -d ,
t lookup 64x64x64 --arch sm_86 --db one.gt
echo "-- a program elsewhere"
export GEMMTUNE_CACHE=/nonexistent GEMMTUNE_LIBNVRTC=/nonexistent
data=$GEMMTUNE_DATA
export GEMMTUNE_DATA=/nonexistent
cat > program.c <<'END'
#include <gemmtune.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };

/* The stub driver's device memory is the program's. */
static float *matrix(float value)
{
    float *m = aligned_alloc(256, N * N * sizeof(*m));

    for (int i = 0; m && i < N * N; i++)
        m[i] = value;
    return m;
}

int main(int argc, char **argv)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = argv[argc - 1]};
    float *a = matrix(2), *b = matrix(3), *d = matrix(0);
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = b, .d = d, .alpha = 1};
    struct gt_problem problem;
    struct gt_plan *plan = NULL;
    struct gt_err err = {0};
    struct gt *gt = NULL;
    int wrong = 0, rc = gt_open(&gt, &options, &err);

    gt_problem_init(&problem, N, N, N);
    if (!rc)
        rc = gt_plan(&plan, gt, 0, &problem, &err);
    if (!rc) {
        operands.workspace = aligned_alloc(256, (gt_plan_answer(plan)->workspace_bytes | 255) + 1);
        rc = gt_run(plan, NULL, &operands, &err);
    }
    for (int i = 0; !rc && i < N * N; i++)
        wrong += d[i] != 6 * N;
    if (rc)
        printf("%s: %s\n", gt_strerror(rc), err.msg);
    else
        printf("%s, %d wrong elements\n", gt_plan_answer(plan)->kernel, wrong);
    gt_plan_free(plan);
    gt_close(gt);
    free(operands.workspace);
    free(a);
    free(b);
    free(d);
    return 0;
}
END
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$ROOT/src" program.c -o program -L"$BUILD" -lgemmtune -Wl,-rpath,"$BUILD"
./program one.gt
GEMMTUNE_DB=$PWD/one.gt ./program winners.gt
STUB_CC=86 ./program one.gt
STUB_SMS=8 ./program one.gt
head -c 2000 one.gt > cut.gt
./program cut.gt | sed "s/says [0-9]*/says N/"
cp one.gt open.gt && chmod g+w open.gt
./program open.gt
perl -e 'open F, "+<", "one.gt"; seek F, -9, 2; read F, $c, 1; seek F, -9, 2; print F chr(ord($c) ^ 4)'
./program one.gt
echo "-- served"
LD_PRELOAD=$BUILD/libgemmtune_cublas.so GEMMTUNE_DB=$PWD/winners.gt GEMMTUNE_WAIT=1 GEMMTUNE_MARGIN=0.001 GEMMTUNE_REPORT=report.txt $client
sed 's/process [0-9]*/process N/; s/ [0-9]*\.[0-9]*  / R  /' report.txt
LD_PRELOAD=$BUILD/libgemmtune_cublas.so GEMMTUNE_DB=$PWD/cut.gt GEMMTUNE_WAIT=1 $client 2>&1 | sed "s/says [0-9]*/says N/"
