# The ladder without a GPU: every rung in its order, the reported shares beside.
need_nvrtc
t ladder --arch sm_86 --shape 256x256x256 --trials 1 --csv ladder.csv -q
head -n 2 ladder.csv
cut -d, -f3,4 ladder.csv | sed -n '2,$p'
# The rungs of tensor cores; and a type that no kernel serves there.
t ladder --arch sm_86 --shape 64x64x64:f16 --trials 1 -q | grep -E ' (8|9) '
t ladder --arch sm_86 --shape 64x64x64:e4m3 --trials 1 -q | tail -n 3
# On a GPU every rung stands for itself: its point is one of its own, not what look-up would hand out.
need_stub
"$TUNE" ladder --shape 64x64x64:e4m3 --trials 1 -q --db measured.db --json |
    python3 -c 'import json, sys
for rung in json.load(sys.stdin)["problems"][0]["rungs"]:
    if "point" in rung: print(rung["kernel"], rung["point"])' |
    while read -r kernel point; do
        "$TUNE" show "$kernel" "$point" --arch sm_90 --problem 64x64x64:e4m3 --no-compile > shown || echo "$kernel: $point"
        echo "$kernel: $(grep -c 'NOT ' shown) constraints broken"
    done
