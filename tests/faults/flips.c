/* flips.c - single flipped bits in what is read back: tables of winners and cached cubins.
 *
 *   flips [--flips N] [--seed N] table FILE      a shipped table, an exported or a user's database
 *   flips [--flips N] [--seed N] cubin FOLDER    the entries of a cubin cache
 *   flips [--flips N] [--seed N] deploy FILE     a deployed file
 *   flips [--flips N] [--seed N] ranking FILE    what was learned for look-ups
 *
 * Each flip must give the same rows or image as before, or an error; anything else is an undetected
 * wrong answer.  --flips 0 takes every bit.  The last line of the output is for programs. */
#include "base/stats.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "lookup/deployed.h"
#include "lookup/ranking.h"
#include "lookup/table.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct flips {
    struct gt_random random;
    unsigned long long wanted, made, errors, same, wrong;
    char folder[64];
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    if (!file || (size && fwrite(bytes, 1, size, file) != size) || fclose(file))
        die(path);
}

/* Appends what was read: all rows of a table, or an image.  False: an error, which is an answer. */
typedef bool reading(struct gt_strbuf *text, const char *path);

static bool read_table(struct gt_strbuf *text, const char *path)
{
    struct gt_table table = {0};
    struct gt_err err = {0};

    int rc = gt_table_load(&table, path, &err);

    for (size_t i = 0; !rc && i < table.rows; i++) {
        const struct gt_table_row *row = &table.row[i];

        gt_strbuf_addf(text, "%d|%s|%s|%s|%s|%s|%d|%d|%a\n", row->cc, row->device, row->text,
                       row->kernel, row->signature, row->point, row->predicted, row->timing,
                       row->us);
    }
    gt_table_release(&table);
    return rc == GT_OK;
}

/* path: of the entry "FOLDER/KEY.bin". */
static bool read_cubin(struct gt_strbuf *text, const char *path)
{
    struct gt_binary binary = {0};
    char folder[256], key[GT_DIGEST_HEX];
    const char *slash = strrchr(path, '/');
    size_t length;

    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    snprintf(key, sizeof(key), "%s", slash + 1);
    if (gt_cache_load(folder, key, &binary, NULL))
        return false;
    gt_strbuf_addf(text, "%d %d %d ", binary.registers, binary.spill_bytes, binary.static_shared);
    for (length = 0; length < binary.size; length++)
        gt_strbuf_addf(text, "%02x", ((const unsigned char *)binary.image)[length]);
    gt_binary_release(&binary);
    return true;
}

static void add_bytes(struct gt_strbuf *text, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        gt_strbuf_addf(text, "%02x", ((const unsigned char *)bytes)[i]);
    gt_strbuf_add_char(text, '\n');
}

/* Every answer with its code. */
static bool read_deployed(struct gt_strbuf *text, const char *path)
{
    struct gt_deployed *deployed;
    int rc = gt_deployed_open(&deployed, path, NULL);

    for (uint32_t i = 0; !rc && i < gt_deployed_items(deployed); i++) {
        const struct gt_deployed_item *item = gt_deployed_item(deployed, i);
        struct gt_geometry geometry;
        void *image = NULL;
        size_t size;

        rc = gt_deployed_image(deployed, item, &image, &size, NULL);
        if (rc)
            break;
        gt_deployed_geometry(deployed, item, &geometry);
        add_bytes(text, item, sizeof(*item));
        add_bytes(text, geometry.map, sizeof(geometry.map));
        for (size_t l = 0; l < geometry.launches; l++)
            gt_strbuf_addf(text, "%s %u %u\n", geometry.launch[l].entry, geometry.launch[l].grid[0],
                           geometry.launch[l].block[0]);
        add_bytes(text, image, size);
        free(image);
    }
    gt_deployed_close(deployed);
    return rc == GT_OK;
}

/* Losses, points and trees.  Look-ups do without a ranking that cannot be read. */
static bool read_ranking(struct gt_strbuf *text, const char *path)
{
    static struct gt_kernels kernels;
    struct gt_ranking ranking = {0};
    char *data = NULL;
    bool read = (kernels.count || (gt_data_dir(&data, NULL) == GT_OK &&
                                   gt_kernels_load(&kernels, data, NULL, NULL, NULL) == GT_OK)) &&
                gt_ranking_load(&ranking, &kernels, path, NULL) == GT_OK;

    free(data);
    if (read)
        add_bytes(text, ranking.loss, sizeof(ranking.loss));
    for (size_t i = 0; i < ranking.prototypes; i++)
        add_bytes(text, &ranking.prototype[i], sizeof(ranking.prototype[i]));
    for (size_t i = 0; i < kernels.count && read; i++) {
        const size_t nodes = gt_ranking_trees(&ranking, kernels.kernel[i], NULL);
        struct gt_ranking_node *node = calloc(nodes + 1, sizeof(*node));

        if (!node)
            die("calloc");
        gt_ranking_trees(&ranking, kernels.kernel[i], node);
        add_bytes(text, node, nodes * sizeof(*node));
        free(node);
    }
    gt_ranking_release(&ranking);
    return read;
}

static void flip(struct flips *flips, char *bytes, size_t size, unsigned long long bit,
                 const char *path, const char *sound, reading *read)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    bytes[bit / 8] ^= (char)(1 << bit % 8);
    write_bytes(path, bytes, size);
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    flips->made++;
    if (!read(&text, path))
        flips->errors++;
    else if (text.text && !strcmp(text.text, sound))
        flips->same++;
    else if (flips->wrong++ < 10)
        printf("VIOLATION: bit %llu of byte %llu: another answer is given without an error\n",
               bit % 8, bit / 8);
    gt_strbuf_release(&text);
}

/* Flips bits of a copy of `from`, which is read as `path`. */
static void flip_file(struct flips *flips, const char *from, const char *path, reading *read)
{
    struct gt_strbuf bytes = GT_STRBUF_INIT, sound = GT_STRBUF_INIT;
    unsigned long long bits;

    if (gt_strbuf_add_file(&bytes, from, NULL))
        die(from);
    write_bytes(path, bytes.text, bytes.length);
    if (!read(&sound, path) || !sound.length) {
        printf("%s: what is to be flipped cannot be read, or holds nothing\n", from);
        exit(2);
    }
    bits = 8ull * bytes.length;
    for (unsigned long long i = 0; i < (flips->wanted ? flips->wanted : bits); i++)
        flip(flips, bytes.text, bytes.length,
             flips->wanted ? gt_random_next(&flips->random) % bits : i, path, sound.text, read);
    gt_strbuf_release(&sound);
    gt_strbuf_release(&bytes);
}

/* The first entry of a cache. */
static void flip_cache(struct flips *flips, const char *folder)
{
    DIR *cache = opendir(folder);
    struct dirent *entry;
    char from[512], path[512];

    while (cache && (entry = readdir(cache)))
        if (strlen(entry->d_name) >= GT_DIGEST_HEX - 1 && strstr(entry->d_name, ".bin")) {
            snprintf(from, sizeof(from), "%s/%s", folder, entry->d_name);
            snprintf(path, sizeof(path), "%s/%s", flips->folder, entry->d_name);
            flip_file(flips, from, path, read_cubin);
            break;
        }
    if (cache)
        closedir(cache);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"flips", required_argument, NULL, 'n'},
                                                 {"seed", required_argument, NULL, 'r'},
                                                 {NULL, 0, NULL, 0}};
    struct flips flips = {.wanted = 2000, .random = {1}};
    char path[128], command[128];
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'n')
            flips.wanted = strtoull(optarg, NULL, 10);
        else if (option == 'r')
            flips.random.state = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    snprintf(flips.folder, sizeof(flips.folder), "%s/gemmtune-flips-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (argc - optind != 2 || !mkdtemp(flips.folder)) {
        fprintf(stderr, "usage: flips [--flips N] [--seed N] table FILE | cubin FOLDER | "
                        "deploy FILE | ranking FILE\n");
        return 2;
    }
    if (!strcmp(argv[optind], "cubin")) {
        flip_cache(&flips, argv[optind + 1]);
    } else {
        const char *dot = strrchr(argv[optind + 1], '.');

        snprintf(path, sizeof(path), "%s/flipped%s", flips.folder, dot ? dot : "");
        flip_file(&flips, argv[optind + 1], path,
                  !strcmp(argv[optind], "deploy")    ? read_deployed
                  : !strcmp(argv[optind], "ranking") ? read_ranking
                                                     : read_table);
    }
    printf("flips: %s %s flips=%llu errors=%llu same=%llu wrong=%llu\n", argv[optind],
           strrchr(argv[optind + 1], '/') ? strrchr(argv[optind + 1], '/') + 1 : argv[optind + 1],
           flips.made, flips.errors, flips.same, flips.wrong);
    snprintf(command, sizeof(command), "rm -rf '%s'", flips.folder);
    return system(command) != 0 || flips.wrong || !flips.made;
}
