# Every step of tools/measure.steps, with its own commands, on GPUs of the stub driver: problems, budgets and numbers
# of parts are small, and the Python programs are stand-ins that call cuBLAS's stub.  Then the tables of it.
need_serve
command -v python3 >/dev/null || skip "Python is not installed"
export STUB_QUICK=1 STUB_NAME="NVIDIA H200" STUB_SMS=132 STUB_DEVICES=2 TMPDIR=$PWD PYTHONDONTWRITEBYTECODE=1
unset GEMMTUNE_DB
# A tree with a few kernels, whose sets have one small problem each; in E4M3 cuBLASLt has an answer in nt alone.
mkdir -p tree/{db/measured,db/shipped,configs/problems,configs/kernels,tests/cluster}
ln -s "$ROOT/templates" "$ROOT/src" tree/
ln -s "$ROOT/tests/python" tree/tests/
ln -s "$ROOT"/configs/{devices,formulas} tree/configs/
ln -s "$ROOT"/configs/kernels/{simt_naive,thin_mma,f32acc_warp,mma,wmma}.json tree/configs/kernels/
ln -s "$ROOT/configs/problems/models.json" tree/configs/problems/
cp -R "$ROOT/tools" tree/
cp "$ROOT/README.md" tree/ && cp "$ROOT/db/measured/README.md" tree/db/measured/
chmod -R u+w tree
n=16
for set in bench grid llm short mid waves f32 fifty energy update; do
    type=f32 && case $set in grid | llm | energy) type=bf16 ;; esac
    echo '{"set": "'$set'", "problems": [{"name": "a", "problem": "'"16x16x$n:$type"':nt", "weight": 1}]}' >tree/configs/problems/$set.json
    n=$((n + 16))
done
export GEMMTUNE_DATA=$PWD/tree
"$TUNE" --shape 16x16x16 --kernels simt_naive --budget 1 --device cuda --db ship.db -q >/dev/null
"$TUNE" export --db ship.db --format shipped --measured -o tree/db/shipped/h200.csv -q
sed 's/count=16/count=1/; s/--budget 50/--budget 1/' "$ROOT/tests/cluster/speed" >tree/tests/cluster/speed
chmod +x tree/tests/cluster/speed
for program in gpt2 encoders eager llama arrays; do cp "$ROOT/tests/serve/program.py" tree/tools/programs/$program.py; done
echo 'print("NVIDIA H200,Plan.run of Python,64x64x64:f32:nn,4.0")' >tree/tools/programs/calls.py
printf '#!/bin/sh\necho "pictures $*"\n' >tree/tools/pictures # which take Chromium
sed -E 's/--budget [0-9]+s/--budget 1/; s/^(adopt|llm|random|mid|waves|fifty|grid|updates?) [0-9]+ /\1 1 /; s/--random [0-9]+/--random 1/; s/--trials [0-9]+/--trials 1/
    s/(4096|4092|1031)x\1x\1|512x6144x4096/16x16x16/; s/--kernels (simt|hopper)/--kernels simt_naive,thin_mma/; s/programs.compare"/& --turns 1/
    s/^( *)(CUDA_VISIBLE.*tools.energy.*)/\1export STUB_PACED=1 STUB_PRODUCT_US=300 STUB_CUBLASLT_US=600 STUB_RENEWED_US=10000 SWEEP=1 METER=30s\n\1\2/' \
    "$ROOT/tools/measure.steps" >steps
grep -E -- '--budget [0-9]+s' steps
tree/tools/measure h200 --steps steps --out out --minutes 60 >said 2>&1
echo "[exit $?]"
grep -E 'fail|are done' said | sed -E 's/^[0-9:]* //'
for log in out/*/failed; do [[ ! -e $log ]] || tail -n 5 "${log%failed}"{log,out}; done
(cd out && find . -path '*/tables/*' -o -path '*/rows/*' -o -name '*.db' | sed 's|^./||' | sort)
echo "== rows"
tail -qn +2 out/*/rows/{programs.csv,h200-deploy.csv} | cut -d, -f1,2 | sort
cut -d, -f1,2 out/speed.all/rows/multi-gpu.csv
echo "== tables"
tree/tools/measure --tables out 2>&1 | sed -E 's/: [0-9]+ times$/: N times/; s/(gz|txt): [0-9]+ lines/\1: N lines/'
cut -d, -f1 tree/db/measured/headlines.csv | xargs
grep any_worst tree/db/measured/headlines.csv | cut -d, -f5
echo "== what waits for a GPU (templates/README.md) is among the steps"
sed -n '/^## Not timed yet/,/^## /p' "$ROOT/templates/README.md" | grep '^tune ' >untimed
while IFS= read -r command; do grep -qF -- "$command" "$ROOT/tools/measure.steps" || echo "tools/measure.steps has no: $command"; done <untimed
