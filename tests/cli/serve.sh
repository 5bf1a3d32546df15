# tune capture, tune serve and tune doctor --program on the stubs of cuBLAS and the driver, from a
# program's products to its tuned kernels; and what is wrong costs a sentence, never the program.
need_serve
unset GEMMTUNE_DB
t capture -o shapes.txt -- $client
cat shapes.txt
STUB_LATE=1 t capture -o late.txt -- $client # it ends before the thread that notes its products begins
t capture --merge shapes.txt shapes.txt -o both.txt
# Two runs into one file add up; a file of something else is not overwritten, and the program does not run.
for run in 1 2; do "$TUNE" capture -o twice.txt -q -- $client > /dev/null; done
diff <(sed 's/ weight=.*//' both.txt) <(sed 's/ weight=.*//' twice.txt) && echo "two runs are the sum"
echo 'import torch' > train.py
t capture -o train.py -- echo "must not run"
cat train.py
cat both.txt
t capture --accuracy f32 -o f32.txt -q -- $client
cut -d' ' -f1 f32.txt
# Every point, so that it does not depend on the machine's pace which of them are known.
t --shapes shapes.txt --kernels simt_thread1d --strategy exhaustive --values "BM=64,BK=4|8,TM=4|8,MIN_BLOCKS=1" --db mine.db -q >/dev/null
GEMMTUNE_MARGIN=0.001 t doctor --program --db mine.db -- $client | sed 's/process [0-9]*/process N/; s/ [0-9]*\.[0-9]*  / R  /'
echo "-- served: what was faster than cuBLAS"
t serve --db mine.db --wait --margin 0.001 --report report.txt -- $client
sed 's/process [0-9]*/process N/; s/ [0-9]*\.[0-9]*  / R  /' report.txt
t serve --db mine.db --wait --margin 90 -- $client
t serve --db mine.db --wait --margin 0.001 --check 1 -- $client
STUB_NAME="Another GPU" t serve --db mine.db --wait --margin 0.001 --report report.txt -- $client
sed -n '2s/^ *//p' report.txt
if python3 -c 'import sqlite3' 2>/dev/null; then # what was timed, and in no final, is not served
    cp mine.db raced.db
    python3 -c 'import sqlite3; sqlite3.connect("raced.db").executescript("UPDATE trial SET stage = min(stage, 2); DELETE FROM meta")'
    "$TUNE" serve --db raced.db --wait --margin 0.001 --report report.txt -- $client >/dev/null
    # Look-up may expect less of an untuned answer, and takes that one.
    grep -q ' 0 served' report.txt && grep -Eq 'left: (its winner was in no final|not tuned)' report.txt || cat report.txt
fi
GEMMTUNE_LIBCUBLASLT=/nowhere "$TUNE" --shapes shapes.txt --kernels simt_thread1d --budget 6 --db bare.db -q >/dev/null 2>&1
t serve --db bare.db --wait --report report.txt -- $client
sed -n '2s/^ *//p' report.txt
echo "-- algorithms of cuBLASLt: of half the time of the first, which cuBLAS takes; the kernel is slower than both"
STUB_CUBLASLT_US=1 STUB_CUBLASLT_FIRST_US=2 t --shapes shapes.txt --kernels simt_thread1d,cublaslt --budget 6 --db vendor.db -q >/dev/null
# The client counts what the stub of cuBLASLt computes as left to it; the report says who asked it.
vendor() { GEMMTUNE_LIBCUBLASLT=$stub/blas/libcublasLt.so.13 t serve --db vendor.db --wait --report report.txt "$@" -- $client; sed 1,2d report.txt; }
vendor
vendor --cublaslt
vendor --cublaslt --margin 2.1
vendor --cublaslt --check 1
GEMMTUNE_LIBCUBLASLT=/nowhere t serve --db vendor.db --wait --cublaslt -- $client
# The copy that the program has loaded is taken, of whatever version, though another one can be found first.
export STUB_CUBLASLT_MAJOR=12 STUB_CUBLASLT_US=1 STUB_CUBLASLT_FIRST_US=2
t --shapes shapes.txt --kernels simt_thread1d,cublaslt --budget 6 --db vendor12.db -q >/dev/null
for major in -12 ""; do
    (unset GEMMTUNE_LIBCUBLASLT; t serve --db vendor12.db --wait --cublaslt --report report.txt -- "$BUILD/tests/serve/calls$major" --client)
    head -n 2 report.txt | sed 's/process [0-9]*/process N/'
done
unset STUB_CUBLASLT_MAJOR STUB_CUBLASLT_US STUB_CUBLASLT_FIRST_US
echo "-- a path with a blank cannot be preloaded, a link to it can"
mkdir "a blank" && cp "$BUILD/libgemmtune_cublas.so" "a blank" && ln -s "a blank/libgemmtune_cublas.so" link.so
t serve --library "a blank/libgemmtune_cublas.so" -- $client
t serve --db mine.db --wait --margin 0.001 --library link.so -- $client
echo "-- by hand, with a file"
printf 'db = mine.db # tuned here\nmargin=0.001\n\nwait = 1\n' >policy.txt
LD_PRELOAD=$BUILD/libgemmtune_cublas.so GEMMTUNE_POLICY=policy.txt $client
echo "-- something is wrong"
echo "maargin = 1" >wrong.txt
t serve --policy wrong.txt -- $client
t serve --policy none.txt -- $client
for setting in POLICY=wrong.txt POLICY=none.txt DB=none.db; do # by hand the program runs all the same
    env LD_PRELOAD="$BUILD/libgemmtune_cublas.so" GEMMTUNE_WAIT=1 "GEMMTUNE_$setting" $client
done
t serve --margin much -- $client
t serve --db none.db --wait -- $client
head -c 3000 mine.db >broken.db
t serve --db broken.db --wait -- $client
t serve --report /nowhere/report.txt -- $client
GEMMTUNE_REPORT=/nowhere/report.txt t serve -- $client
t serve --library none.so -- $client
t serve -- ./no-such-program
t capture -- ./no-such-program
LD_PRELOAD=$BUILD/libgemmtune_cublas.so GEMMTUNE_CAPTURE=/nowhere/shapes.txt $client
t doctor --program
t capture -- bash -c 'kill -TERM $$'
echo "-- programs without cuBLAS"
for program in "ls -d /" "bash -c :" "cat /dev/null"; do
    t serve --report none.txt -- $program
done
if command -v python3 >/dev/null; then
    LD_PRELOAD=$BUILD/libgemmtune_cublas.so GEMMTUNE_REPORT=none.txt python3 -c 'import ctypes, json' || echo "python3 ends with $?"
fi
[[ -e none.txt ]] && echo "a report of nothing"
