# Copies of the kernels with factors, each with one fault in how it takes a factor: the emulator finds all of them.
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
export GEMMTUNE_LIBNVRTC=$PWD/none.so # what it says does not depend on a compiler for GPUs

# try KERNEL FILE PROBLEM FAULT SUBSTITUTION POINT [ARCH]: a copy whose FILE went through sed; description: another kernel's.
try()
{
    local from=$ROOT/templates/$1
    mkdir -p "$1"
    for file in gemm.cu promote.cuh blocks.cuh "$2"; do
        [[ -e $from/$file ]] && sed -E "s:\"$1/(blocks|promote|${2%.cuh}).cuh\":\"\1.cuh\":" "$from/$file" > "$1/$file"
    done
    sed "s:\"templates/$1/gemm.cu\":\"gemm.cu\":; s/\"kernel\": \"[^\"]*\"/\"kernel\": \"faulty\"/" "$ROOT/configs/kernels/${description:-$1}.json" > "$1/faulty.json"
    cp "$1/$2" right && sed -i "$5" "$1/$2"
    [[ $5 ]] && cmp -s right "$1/$2" && echo "$1: nothing to replace for \"$4\""
    echo "$1, $4: $(t try faulty "$6" --problem "$3" ${7:+--arch "$7"} --on cpu --kernels-dir "$1" 2>&1 | grep -oE 'verdict +[a-zA-Z]+|^\[exit .*' | tr -s '\n ' ' ')"
}
mma=BM=32,BN=64,COPY_A=16,COPY_B=16 hopper=CONSUMERS=1,BM=64,BN=32,STAGES=4

mma() { try mma_scaled blocks.cuh 40x136x300:e4m3:nt:scale_a=1x128:scale_b=128x128 "$@" $mma; }
whole mma "the next row's" 's/Rows::at(i \* 2 + half, p.group)/& + 1/'
mma "the first block's for all of k, A" 's/ + block \* more.lsa/ + 0 * block/'
whole mma "the first block's for all of k, B" 's/(more.scale_b) + block/& * 0/'
whole mma "the last block without one" 's/, row \* column\[j\]\[e\],/, (block + 1) * 128 >= args.k ? 1.0f : row * column[j][e],/'
whole mma "A's in the other order" 's/ + block \* more.lsa/ + block/; s|a + min(.*args.m - 1)|& * ((args.k + 127) / 128)|'
whole mma "B's in the other order" 's|(more.scale_b) + block|& * ((args.n + 127) / 128)|; s|128 \* more.lsb|128|'

hopper() { try hopper_scaled blocks.cuh 40x136x300:e4m3:nt:scale_a=1x128:scale_b=128x128 "$@" $hopper; }
whole hopper "the next row's" 's/? __ldg(from_a + row_of(i))/? __ldg(from_a + row_of(i) + (row_of(i) + 1 < rows))/'
whole hopper "the first block's for all of k, A" 's/from_a += line_a;/;/'
hopper "the first block's for all of k, B" 's/from_b++;/;/'
whole hopper "the last block without one" 's/if (left > 0) {/if (left-- > 0) {/; s/^ *left--;$//; s/part\[i\], of_a \* of_b/part[i], left >= 0 ? of_a * of_b : 1.0f/'
whole hopper "A's in the other order" 's/from_a + row_of(i)/& * 3/; s/line_a + row;/line_a + row * 3;/; s/line_a = more.lsa/line_a = 1/'
whole hopper "B's in the other order" 's/from_b++/from_b += 2/; s/line_b = more.lsb/line_b = 1/; s/line_b + k;/line_b + 2 * k;/'

# Sums that stay in the tensor cores' 14 bits, though the problem wants them promoted every 128 of k.
sums() { try "$1" promote.cuh 24x72x600:e4m3:nt:out=f32:scale_a=vector:scale_b=vector "${@:2}"; }
whole sums mma_scaled "promoted" '' $mma
sums mma_scaled "never promoted" 's/GT_SUMS == GT_SUMS_PROMOTED/0/' $mma
whole sums hopper_scaled "promoted" '' $hopper
whole sums hopper_scaled "never promoted" 's/PROMOTED = GT_SUMS == GT_SUMS_PROMOTED/PROMOTED = 0/' $hopper

# Integers, whose sums become floats when they get their factors.
int8() { try mma_scaled factors.cuh 40x136x80:s8:nt:out=f32:scale_a=vector:scale_b=vector "$@" $mma; }
whole int8 "integers" ''
int8 "integers, the next row's" 's/Rows::at(i \* 2 + half, p.group)/& + 1/'
whole int8 "integers, no column's" 's/(row \* column\[j\]\[e\])/row/'

# Factors that the tensor cores multiply by: which lane, byte and word they take.
block() { try mma_block "$1" 40x72x300:e4m3:nt:out=f32:scale_a=1x32/ue8m0/tiled:scale_b=1x32/ue8m0/tiled "${@:2}" BM=32,BN=32,WM=32,WN=32,STAGES=2 sm_120; }
whole block factors.cuh "right" ''
block multiply.cuh "the other pair of lanes" 's/(unsigned short)(i % 2)/(unsigned short)(1 - i % 2)/'
whole block multiply.cuh "the first byte for all of k" 's/(step % STEPS_OF_WORD)/0/'
whole block factors.cuh "the tile before" 's/block + w \* 4, blocks/max(block + w * 4 - 4, 0), blocks/'
whole block factors.cuh "rows in their order" 's|row % 32 \* 4|row % 128|; s|row / 32 % 4|0|'

fp4() { description=mma_fp4 try mma_block "$1" 40x72x160:e2m1:nt:out=f32:scale_a=1x16/ue4m3/tiled+tensor:scale_b=1x16/ue4m3/k "${@:2}" BM=32,BN=32,WM=32,WN=32,STAGES=2,BK_BYTES=64 sm_120; }
whole fp4 gemm.cu "four bits" ''
whole fp4 gemm.cu "four bits, without the whole operand's" 's/if (GT_SCALE_A_TENSOR ||/if (0 \&\&/; s/if (0 \(.*\) GT_SCALE_B_TENSOR)/if (0)/'
whole fp4 multiply.cuh "four bits, the first step's for all" 's|step / STEPS_OF_WORD|0|'
