# A database that may not be written: exit code 5, and look-ups still work.
need_nvrtc
[[ $(id -u) == 0 ]] && ! command -v setpriv > /dev/null && skip "root may write anything, and setpriv is not installed"
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 2 -q > /dev/null
mkdir locked && cp gemmtune.db locked/ && chmod 555 locked && chmod 444 locked/gemmtune.db
if [[ $(id -u) == 0 ]]; then
    chmod 755 "$SCRATCH" "$SCRATCH/work"
    mkdir -p "$SCRATCH/nobody" && chmod 777 "$SCRATCH/nobody"
    printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=%s GEMMTUNE_CACHE=%s/cache %s "$@"\n' \
        "$SCRATCH/nobody" "$SCRATCH/nobody" "$TUNE" > as-nobody
    chmod 755 as-nobody
    TUNE=$PWD/as-nobody
    "$TUNE" --version > /dev/null 2>&1 || skip "another user cannot reach the program here"
fi
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 4 -q --db locked/gemmtune.db
t export --db locked/gemmtune.db -q | wc -l
# One that may not even be read says whose fault that is, in every command.
mkdir open && cp gemmtune.db open/secret.db && chmod 777 open && chmod 000 open/secret.db
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 4 -q --db open/secret.db
t lookup 128x128x128 --arch sm_86 --db open/secret.db
t export --db open/secret.db
t merge open/secret.db --db open/merged.db
