# What becomes of winners when the text of their kernel changes (an upgrade, an edit): no export hands them out
# unmarked, and one sentence says which they are and what to do.
need_nvrtc
data=$PWD/data
mkdir -p "$data/configs/kernels"
cp -R "$ROOT/templates" "$data/templates"
cp -R "$ROOT"/configs/{devices,formulas,problems} "$data/configs/"
cp "$ROOT"/configs/kernels/simt_{naive,thread1d}.json "$data/configs/kernels/"
chmod -R u+w "$data"
export GEMMTUNE_DATA=$data
tune_with() { t --arch sm_86 --shape "$1" --kernels "$2" --budget 3 -q >/dev/null; }
tune_with 64x64x64 simt_naive
tune_with 96x64x64 simt_naive
tune_with 128x64x64 simt_thread1d
said() { t "$@" 2>&1 | grep -o 'older text of .*\|^! [0-9]* rows\?$\|^! tune: .*'; }
said export -o before.csv
tail -n +2 before.csv | cut -d, -f9
echo '#define OTHER 1' >>"$data/templates/simt/naive.cu"
# Winners: left out, in each format.
for format in csv json md c shipped; do
    echo "$format"
    said export --format $format -o after.$format
    grep -c simt_naive after.$format
done
# All trials: marked.
for format in csv md json; do
    t export --all --format $format -q | grep 'simt.*naive' | grep -c 'older.text'
    t export --all --format $format -q | grep 'simt.*thread1d' | grep -c 'older.text'
done
# A space is of one text: that of today.
said export --format kt-cache --problem 64x64x64 --kernel simt_naive
# Look-ups and sweeps of the very problem say it, those of another one do not.
said lookup 64x64x64 --arch sm_86
said lookup 128x64x64 --arch sm_86
said lookup 64x64x64 96x64x64 --arch sm_86 --json
said --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 3
# What is predicted is not carried over.
said recheck --adopt --same-code "$data"
# It is not said again of what has a winner of today.
said --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 3
said export -o again.csv
# Back to the text of before: those are today's again, although another text was used last.
cp "$ROOT/templates/simt/naive.cu" "$data/templates/simt/naive.cu"
said export -o back.csv
# A kernel of one's own is not among those of the data folder: it has no older text there.
rm "$data/configs/kernels/simt_naive.json"
said export -o own.csv
# Of a prediction there is no interval.
t export --format json -q | grep -o '"us":[^,]*,"lo_us":[^,]*,"hi_us":[^,]*' | sed 's/"us":[0-9.]*/"us":T/' | sort -u
