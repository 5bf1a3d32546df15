# A sweep that is killed before its final leaves rows that were timed beside nothing: look-up weighs
# them, and says what was compared.  On the stub driver, whose kernels take longer than the model
# expects of an H200.
need_stub
sweep=(--shape 256x256x256 --kernels simt_thread1d --baseline none)
stored() { (($("$TUNE" export --all --measured -q 2> /dev/null | tail -n +2 | wc -l) >= 3)); }
free_again() { "$TUNE" "${sweep[@]}" --budget 3 -q > /dev/null 2> said; }
look_up() {
    t lookup 256x256x256 --arch sm_90 --device "Stub device" "$@" |
        grep -E '^\$|^  (tier|compared|not taken) ' | sed -E 's/[0-9.]+ (us|trials?)/N \1/g; s/, made from the winner of .*//'
}
look_up
"$TUNE" "${sweep[@]}" --budget 10m -q > /dev/null 2>&1 & pid=$!
until_true stored
{ kill -9 $pid; wait $pid; } 2> /dev/null
look_up
"$TUNE" export --format shipped --output table.csv -q
look_up --db table.csv
# Until the workers have seen that their supervisor is gone, the device is taken.
until_true free_again
cat said
look_up
# A contest of a benchmark says why it has no time of the untuned answer.
spilling=$("$TUNE" lookup 256x256x256 --arch sm_90 --device "Stub device" --db "$ROOT/db/shipped/h200.csv" | awk '$1 == "kernel" {print $2}')
GEMMTUNE_CACHE=$PWD/spills STUB_SPILLS="gemmtune kernel $spilling," "$TUNE" bench --shape 256x256x256 --kernels simt_naive --budget 3 --db spills.db 2>&1 |
    grep 'has no time' | sed -E "s/$spilling [A-Z0-9_,=]+/KERNEL POINT/; s/[0-9]+ registers/N registers/"
