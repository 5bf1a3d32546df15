# A database that another sweep writes is refused at once; reading it is fine.
need_nvrtc
"$TUNE" --arch sm_86 --shape 512x512x512 --kernels simt_warptile --budget 400 --jobs 1 > first 2>&1 & pid=$!
stored() { (($("$TUNE" export --all -q 2> /dev/null | wc -l) > 2)); }
until_true stored
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 2 -q
t merge gemmtune.db
t export -q | wc -l
kill -INT $pid
wait $pid
echo "[exit $?]"
