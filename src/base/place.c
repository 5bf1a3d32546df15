/* place.c - vocabulary: where this code was loaded from (place.h).  The Makefile defines
 * GT_BUILD_TREE for binaries that stay in the build tree and GT_DATADIR for those that leave it. */
#include "base/place.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

#ifndef GT_BUILD_TREE
#define GT_BUILD_TREE ""
#endif
#ifndef GT_DATADIR
#define GT_DATADIR "/usr/local/share/gemmtune"
#endif

const char gt_installed_data[] = GT_DATADIR;

/* The loader knows the path that a library was opened by, but does not know the program's path: for
 * the program dladdr reports argv[0], which may be a relative path or anything else. */
bool gt_code_folder(char folder[PATH_MAX], uid_t *owner)
{
    static const char here;
    const struct link_map *map = NULL;
    struct stat status;
    Dl_info info;
    char *slash;

    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    if (*map->l_name && *map->l_name != '/')
        return false;
    if (!realpath(*map->l_name ? map->l_name : "/proc/self/exe", folder) || stat(folder, &status))
        return false;
    *owner = status.st_uid;
    slash = strrchr(folder, '/');
    *slash = '\0';
    return true;
}

bool gt_build_tree(char tree[PATH_MAX])
{
    char folder[PATH_MAX];
    size_t length;
    uid_t owner;

    if (!*GT_BUILD_TREE || !realpath(GT_BUILD_TREE, tree))
        return false;
    length = strlen(tree);
    if (gt_code_folder(folder, &owner)) {
        char *slash, own[PATH_MAX + 20], real[PATH_MAX];

        if (!strncmp(folder, tree, length) && folder[length] == '/')
            return true;
        /* A copy of the whole tree is the build tree of its code, if nobody else may write that
         * code. */
        for (int i = 0; i < 3 && (slash = strrchr(folder, '/')); i++) {
            *slash = '\0';
            snprintf(own, sizeof(own), "%s/configs/kernels", folder);
            if (gt_trust(own, owner, real, NULL))
                continue;
            snprintf(own, sizeof(own), "%s/templates", folder);
            if (!gt_trust(own, owner, real, NULL))
                return snprintf(tree, PATH_MAX, "%s", folder) > 0;
        }
    }
    return gt_trust(GT_BUILD_TREE, geteuid(), tree, NULL) == 0;
}
