# What was found, in every format; the same bytes each time.
need_nvrtc
t --arch sm_86 --shape 256x256x256 --kernels simt_naive --budget 6 -q > /dev/null
t export
t export --format md
t export --measured
t export --format json -o rows.json
t export --format c -o winners.h
cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c winners.h && echo "winners.h compiles"
t export --format csv --all -o a.csv -q
t export --format csv --all -o b.csv -q
cmp a.csv b.csv && echo "same bytes"
t export --format db
t export --format db -o copy.db -q
t export --format db -o copy.db -q
t export --db copy.db | wc -l
t export --db none.db
# What is no file is written to, not replaced.
mkfifo pipe
cat pipe > read &
t export -o pipe -q
wait
wc -l < read
[[ -p pipe ]] && echo "still a pipe"
mkdir folder
t export -o folder
# An option that a format does not honour is refused, and those that do are named.
for option in --all --measured --current '--kernel simt_naive' --kernels-dir=. --include-dir=. --arch=sm_86 --problem=8x8x8 --shapes=set.txt --dtype=f32 --accuracy=f32 --keep=rows.csv --objective=energy; do
    t export --format db -o refused.db $option | grep '^!'
done
for format in search energy c bench shipped deploy trials; do
    for option in --all --measured --current '--kernel simt_naive' --objective=energy --dtype=bf16; do
        t export --format $format -o refused $option -q | grep '^!'
    done
done
ls refused.db 2>/dev/null
t export --format energy
t export --format pdf
t export --dtype bf16
t export --problem 256x256x256 --accuracy tf32
# trials, and a whole space: of the kernels' texts now
mkdir -p now/configs/kernels && cp -R "$ROOT/templates" now/templates && cp -R "$ROOT"/configs/{devices,formulas,problems} now/configs/
cp "$ROOT/configs/kernels/simt_naive.json" now/configs/kernels/ && chmod -R u+w now
current() { GEMMTUNE_DATA=$PWD/now t export --format t4 --problem 256x256x256 --current -q | grep -c '"configuration"\|^! '; }
current
echo "static int other;" >> now/templates/simt/naive.cu
current
