# tools/measure on GPUs of the stub driver: a short list of steps on one, two and four of them, a step that
# fails, one that is cut, a resume, what is packed, and the tables in a tree of its own.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export TMPDIR=$PWD STUB_DEVICES=4
# A tree with one kernel, whose problems are small.
mkdir -p tree/db/measured tree/db/shipped tree/configs/kernels
cp -R "$ROOT/tools" "$ROOT/templates" tree/
cp -R "$ROOT"/configs/{devices,formulas,problems} tree/configs/
cp "$ROOT/configs/kernels/simt_naive.json" tree/configs/kernels/
chmod -R u+w tree
for set in bench grid short; do echo '{"set": "own", "problems": [{"name": "a", "problem": "16x16x16", "weight": 1}]}' > tree/configs/problems/$set.json; done
export GEMMTUNE_DATA=$PWD/tree
measure() { tree/tools/measure "$@" 2> said; echo "[exit $?]"; }
# What was said without times and the order of GPUs.
said() { sed -E "s/^[0-9:]{8} //; s/^tune .*: ([0-9]+ parts)/\1/; s|$PWD/||; s/after [0-9]+ s/after N s/; s/[0-9]+ s on GPU [0-9]/N s on GPU N/; s/^GPU [0-9]:/GPU N:/" said | grep -v nvidia-smi | sort; }

cat > steps <<'STEPS'
# The stub's.
facts each 1
    echo "$gpu $part" >which.txt
sweep 2 1
    [[ $name == four ]] || tune --shape $((8 * part + 8))x16x16 --kernels simt_naive --baseline none --budget 1 --device cuda:$gpu --db sweep.db -q
    echo 'program,settings,device,ms' >rows/programs.csv
    echo "part $part,,Stub device,7" >>rows/programs.csv
    echo 'figure' >tables/$name-calibration.txt
broken 1 1
    echo "this does not work" >&2 && exit 3
long 1 1
    # Its first interrupt is lost, as one is that comes while bash starts a program.
    [[ -e $root/../soon ]] || { trap 'trap - INT' INT && touch $root/../begun && while :; do sleep .1 || :; done; }
never 1 900
    true
speed all 1
    echo "$gpu" >which.txt
STEPS
echo "== words"
measure
tree/tools/measure --list --steps steps
measure stub --minutes soon; cat said
measure stub --only nothing --steps steps; cat said
echo "  true" > wrong && measure stub --steps wrong; cat said
echo "= one" > wrong && measure stub --steps wrong; cat said
GEMMTUNE_LIBCUDA=$PWD/none measure stub; cat said
echo "== one GPU, cut while the last part runs"
tree/tools/measure stub --steps steps --out one --gpus 2 --minutes 2 --pack one.tar.gz > out 2> said & pid=$!
until_true test -e begun
kill -TERM $pid; wait $pid; echo "[exit $?]"
said
cut -d, -f1,2,7 one/parts.csv # not the exit code: a signal may end the wait for it
echo "== what is packed is whole, and goes on elsewhere with two GPUs"
mkdir two && tar -C two -xzf one.tar.gz && touch soon
# A tar that ends with 1, as it does where a file grows while it reads it, has packed all the same.
mkdir bin && printf '#!/bin/sh\n%s "$@" && exit 1\n' "$(command -v tar)" >bin/tar && chmod +x bin/tar
PATH=$PWD/bin:$PATH measure stub --steps steps --out two --gpus 0,1 --minutes 2 --pack two.tar.gz | sed "s|$PWD/||g"
said
cat two/facts.gpu*/which.txt two/speed.all/which.txt
tar -tzf two.tar.gz | grep -c '/done$'
echo "== four GPUs, all of which take part"
measure four --steps steps --out four --minutes 2 > out
tail -n +2 four/parts.csv | cut -d, -f2 | grep -v '"' | sort -u | tr '\n' ' '; echo
echo "== a GPU that does not answer ends its part, and another one takes the rest"
# The other one's products take a while, so that it has not done all before the first one has failed.
STUB_DIES_0=1 STUB_WAIT_US_1=5000 measure stub --steps steps --only sweep --gpus 0,1 --out dies --minutes 2 > out
said | grep -E 'answer|done'; cut -d, -f2,7 dies/parts.csv | sort | tail -n +2
echo "== tables"
printf 'program,settings,device,ms\nother,,Stub device,3\n"part 1",,Stub device,9\npart 1,,Stub device,9\npart 1,,Another,9\n' > tree/db/measured/programs.csv
printf 'figure\nand more\n' > tree/db/measured/stub-calibration.txt
mkdir tree/build && ln -s "$TUNE" tree/build/tune
BUILD=$PWD/tree/build measure --tables two | grep -v 'nothing measured'
cat said
cat tree/db/measured/programs.csv
gzip -dc tree/db/measured/stub-trials.gz | sed -E 's/^(# gemmtune trials 1) .*/\1 DIGEST/' | head -n 4
measure --tables nowhere; cat said
