# Copies of the kernels with factors along k, each with one fault in how it takes a factor: the emulator finds all of them.
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
export GEMMTUNE_LIBNVRTC=$PWD/none.so # what it says does not depend on a compiler for GPUs

# try KERNEL POINT FAULT SUBSTITUTION: a copy whose blocks.cuh went through sed.
try()
{
    local from=$ROOT/templates/$1
    mkdir -p "$1"
    for file in gemm.cu promote.cuh; do sed -E "s:\"$1/(blocks|promote).cuh\":\"\1.cuh\":" "$from/$file" > "$1/$file"; done
    sed "s:\"templates/$1/gemm.cu\":\"gemm.cu\":; s/\"kernel\": \"$1\"/\"kernel\": \"faulty\"/" "$ROOT/configs/kernels/$1.json" > "$1/faulty.json"
    sed "$4" "$from/blocks.cuh" > "$1/blocks.cuh"
    cmp -s "$from/blocks.cuh" "$1/blocks.cuh" && echo "$1: nothing to replace for \"$3\""
    echo "$1, $3: $(t try faulty "$2" --problem 40x136x300:e4m3:nt:scale_a=1x128:scale_b=128x128 --on cpu --kernels-dir "$1" 2>&1 |
        grep -oE 'verdict +[a-zA-Z]+|^\[exit .*' | tr -s '\n ' ' ')"
}

mma() { try mma_scaled BM=32,BN=64,COPY_A=16,COPY_B=16 "$@"; }
mma "the next row's" 's/Rows::at(i \* 2 + half, p.group)/& + 1/'
mma "the first block's for all of k, A" 's/ + block \* more.lsa/ + 0 * block/'
mma "the first block's for all of k, B" 's/(more.scale_b) + block/& * 0/'
mma "the last block without one" 's/, row \* column\[j\]\[e\],/, (block + 1) * 128 >= args.k ? 1.0f : row * column[j][e],/'
mma "A's in the other order" 's/ + block \* more.lsa/ + block/; s|a + min(.*args.m - 1)|& * ((args.k + 127) / 128)|'
mma "B's in the other order" 's|(more.scale_b) + block|& * ((args.n + 127) / 128)|; s|128 \* more.lsb|128|'

hopper() { try hopper_scaled CONSUMERS=1,BM=64,BN=32,STAGES=4 "$@"; }
hopper "the next row's" 's/? __ldg(from_a + row_of(i))/? __ldg(from_a + row_of(i) + (row_of(i) + 1 < rows))/'
hopper "the first block's for all of k, A" 's/from_a += line_a;/;/'
hopper "the first block's for all of k, B" 's/from_b++;/;/'
hopper "the last block without one" 's/if (left > 0) {/if (left-- > 0) {/; s/^ *left--;$//; s/part\[i\], of_a \* of_b/part[i], left >= 0 ? of_a * of_b : 1.0f/'
hopper "A's in the other order" 's/from_a + row_of(i)/& * 3/; s/line_a + row;/line_a + row * 3;/; s/line_a = more.lsa/line_a = 1/'
hopper "B's in the other order" 's/from_b++/from_b += 2/; s/line_b = more.lsb/line_b = 1/; s/line_b + k;/line_b + 2 * k;/'
