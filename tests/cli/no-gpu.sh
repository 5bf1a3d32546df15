# No GPU, the wrong one, no compiler: what is missing is named, exit code 6.
need_nvrtc
[[ -e /dev/nvidia0 ]] && skip "there is a GPU here"
t --device cuda --shape 64x64x64
t --shape 64x64x64
t --device cuda:3 --arch sm_86 --shape 64x64x64
t --devices 0-3 --shape 64x64x64
GEMMTUNE_LIBNVRTC=$PWD/none t --arch sm_86 --shape 64x64x64
GEMMTUNE_LIBNVRTC=$PWD/none t show simt_naive | tail -n 2
t bench --shape 64x64x64 --arch sm_86 --csv bench.csv
ls
# A GPU without a compiler is no machine without a GPU.
need_stub
export GEMMTUNE_LIBNVRTC=$PWD/none
for with in --shape=64x64x64 "--queue=postgresql:///x" "--devices=all --shape=64x64x64"; do
    # shellcheck disable=SC2086 # two words
    t $with 2>&1 | grep -oE "^! tune: .{12}|without a GPU"
done
