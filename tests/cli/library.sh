# A program that links against libgemmtune alone, shared and static: looks up, plans on the stub
# driver and runs; and the size of the library.
case $BUILD in */build) ;; *) skip "a sanitizer build's library needs the sanitizers in the program" ;; esac
need_stub
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

int main(void)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .allow_nvrtc = 1};
    const struct gt_answer *answer;
    float *a = matrix(2), *b = matrix(3), *d = matrix(0);
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = b, .d = d, .alpha = 1};
    struct gt_problem problem;
    struct gt_plan *plan = NULL;
    struct gt_err err = {0};
    struct gt *gt = NULL;
    int wrong = 0, rc = gt_open(&gt, &options, &err);

    gt_problem_init(&problem, N, N, N);
    if (!rc)
        rc = gt_lookup(gt, 90, NULL, &problem, &answer, &err);
    if (!rc)
        rc = gt_plan(&plan, gt, 0, &problem, &err);
    if (!rc) {
        printf("looked up: %s\n", answer->tier == GT_TIER_NONE ? "nothing" : "a kernel");
        operands.workspace = aligned_alloc(256, (gt_plan_answer(plan)->workspace_bytes | 255) + 1);
        rc = gt_run(plan, NULL, &operands, &err);
    }
    for (int i = 0; !rc && i < N * N; i++)
        wrong += d[i] != 6 * N;
    printf("version %u, err.code %d, %d wrong elements\n", gt_version() >> 16, err.code, wrong);
    if (rc)
        printf("%s: %s\n", gt_strerror(rc), err.msg);
    gt_plan_free(plan);
    gt_close(gt);
    free(operands.workspace);
    free(a);
    free(b);
    free(d);
    return rc || wrong;
}
END
system="-lsqlite3 -lcjson -lm -ldl -lpthread"
build() { "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$ROOT/src" program.c -o "$@"; }
build shared -L"$BUILD" -lgemmtune -Wl,-rpath,"$BUILD" && ./shared
build static "$BUILD/libgemmtune.a" $system && ./static
needed() { objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' | sort | paste -sd' '; }
needed shared
needed "$BUILD/libgemmtune.so.1"
text=$(size "$BUILD/libgemmtune.so.1" | awk 'NR == 2 { print $1 }')
((text <= 272000)) && echo "text of at most 272 KB" || echo "text of $text bytes, more than 272 KB"
