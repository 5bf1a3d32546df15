# The cache of compiled kernels: its size, its limit, and what happens where it cannot be used.
export GEMMTUNE_CACHE=$PWD/cache
t cache
for i in 1 2 3 4; do
    mkdir -p -m 700 cache && head -c 500000 /dev/zero > "cache/0000000000000000000000000000000$i.bin"
    touch -d "2001-01-0$i" "cache/0000000000000000000000000000000$i.bin"
done
touch cache/notes
t cache
t cache --limit 1M
ls cache
t cache --limit 1.5M
t cache --clear --json
ls cache
GEMMTUNE_CACHE_LIMIT=much t cache
chmod 777 cache
t cache
echo "a sweep does without it, and says so once"
need_nvrtc
mkdir temporary && export TMPDIR=$PWD/temporary # where it keeps them
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 2 --db a.db 2>&1 | grep -E "cache does not|exit|trials"
ls cache
ls temporary | wc -l
echo "images that leave the cache before they are run are the GPU's fault in no trial"
need_stub
unset TMPDIR
export GEMMTUNE_CACHE=$PWD/leaky
statuses() { tr -d '\n\t ' | grep -oE '"trials":\{[^}]*\}' | sed -E 's/[0-9]+/N/g'; }
sweep=(--shape 64x64x64 --kernels simt_thread1d --strategy exhaustive --values "BM=64,BK=4|8,TM=4|8" -q --json)
GEMMTUNE_CACHE_LIMIT=1 "$TUNE" "${sweep[@]}" --jobs 2 --db leaky.db | statuses
(while [[ ! -e over ]]; do "$TUNE" cache --clear -q > cleared 2>&1; done) & cleaner=$!
"$TUNE" "${sweep[@]}" --jobs 2 --db cleared.db | statuses
touch over; wait $cleaner
