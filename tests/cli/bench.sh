# Winners over a set; without a GPU there is nothing to compare with, and it says so.
need_nvrtc
printf '128x128x128\n256x128x64:f32:nt # a remark\n' > set.txt
t bench set.txt --arch sm_86
t bench set.txt --arch sm_86 --budget 4 --kernels simt_naive -q
t bench --shape 64x64x64:f16 --shape 128x128x128 --arch sm_86 --budget 2 --kernels simt_naive -q
t bench --shape 96x96x96 --arch sm_86 -q
t bench set.txt --dtype bf16 --arch sm_86 -q
t bench set.txt --accuracy f32 --arch sm_86 -q
t bench set.txt --dtype halve --arch sm_86 -q
# A set and a problem: which of them is meant, or both, is for the user to say.
t bench set.txt --shape 64x64x64 --list
t bench set.txt --shapes other.txt --list
t bench --shapes set.txt --shape 64x64x64 --list
t bench 64x64x64 --shape 96x96x96 --list
# Drawn problems: a list that --shapes takes; two shards are the whole, in the same order.
t bench --random 4 --seed 2 --list
"$TUNE" bench --random 60 --seed 2 --list > all.txt
for i in 1 2; do "$TUNE" bench --shapes all.txt --shard $i/2 --list > part$i.txt; done
cat part1.txt part2.txt | sort | diff <(sort all.txt) - && wc -l < all.txt
grep -Fxf part1.txt all.txt | diff part1.txt - && [[ -s part1.txt && -s part2.txt ]] && echo "two parts"
t bench --random 3 --seed 1 --family update --list
"$TUNE" bench update --list | wc -l
# What --list prints says all that the list did: weights too, in lines and in JSON.
printf '64x64x64 weight=5\n96x96x96:f16 weight=0.1\n32x32x32\n16x16x16 count=3\n8x8x8 weight=12345678901.25\n' > weights.txt
t bench weights.txt --list
"$TUNE" bench weights.txt --list | "$TUNE" bench --shapes - --list | diff - <("$TUNE" bench weights.txt --list) && echo same
"$TUNE" bench weights.txt --list --json > weights.json
"$TUNE" bench weights.json --list | diff - <("$TUNE" bench weights.txt --list) && echo same
# The same problem in several lines, as in captured files behind one another, has the weight of all of them.
cat weights.txt weights.txt | "$TUNE" bench --shapes - --shape 96x96x96:f16 --list
# The grid is what its maker makes.
(cd "$ROOT" && TUNE=$TUNE tools/grid) | diff - "$ROOT/configs/problems/grid.json" && "$TUNE" bench grid --list | wc -l
t bench --random 3 --shard 3/2 --list
# The layers of a model, whose name may be written in other ways, and products of 8 bits with their factors.
t bench --model bert-base --rows 16,64 --dtype fp8-blocks --list
t bench --model phi3mini --rows 1 --list
t bench --shape 64x64x64 --dtype int8-vector --list
t bench --model llama --rows 16 --list 2>&1 | cut -c-80
t bench --model bert-base --rows sixteen --list
t bench --rows 16 --shape 8x8x8 --list
t bench --shape 8x8x8 --shard 1/2 --list
t bench --shape 8x8x8 --shard 2/2 --list
t --random 2 --seed 5 --dtype f32 --kernels simt_naive --budget 1 --arch sm_86 -q | grep '^[0-9]'
