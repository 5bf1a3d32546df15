# A disk that fills up while sweeping: exit code 5, and what was stored stays readable.
need_nvrtc
# So does a limit on the size of files.
(ulimit -f 200; "$TUNE" --arch sm_86 --shape 128x128x128 --kernels simt_warptile --budget 60 -q --db limit.db; echo "limit [exit $?]")
(($("$TUNE" export --db limit.db --all -q | wc -l) > 1)) && echo "rows are kept"
mkdir small
unshare -m true 2> /dev/null || skip "no right to mount a small disk here"
export TUNE
unshare -m bash -c '
    mount -t tmpfs -o size=300k none small || exit 0
    t() { "$TUNE" "$@"; }
    t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 2 -q --db small/t.db > /dev/null; echo "first [exit $?]"
    dd if=/dev/zero of=small/filler bs=1k status=none 2> /dev/null
    truncate -s -24k small/filler
    t --arch sm_86 --shape 192x128x128 --kernels simt_warptile --budget 40 -q --db small/t.db; echo "full [exit $?]"
    rm small/filler
    t export --db small/t.db -q | wc -l'
