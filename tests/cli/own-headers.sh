# A template of one's own that includes headers of one's own: -I in every command that reads kernels.
need_nvrtc
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
awk '/^```/ { inside = !inside; fresh = inside; next }
     inside && fresh { fresh = 0; target = $1 == "//" && $2 == "file:" ? $3 : ""; if (target != "") system("mkdir -p mykernels"); next }
     inside && target != "" { print >> target }' "$ROOT/configs/README.md"
mkdir "my headers" more
# <step.cuh> is found in one folder, and "deep/one.cuh" by it in the other.
sed -i '1,/^#include/s|^#include.*|&\n#include <step.cuh>|; s/fmaf(a\[gt_offset_a(args, first_row + i, k)\], value, acc\[i\])/step(a[gt_offset_a(args, first_row + i, k)], value, acc[i])/' mykernels/rows.cu
printf '#pragma once\n#include "deep/one.cuh"\n#ifdef NEVER\n#include "nowhere.cuh"\n#endif\n__device__ inline float step(float a, float b, float c) { return fmaf(a, b, ONE * c); }\n' > "my headers/step.cuh"
mkdir more/deep
echo '#define ONE 1.0f' > more/deep/one.cuh
own=(--kernels-dir mykernels -I "my headers:more")

echo "# without the folders the compiler does not find them"
t show rows --problem 96x96x96 --kernels-dir mykernels 2>&1 | grep -E 'cannot open|exit'
t list kernels --kernels-dir mykernels -I nosuch
mkdir {a..q}
t list kernels --kernels-dir mykernels -I a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q

for name in '"../secret"' '"deep/../../secret"' '"/etc/passwd"' '</etc/passwd>' '<../secret>' '"../nowhere"'; do
    mkdir out; cp mykernels/rows.* out; echo 1 > secret
    echo "#include $name" >> out/rows.cu
    "$TUNE" list kernels --kernels-dir out -I more:"my headers" 2>&1 | grep -o 'rows.cu: line [0-9]*: include .* is not in this folder'
    rm -r out
done

# What names no file could lead to any: a macro, and the compilers' own spellings of an include.
for line in '#include SECRET' '#  include SECRET' '#include_next <secret>' '%:include "../secret"' '%: include SECRET' \
    '#inc\
lude SECRET' '#include /* " */ SECRET' '#include'; do
    mkdir out; cp mykernels/rows.* out; echo 1 > secret
    printf '#define SECRET "../secret"\n%s\n' "$line" >> out/rows.cu
    "$TUNE" list kernels --kernels-dir out -I more:"my headers" 2>&1 | grep -oE 'rows.cu: line [0-9]*: include .* is not in this folder'
    rm -r out
done

echo "# beside the template they need no folder"
cp -r mykernels beside && cp -r "my headers/step.cuh" more/deep beside && sed -i '/NEVER/,/endif/d' beside/step.cuh && sed -i 's/<step.cuh>/"step.cuh"/' beside/rows.cu
t show rows --problem 96x96x96 --kernels-dir beside 2>&1 | grep -E 'cannot open|registers|exit'
t try rows --problem 96x96x96 --on cpu --kernels-dir beside 2>&1 | grep -E 'verdict|exit'
sed -i 's/"step.cuh"/"stop.cuh"/' beside/rows.cu
t list kernels --kernels-dir beside 2>&1 | grep -oE 'rows.cu: line [0-9]*: include .* is not in this folder or .*templates$'

echo "# with them"
t list kernels "${own[@]}" | grep -E '^(rows|\[)'
t show rows --problem 96x96x96 "${own[@]}" | grep -E 'registers|exit'
t try rows --problem 96x96x96 --on cpu "${own[@]}" | grep -E 'verdict|exit'
t --kernels rows --arch sm_86 --shape 96x96x4 --db mine.db -n 1 "${own[@]}" | grep -E 'rows|exit'
t lookup 96x96x4 --arch sm_86 --db mine.db "${own[@]}" | grep -E 'tier|kernel|exit'
t export --db mine.db --format shipped --current "${own[@]}" | cut -d, -f1-5 | grep -v '^#'

echo "# a changed header is another kernel: its rows are tried again, and its wrong D is found"
echo '#define ONE 1.5f' > more/deep/one.cuh
t try rows --problem 96x96x96 --on cpu "${own[@]}" | grep -E 'verdict|exit'
t lookup 96x96x4 --arch sm_86 --db mine.db "${own[@]}" | grep -E 'tier|exit'
t export --db mine.db --format shipped --current "${own[@]}" | grep -c '^90\|^86'
