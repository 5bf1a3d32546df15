# A parameter for chains alone: such points are tried, proved and timed under --timing graph as they run
# there, and nobody else is handed one.
need_stub
export GEMMTUNE_DATA=$PWD/data
mkdir -p data/configs/kernels
cp -R "$ROOT/templates" data/templates
cp -R "$ROOT"/configs/{devices,formulas} data/configs/
chmod -R u+w data
sed -e 's/^  "params": \[/&\n    {"name": "DEPENDENT", "values": [0, 1], "default": 0, "kind": "compile", "doc": "early"},/' \
    -e 's/^  "constraints": \[/&\n    {"if": "DEPENDENT == 0 || CHAINED", "kind": "must", "why": "for chains"},/' \
    -e 's/{"entry": "gemm"/&, "pdl": "DEPENDENT"/' \
    "$ROOT/configs/kernels/simt_thread1d.json" >data/configs/kernels/simt_thread1d.json
sed -i 's/depth = gt_depth(args);/depth = gt_depth(args) + 0 * DEPENDENT;/' data/templates/simt/thread1d.cu
point=BM=64,BN=64,BK=8,TM=8,MIN_BLOCKS=1
tune_with() { t --shape 16x16x16 --kernels simt_thread1d --budget 2s --values "$1,$point" -q "${@:2}"; }
winners() { t export --format csv --db "$1" | grep -oE '"DEPENDENT=.|,(cold|graph),|^! .*'; }
# Alone they are not valid; in chains they are, and every launch of a product is programmatic.
tune_with DEPENDENT=1 --db none.db
STUB_PROGRAMMATIC=1 tune_with DEPENDENT=0 --timing graph --db refused.db | sed -E 's/: cu.*//'
STUB_PROGRAMMATIC=1 tune_with DEPENDENT=1 --timing graph --db chains.db >/dev/null
winners chains.db
# What a program is told: no such point, though it is the only one that was measured.
t lookup 16x16x16 --arch sm_90 --db chains.db | grep -E 'tier|point|^.(exit|tune)'
t lookup 16x16x16 --arch sm_90 --db chains.db --json | grep -oE '"tier":.*|DEPENDENT=.'
t export --db chains.db --format shipped --output chains.csv
(
    unset GEMMTUNE_DB
    t lookup 16x16x16 --arch sm_90 --system-db chains.csv --json | grep -oE '"tier":.*|DEPENDENT=.'
)
# With another one that was measured alone.
tune_with DEPENDENT=0 --db chains.db >/dev/null
winners chains.db
t lookup 16x16x16 --arch sm_90 --db chains.db --json | grep -oE '"tier":.*|DEPENDENT=.'
# The untuned answer of a comparison of chains is a program's, too.
t bench --shape 16x16x16 --timing graph --db chains.db -q --json | grep -oE '"(point|untuned)":.*'
t recheck --timing graph --db chains.db -q | sed -E 's/[0-9]+\.[0-9]+/N/g'

GEMMTUNE_DATA=$ROOT t show hopper DEPENDENT=1,STAGES=2 --problem 512x512x512:bf16:nt --arch sm_90 --no-compile | grep -E "NOT|not valid"
