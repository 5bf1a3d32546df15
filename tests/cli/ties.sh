# Predicted times often tie: they are shown as such, and whatever was tried first, the sweep, the same
# command again, look-up and export name the same winner of them.
need_nvrtc
sweep=(--arch sm_86 --shape 96x80x64 --kernels simt_tiled -q)
for first in 1 2 3 4; do
    "$TUNE" "${sweep[@]}" --values BM=8,BN=8,BK=64,MIN_BLOCKS=$first --db $first.db > first
    "$TUNE" "${sweep[@]}" --values BM=8,BN=8,BK=64 --db $first.db > $first.out
    "$TUNE" "${sweep[@]}" --values BM=8,BN=8,BK=64 --db $first.db > again
    cmp 1.out $first.out
    cmp 1.out again
    "$TUNE" lookup 96x80x64 --arch sm_86 --db $first.db | grep point
    "$TUNE" export --db $first.db -q | grep -o 'BM=8.*MIN_BLOCKS=.'
done
cat 1.out
"$TUNE" "${sweep[@]}" --values BM=8,BN=8,BK=64 --db 1.db --json | grep -c '"tie":.*true'
