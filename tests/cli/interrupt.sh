# SIGINT and kill -9 in the middle of a sweep: the same command resumes, no finished trial is lost.
quick_nvrtc
export STUB_COMPILE_MS=200 # so that a sweep lasts
cp "$TUNE" tune-alone; TUNE=$PWD/tune-alone # a name of its own, for pgrep
sweep=(--arch sm_86 --shape 512x512x512 --kernels simt_warptile --budget 24 --jobs 1)
stored() { "$TUNE" export --all --format csv -q 2> /dev/null | tail -n +2 | wc -l; }
has_stored() { (($(stored) >= $1)); }
no_worker() { ! pgrep -f "$TUNE __worker" > /dev/null; }
"$TUNE" "${sweep[@]}" > first 2> first.err & pid=$!
until_true has_stored 4
kill -INT $pid
wait $pid
echo "[exit $?]"
grep -c interrupted first.err
after_int=$(stored)
((after_int >= 4 && after_int < 24)) && echo "some trials are stored"
"$TUNE" "${sweep[@]}" > second 2> second.err & pid=$!
until_true has_stored $((after_int + 4))
{ kill -9 $pid; wait $pid; } 2> /dev/null
after_kill=$(stored)
((after_kill >= after_int + 4)) && echo "kill -9 lost nothing"
until_true no_worker
"$TUNE" "${sweep[@]}" > third 2> third.err
echo "[exit $?]"
grep -oE "[0-9]+ from earlier runs" third.err | sed "s/^$after_kill from/all from/"
((24 == $(stored))) && echo "the budget is spent"
# Before the first trial nothing is known of the candidates, and nothing is said of them.
"$TUNE" --arch sm_86 --shape 520x256x256 --kernels simt --budget 60 --jobs 1 > early 2> early.err & pid=$!
until_true grep -qs '^520x' early.err
kill -INT $pid
wait $pid
echo "[exit $?]"
grep -oE 'interrupted; .*|no valid candidate|had no turn' early.err
# Under nohup the end of the terminal ends nothing.
nohup "$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 6 --jobs 1 > nohup.out 2> nohup.err & pid=$!
until_true grep -qs '^64x' nohup.err
kill -HUP $pid
wait $pid
echo "[exit $?]"
# A driver that hangs while it starts: the first signal ends a command, and leaves no worker.
need_stub
"$TUNE" --shape 64x64x64 --kernels simt_naive --budget 1 --db one.db -q > table
export STUB_START_MS=60000
for command in "--shape 64x64x64 --budget 1 --db stuck.db" "bench 64x64x64 --db stuck.db" "recheck --db one.db" \
    "energy --problem 64x64x64 --db stuck.db" "try simt_naive --problem 64x64x64" \
    "--devices 0-2 --shape 64x64x64 --db stuck.db"; do
    begin=$SECONDS
    # shellcheck disable=SC2086 # words
    timeout -s INT 2 "$TUNE" $command > stuck 2>> stuck.err
    ((SECONDS - begin < 15)) || echo "$command: $((SECONDS - begin)) seconds"
done
grep -c 'interrupted before \(the\|a\) GPU was \(ready\|open\)' stuck.err
until_true no_worker
