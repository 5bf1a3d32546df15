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
