# What an export to deploy leaves out is named and counted, and its code is 4; what stands behind a
# program's name without -- is refused with the way out.
quick_nvrtc
said() { grep -oE '^left out: [0-9x]+|nothing to deploy|[0-9]+ of [0-9]+ problems were left out|[0-9]+ answers?|kernel [a-z_0-9]+ is the answer|(--db|-c|--version)" stands.*'; }
try() {
    "$TUNE" "$@" > out 2>&1
    echo "[exit $?]" >> out
    said < out
    tail -n 1 out
}
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 2 --db k.db -q > out
try export --format deploy --db k.db -o none.gt
"$TUNE" --arch sm_86 --shape 128x96x64 --budget 2 --db k.db -q > out
try export --format deploy --db k.db -o some.gt
try export --format deploy --db k.db -o some.gt -q
try export --format deploy --db k.db -o some.gt --kernel simt_naive
try export --format deploy --db k.db -o some.gt --kernel simt_naive --problem 64x64x64
try export --format deploy --db k.db -o some.gt --problem 64x64x64
try export --format deploy --db k.db -o some.gt --measured --problem 128x96x64
"$TUNE" lookup 128x96x64 --arch sm_86 --db some.gt 2> out | grep tier
try capture -o s.txt python3 -c 'print(1)'
try serve python3 --version
try serve --accuracy tf32 python3 x.py --db x.db
try doctor --program python3 -c 'print(1)'
echo 64x64x64 > a.txt
try capture --merge a.txt -o s.txt
cat s.txt
# Predictions for several cards: each card's line names its own row.
for card in "RTX 3090" "RTX 3080" A10; do "$TUNE" --arch "$card" --shape 256x256x256 --kernels simt_naive --budget 2 --db cards.db -q > out; done
"$TUNE" export --format deploy --db cards.db -o none.gt 2>&1 | grep '^left out' | sed -E 's/.* on (.*): kernel .* predicted on (.*) \(own.*model expects.*/\1; \2/'
for card in "RTX 3090" "RTX 3080" A10; do "$TUNE" lookup 256x256x256 --arch "$card" --db cards.db | grep -o 'predicted on.*profile'; done
