/* driver.c - finds the driver's functions in the copy that the program has loaded; see driver.h. */
#include "serve/driver.h"

#include <dlfcn.h>
#include <string.h>

#include "serve/names.h"

bool gt_serve_driver_load(struct gt_serve_driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *address;

    if (!library)
        return false;
#define FIND(field, symbol, parameters)            \
    address = gt_find_name(library, symbol, NULL); \
    if (!address)                                  \
        return false;                              \
    memcpy(&driver->field, &address, sizeof(address));
    GT_SERVE_DRIVER_MAP(FIND)
#undef FIND
    address = gt_find_name(library, "cuCtxGetId", NULL);
    memcpy(&driver->CtxGetId, &address, sizeof(address));
    return true;
}

uint64_t gt_serve_context_id(const struct gt_serve_driver *driver, void *context)
{
    uint64_t id = 0;

    return driver->CtxGetId && driver->CtxGetId(context, &id) == 0 ? id : 0;
}

bool gt_serve_capturing(const struct gt_serve_driver *driver, void *stream)
{
    int status = 0;

    return driver->StreamIsCapturing(stream, &status) || status != 0;
}
