# SIGINT and kill -9 in the middle of a sweep: the same command resumes, no finished trial is lost.
need_nvrtc
cp "$TUNE" tune-alone; TUNE=$PWD/tune-alone # a name of its own, for pgrep
sweep=(--arch sm_86 --shape 512x512x512 --kernels simt_warptile --budget 60 --jobs 1)
stored() { "$TUNE" export --all --format csv -q 2> /dev/null | tail -n +2 | wc -l; }
wait_for() { # wait_for N: until N trials are stored (30 s)
    for ((i = 0; i < 300; i++)); do (($(stored) >= $1)) && return; sleep 0.1; done
    echo "never reached $1 trials"
}
"$TUNE" "${sweep[@]}" > first 2> first.err & pid=$!
wait_for 4
kill -INT $pid
wait $pid
echo "[exit $?]"
grep -c interrupted first.err
after_int=$(stored)
((after_int >= 4 && after_int < 60)) && echo "some trials are stored"
"$TUNE" "${sweep[@]}" > second 2> second.err & pid=$!
wait_for $((after_int + 4))
{ kill -9 $pid; wait $pid; } 2> /dev/null
after_kill=$(stored)
((after_kill >= after_int + 4)) && echo "kill -9 lost nothing"
sleep 1.5
pgrep -f "$TUNE __worker" > /dev/null && echo "a worker is left behind"
"$TUNE" "${sweep[@]}" > third 2> third.err
echo "[exit $?]"
grep -oE "[0-9]+ from earlier runs" third.err | sed "s/^$after_kill from/all from/"
((60 == $(stored))) && echo "the budget is spent"
# Before the first trial nothing is known of the candidates, and nothing is said of them.
"$TUNE" --arch sm_86 --shape 520x256x256 --kernels simt --budget 60 --jobs 1 > early 2> early.err & pid=$!
for ((i = 0; i < 300; i++)); do grep -q '^520x' early.err && break; sleep 0.1; done
kill -INT $pid
wait $pid
echo "[exit $?]"
grep -oE 'interrupted; .*|no valid candidate|had no turn' early.err
