# Slips that once went by: named twice, named wrongly, not valid.
common=(--arch sm_86 --kernels simt_naive --shape 64x64x64 -q)
t "${common[@]}" --budget 1h,2h
t "${common[@]}" --budget 5,7
t "${common[@]}" --strategy local:climbs=1,climbs=1
t "${common[@]}" --values 'BM=8|16|7'
t "${common[@]}" --values 'BM=16|8' --budget 1 -n 1 | tail -n +2
echo 64x64x64 | "$TUNE" --arch sm_86 --kernels simt_naive --shapes - --budget 1 -q -n 1 | head -n 1
t export --kernel simt_naif
t show simt TM=16,TN=16,BM=32 --source | grep -vE '^[^$!]' | tail -n 2
t recheck
t recheck --arch sm_86
t --version --json | sed -E 's/[0-9a-f]{7,40}([ ",]+(of |date": "))[0-9]{4}-[0-9]{2}-[0-9]{2}/COMMIT\1DATE/'
# A recording is a file that ends.
mkfifo pipe
t --device replay:pipe --shape 64x64x64
t --device replay:/dev/zero --shape 64x64x64
head -c 100000000 /dev/zero | gzip > bomb.json.gz
t --device replay:bomb.json.gz --shape 64x64x64
# An export follows no link that somebody planted.
echo precious > precious
ln -s precious winners.csv.new
t export -o winners.csv -q
cat precious
t export --format shipped -o shipped.csv -q
ls
# The same problem twice is one problem.
t --arch sm_86 --kernels simt_naive --shape 80x80x80 --shape 80x80x80:f32:nn 80x80x80 --budget 1 -q -n 1 | grep -c PREDICTED
# A single value given twice is one too many; a problem may be named as in the other commands.
t --arch sm_86 --arch sm_90 --shape 64x64x64
t lookup --problem 64x64x64 -s 80x80x80 --arch sm_90 | grep -E '^[0-9]|exit'
t lookup --arch sm_90
t show simt_naive --shape 64x64x64 --no-compile | head -n 2
t "${common[@]:0:4}" -p 64x64x64 --budget 1 -q -n 1 | grep -c PREDICTED
# Words of other programs: other signs between the sizes, sizes on their own, a GPU's name.
t lookup 64X64X64 '64*64*64' 64×64×64 64,64,64 --arch sm_90 | grep '^64'
t lookup 64,64,64 --arch H100 --dtype half --layout NT | head -n 2
t lookup 64x64,64 --arch sm_90
t lookup 64x64x64:f32 --dtype f16 --arch sm_90
t lookup 64 64 64 --arch sm_90
t --m 64 --n 64 --k 64
t 64x64x64 --gpu h100
t ladder --budget 9
t lookup 64x64x64 --arch ampere
t lookup 64x64x64 --arch v100
t lookup 64xx64 --arch sm_90
t lookup -1x10x10 --arch sm_90
# Sets of the data folder have short names; a file here of the same name comes first.
t bench llm --list | head -n 3
t bench --shapes bench.json --list | wc -l
t bench configs/problems/bench.json --list | wc -l
echo 64x64x64 > llm
t bench llm --list
rm llm && mkdir llm
t bench llm --list | wc -l
t bench nosuch --list
t export --shapes nosuch/bench.json
t recheck --help | grep -c predict:
# Each command speaks of itself, and a problem may stand where it takes a list.
t bench
t energy
t energy llm
t energy llm --shape 64x64x64
t energy llm --shapes bench
t energy --arch sm_86 64x64x64
t bench 64x64x64 --arch sm_86 --kernels simt_naive -q | grep -c simt_naive
t bench 64x64x128 64x64x64
mkdir folder
t --shapes folder --arch sm_86
t bench 64x64x64.txt --arch sm_86
bash "$ROOT/tools/slurm/tune.sbatch" shapes.txt 2>&1 | sed 's/.*: no/no/'
bash "$ROOT/tools/slurm/merge.sbatch" 2>&1 | sed 's/.*: no/no/'
# Values that leave a seed of the description without its own: the seed is passed over.  (It was
# looked for without end.)
timeout -k 1 60 "$TUNE" --arch sm_90 --kernels hopper --shape 64x64x64:bf16 --values 'STAGES=6|7|8' --budget 1 -q -n 1 |
    grep -c 'STAGES=[678]'
