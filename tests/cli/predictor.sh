# How well the model ranks what was measured: recorded spaces of an H200, and a database.
replay=$ROOT/tests/replay
t doctor --predictor
t doctor --predictor --recording "$replay/h200-simt-1024.json.gz" --recording "$replay/h200-hopper-4096.json.gz" --csv q.csv -q
head -1 q.csv
# What the search relies on: spaces are ranked, and the first fifty hold a point near the best.
for space in "$replay"/h200-*.json.gz; do
    "$TUNE" doctor --predictor -q --recording "$space" --csv q.csv >/dev/null
    awk -F, 'NR > 1 && ($6 < 0.45 || $8 < 0.96) { print $2, "is ranked badly:", $6, $8 }' q.csv
done
t doctor --predictor --recording "$replay/h200-simt-1024.json.gz" --json -q | grep -oE '"[a-z0-9]+":' | sort -u | tr '\n' ' '
echo
t doctor --predictor --recording "$replay/predicted-simt_thread1d-512.json.gz"
# Learned from recorded trials of an H200: problems left out lose little, and a ranking comes of it.
trials=$ROOT/tests/unit/data/h200-f32acc.csv
"$TUNE" doctor --predictor --learn own.ranking --from "$trials" -q >learned.txt
awk '$1 == "f32/f32" && $2 >= 20 && $6 < 8 && $6 < $3 { print "the trees lose less than the model" }' learned.txt
head -n 2 own.ranking | cut -c1-20
t doctor --predictor --leave-out --from "$trials" --json -q | grep -oE '"[a-z0-9]+":' | sort -u | tr '\n' ' '
echo
t doctor --predictor --leave-out --from nowhere.csv
# Measured on the stub driver, whose times are made up: two kernels, and both together.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LOCKS=$PWD # the lock of the stub device is this test's own
t --shape 64x64x64 --kernels simt_thread1d,simt_naive --budget 12 -q >/dev/null
t doctor --predictor -q
