/* lookup_fixture.h - what the tests of look-ups share: a data folder of their own with two made-up
 * kernels, and tables made of rows. */
#ifndef GT_LOOKUP_FIXTURE_H
#define GT_LOOKUP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/digest.h"
#include "base/err.h"
#include "lookup/lookup.h"
#include "lookup/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A data folder of its own: one production kernel, whose loads need alignment, and one rung. */
static const char kernel_json[] =
    "{\"kernel\": \"%s\", \"doc\": \"made up\", \"template\": \"templates/k.cu\",\n"
    " \"role\": \"%s\", %s\n"
    " \"serves\": {\"types\": [\"f32\", \"tf32\"], \"out\": [\"f32\"], \"layouts\": [\"nn\", "
    "\"nt\"],\n"
    "   \"min_cc\": 75, \"max_cc\": 129, \"accuracy\": \"strict\", \"epilogues\": [\"none\"],\n"
    "   \"batch\": true},\n"
    " \"params\": [{\"name\": \"BM\", \"values\": [16, 32, 64, 128], \"default\": 64,\n"
    "     \"kind\": \"compile\", \"doc\": \"rows\"},\n"
    "   {\"name\": \"VEC\", \"values\": [1, 4], \"default\": 4, \"kind\": \"compile\",\n"
    "     \"doc\": \"elements of a load\"}],\n"
    " \"constraints\": [{\"if\": \"4 * VEC <= ALIGN_A\", \"why\": \"loads are aligned\"},\n"
    "   {\"if\": \"BM != 16 || SMS == 16\", \"why\": \"tiny tiles are for tiny GPUs\"}],\n"
    " \"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(M,BM)\", \"cdiv(N,BM)\", \"BATCH\"],\n"
    "   \"block\": [\"128\", \"1\", \"1\"], \"shared\": \"BM * 64\"}],\n"
    " \"model\": {\"block_m\": \"BM\", \"block_n\": \"BM\", \"block_k\": \"16\", \"splits\": "
    "\"1\",\n"
    "   \"stages\": \"2\", \"registers\": \"64\", \"fma\": \"BM * BM / 128\"}}\n";

struct world {
    char folder[64], table[96], signature[33];
    struct gt_strbuf rows;
    bool contest; /* the rows of the next table have the columns of GT_TABLE_CONTEST */
    struct gt *gt;
    struct gt_err err;
};

#define OK(world, call)                                  \
    do {                                                 \
        if (call)                                        \
            fail_msg("%s: %s", #call, (world)->err.msg); \
    } while (0)

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void make_folder(struct world *w, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", w->folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline void make_kernel(struct world *w, const char *name, const char *role,
                               const char *rung)
{
    char path[128], text[2048];

    snprintf(path, sizeof(path), "%s/configs/kernels/%s.json", w->folder, name);
    snprintf(text, sizeof(text), kernel_json, name, role, rung);
    write_file(path, text);
}

static inline int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct gt_kernels kernels = {0};
    char path[160], *data;

    assert_non_null(w);
    gt_strbuf_init(&w->rows);
    snprintf(w->folder, sizeof(w->folder), "%s/gt-lookup-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(w->folder));
    make_folder(w, "configs");
    make_folder(w, "configs/kernels");
    make_folder(w, "templates");
    OK(w, gt_data_dir(&data, &w->err));
    snprintf(path, sizeof(path), "ln -s '%s/configs/devices' '%s/configs/devices'", data,
             w->folder);
    assert_int_equal(system(path), 0);
    free(data);
    snprintf(path, sizeof(path), "%s/templates/k.cu", w->folder);
    write_file(path, "#ifndef BM\n#define BM 64\n#endif\n#ifndef VEC\n#define VEC 4\n#endif\n"
                     "GT_KERNEL(gemm)\n{\n}\n");
    make_kernel(w, "k", "production", "");
    make_kernel(w, "rung", "ladder", "\"rung\": 1,");
    OK(w, gt_kernels_load(&kernels, w->folder, NULL, NULL, &w->err));
    strcpy(w->signature, gt_kernels_find(&kernels, "k", &w->err)->signature);
    gt_kernels_release(&kernels);
    snprintf(w->table, sizeof(w->table), "%s/t.csv", w->folder);
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;
    char command[96];

    gt_close(w->gt);
    gt_strbuf_release(&w->rows);
    snprintf(command, sizeof(command), "rm -rf '%s'", w->folder);
    free(w);
    return system(command) == 0 ? 0 : -1;
}

/* A row of the table to be; result is "measured" or "predicted".  cuBLASLt took twice as long. */
static inline void add_row(struct world *w, int cc, const char *result, const char *device,
                           const char *problem, const char *point, double us)
{
    gt_strbuf_addf(&w->rows,
                   "%d,%s,%s,%s,k,%s,\"%s\",cold,%.3f,1,2,%.3f,3,13000,13000,"
                   "2026-01-01T00:00:00Z\n",
                   cc, result, device, problem, w->signature, point, us, 2 * us);
}

/* Writes the rows collected so far to `path`, and starts anew. */
static inline void write_table(struct world *w, const char *path)
{
    struct gt_strbuf body = GT_STRBUF_INIT, all = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];

    gt_strbuf_addf(&body, "%s%s\n%s", GT_TABLE_COLUMNS, w->contest ? GT_TABLE_CONTEST : "",
                   w->rows.text);
    gt_digest_bytes(body.text, body.length, digest);
    gt_strbuf_addf(&all, "%s%s\n%s", GT_TABLE_MAGIC, digest, body.text);
    write_file(path, all.text);
    gt_strbuf_release(&body);
    gt_strbuf_release(&all);
    gt_strbuf_reset(&w->rows);
}

static inline void open_tables(struct world *w, const char *user_db)
{
    const struct gt_options options = {
        .user_db = user_db, .system_db = w->table, .data_dir = w->folder};

    write_table(w, w->table);
    OK(w, gt_open(&w->gt, &options, &w->err));
}

static inline const struct gt_answer *ask(struct world *w, int arch, const char *device,
                                          const char *text)
{
    const struct gt_answer *answer = NULL;
    struct gt_problem problem;

    OK(w, gt_problem_parse(&problem, text, &w->err));
    OK(w, gt_lookup(w->gt, arch, device, &problem, &answer, &w->err));
    return answer;
}

#endif
