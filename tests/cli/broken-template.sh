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
