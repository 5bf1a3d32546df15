# Parts of a list: the parts of any number make the whole, a problem is in the same part of every list,
# a task of a Slurm array takes its part unasked, and a second pass takes what is missing.
quick_nvrtc
"$TUNE" bench --random 40 --seed 1 --list > list.txt; wc -l < list.txt
echo "== the parts make the whole"
for i in 1 2 3; do "$TUNE" bench list.txt --list --shard $i/3; done | sort > parts.txt
sort list.txt | diff - parts.txt && echo same
echo "== a shorter list has the same parts"
head -n 20 list.txt > short.txt
"$TUNE" bench short.txt --list --shard 2/3 | grep -vxFf <("$TUNE" bench list.txt --list --shard 2/3) | wc -l
echo "== a Slurm array"
task() { SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_COUNT=$2 SLURM_ARRAY_TASK_MIN=$3 SLURM_ARRAY_TASK_MAX=$4 "$TUNE" "${@:5}"; }
for i in 10 12 14; do task $i 3 10 14 bench list.txt --list -q; done | sort | diff parts.txt - && echo same
task 12 3 10 14 bench list.txt --list > part2.txt; "$TUNE" bench list.txt --list --shard 2/3 | diff - part2.txt && echo same
task 12 3 10 14 bench list.txt --list --shard 1/1 | wc -l
task 5 1 5 5 bench list.txt --list | wc -l
task x 3 10 14 bench list.txt --list | wc -l
echo "== wrong parts"
t bench list.txt --list --shard 0/3
t bench list.txt --list --shard 4/3
echo "== what is missing"
tuning=(--arch sm_86 --shapes some.txt --kernels simt_naive --budget 2 -q)
printf '%s\n' 128x128x128 256x128x64 64x96x33 > some.txt
"$TUNE" "${tuning[@]}" --shard 1/2 --db one.db > /dev/null; echo "[exit $?]"
t "${tuning[@]}" --missing --db one.db | grep -E '^(\$|[0-9]+x|.exit)'
t "${tuning[@]:0:8}" --missing --db one.db
t "${tuning[@]:0:8}" -q --missing --db one.db --json
echo "== a way of timing has winners of its own"
need_stub
tuning=(--shape 64x64x64 --kernels simt_naive --budget 2 --db ways.db -q --json)
"$TUNE" "${tuning[@]}" > /dev/null; echo "[exit $?]"
for way in "--l2 warm" "--timing graph"; do
    for pass in 1 2; do "$TUNE" "${tuning[@]}" $way --missing | grep -c '"problem":'; done
done
for pass in 1 2; do STUB_DEVICES=2 "$TUNE" --devices all "${tuning[@]/ways/devices}" --l2 warm --missing | grep -c '"problem":'; done
STUB_DEVICES=2 "$TUNE" --devices all "${tuning[@]/ways/devices}" --missing | grep -c '"problem":'
