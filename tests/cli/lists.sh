# What people have is read as a list of problems: files of TunableOp, logs of cublasLt, cuBLAS and rocBLAS, traces of PyTorch.
cat > tunableop_untuned0.csv <<'CSV'
GemmTunableOp_float_NT,nt_256_512_1024_ld_256_512_256
GemmTunableOp_BFloat16_TN,tn_1536_16_7168_ld_7168_7168_1536
GemmTunableOp_double_NN,nn_8_8_8_ld_8_8_8
GemmStridedBatchedTunableOp_float_NN,nn_64_128_64_B_12_ld_64_64_64
CSV
t bench tunableop_untuned0.csv --list
(printf '\357\273\277'; sed 's/$/\r/' tunableop_untuned0.csv) > windows.csv
"$TUNE" bench windows.csv --list -q | diff - <("$TUNE" bench tunableop_untuned0.csv --list -q) && echo same
# Each call of a log counts.
line() { echo "[2026-01-14 21:16:46][cublasLt][4711][Trace][cublasLtMatmul] A=0X7F Adesc=[type=$1 rows=768 cols=2304 ld=768] B=0X7F Bdesc=[type=$1 rows=768 cols=512 ld=768] C=0X7F Cdesc=[type=$1 rows=2304 cols=512 ld=2304] D=0X7F Ddesc=[type=$1 rows=2304 cols=512 ld=2304] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transA=OP_T] beta=0 stream=0X0"; }
{ line R_16BF; line R_16F; line R_16BF; line R_64F; } > trace.log
t bench trace.log --list
"$TUNE" bench --shapes - --list < trace.log 2>&1
gzip -c trace.log > trace.log.gz
"$TUNE" bench trace.log.gz --list -q
t capture --merge trace.log tunableop_untuned0.csv -o shapes.txt
cat shapes.txt
echo 'rocblas-bench -f gemm -r f32_r --transposeA T --transposeB N -m 96 -n 64 -k 32 --lda 32 --ldb 32 --ldc 96' > bench.log
echo '{"traceEvents": [{"name": "aten::mm", "args": {"Input Dims": [[4, 3], [3, 5]], "Input type": ["float", "float"]}}]}' > trace.json
for file in bench.log trace.json; do t bench $file --list; done
t --arch sm_90 --shapes bench.log --kernels simt_naive --budget 1 --db a.db -q | grep ^64x96x32
# Nothing that gemmtune computes, and no sizes.
echo 'GemmTunableOp_double_NN,nn_8_8_8_ld_8_8_8' > double.csv
t bench double.csv --list
echo '{"traceEvents": [{"name": "aten::mm", "args": {}}]}' > sizes.json
t bench sizes.json --list
# Tables with the mark and the ends of lines of Windows are the same tables.
(printf '\357\273\277'; sed 's/$/\r/' "$ROOT/db/shipped/h200.csv") > windows-table.csv
"$TUNE" lookup 4096x4096x4096 --arch sm_90 --system-db windows-table.csv | diff - <("$TUNE" lookup 4096x4096x4096 --arch sm_90 --system-db "$ROOT/db/shipped/h200.csv") && echo same table
# Tables with a column each for m, n and k, as spreadsheets, pandas and SQL write them: any order, case and separator.
table() { printf "$@" > table; "$TUNE" bench table --list -q 2>&1; echo "[exit $?]"; }
table 'm,n,k\n96,64,32\n8,8,8\n'
table '\357\273\277"name";"K";"N";"M";"calls"\r\n"attn; qkv";"32";"64";"96";"3"\r\n"mlp";"32";"64";"96";"4"\r\n'
table ',M,N,K,dtype,count,layout\n0,96.0,64.0,32.0,torch.bfloat16,12.0,nt\n1,96.0,64.0,32.0,int3,1,nn\n'
table '| m | n | k | precision |\n|---|:-:|--:|---|\n| 96 | 64 | 32 | FP16 |\n'
table '# m n k\n# remark\n96 64 32\n\n'
table 'M\tbatch\tN\tK\tweight\n96\t4\t64\t32\t0.5\n'
# A table of BLAS's names stores by columns.
table 'transA,transB,batch_count,m,n,k,lda,ldb,ldc,a_type,b_type,c_type,d_type,hipblaslt-Gflops,us\nT,N,1,96,64,32,40,32,96,bf16_r,bf16_r,bf16_r,bf16_r,1.5,2\n'
table 'm,n,k,a_t,b_t\n96,64,32,1,0\n'
table '96,64,32\n8, 8, 8\n'
# What is no table says what is wrong with its line.
table 'm,n\n96,64\n' | sed 's/.*: line/line/'
table 'm,n,k\n96,64\n-1,2,3\n'
table '     M   N   K  time\n0   96  64  32  1.5\n1  96  64  32 1e-3\n2 8 8 8 2\n'
table 'name\tm\tn\tk\tweight\n\t96\t64\t32\tinf\nx\t96\t64\t32\t\n'
