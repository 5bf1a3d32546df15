# The ladder without a GPU: every rung in its order, the reported shares beside.
need_nvrtc
t ladder --arch sm_86 --shape 256x256x256 --trials 2 --csv ladder.csv -q
head -n 2 ladder.csv
cut -d, -f3,4 ladder.csv | sed -n '2,$p'
# The rungs of tensor cores; and a type that no kernel serves there.
t ladder --arch sm_86 --shape 64x64x64:f16 --trials 1 -q | grep -E ' (8|9) '
t ladder --arch sm_86 --shape 64x64x64:e4m3 --trials 1 -q | tail -n 3
