# A user's kernel whose template does not compile: the compiler's words with the template's lines.
need_nvrtc
data=$PWD/data
mkdir -p "$data/configs"
cp -R "$ROOT/templates" "$data/templates"
cp -R "$ROOT"/configs/{devices,formulas,kernels} "$data/configs/"
chmod -R u+w data
cp "$data/templates/simt/naive.cu" before.cu
echo 'int broken = ;' >> "$data/templates/simt/naive.cu"
echo "line $(wc -l < "$data/templates/simt/naive.cu") is broken"
export GEMMTUNE_DATA=$data
t show simt_naive | tail -n 8
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 4 -q

echo "# some points do not compile: the first reason, and where the others are"
{ cat before.cu; printf '#if BN == 8\nint broken = ;\n#endif\n'; } > "$data/templates/simt/naive.cu"
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --values 'BM=16,BN=4|8' --budget 2 -n 1 --db some.db
t show simt_naive BM=16,BN=8 --problem 64x64x64:f32:nn --arch sm_86 | grep -c 'error: expected'
t bench --arch sm_86 --shape 64x64x64 --shape 96x96x96 --kernels simt_naive --budget 12 --db bench.db | grep -E 'the first|every trial' | cut -c 1-72

echo "# more static shared memory than a block may have: NVRTC does not say so"
sed 's/^    float acc = 0.0f/    __shared__ float much[13000];\n    much[threadIdx.x] = depth;\n    __syncthreads();\n    float acc = much[threadIdx.x ^ 1]/' before.cu > "$data/templates/simt/naive.cu"
t show simt_naive | tail -n 2
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1 -q
