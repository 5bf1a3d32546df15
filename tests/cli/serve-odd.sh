# Capturing and serving in odd places: planted links, pipes, folders that are not there, programs
# with odd names.
stub=$BUILD/stub client="$BUILD/tests/serve/calls --client"
[[ -e $BUILD/libgemmtune_cublas.so && -e $BUILD/tests/serve/calls ]] || skip "the stub of cuBLAS is not built"
[[ $BUILD != *[[:blank:]]* ]] || skip "LD_PRELOAD takes no path with a blank, as that of the library here"
case $BUILD in */build) ;; *) skip "a sanitizer's library cannot be preloaded into a program that has none" ;; esac
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export LD_LIBRARY_PATH=$stub/blas:$stub GEMMTUNE_LOCKS=$PWD
library=$BUILD/libgemmtune_cublas.so
unset GEMMTUNE_DB
echo "-- a link that somebody planted beside a report is not followed"
echo precious > precious
bash -c "ln -s \$PWD/precious report.txt.\$\$.new; exec env LD_PRELOAD=$library GEMMTUNE_REPORT=report.txt GEMMTUNE_SERVE=0 $client"
cat precious
[[ -L report.txt ]] && echo "the report is the link"
grep -c '^process' report.txt
echo "-- a pipe is written to, not replaced"
mkfifo pipe
timeout 20 cat pipe > piped & reader=$!
LD_PRELOAD=$library GEMMTUNE_REPORT=pipe GEMMTUNE_SERVE=0 timeout 20 $client
[[ -p pipe ]] && echo "the pipe is there" && wait $reader
grep -c '^process' piped
echo "-- a full disk, files of no size and a standard error that nobody reads cost nothing else"
# odd SETTING...: the program with settings; its output and its exit code.
odd() { env LD_PRELOAD="$library" GEMMTUNE_SERVE=0 "$@" timeout 20 $client; echo "[exit $?]"; }
odd GEMMTUNE_CAPTURE=/dev/full GEMMTUNE_REPORT=/dev/full 2>&1
(ulimit -f 0 && odd GEMMTUNE_CAPTURE=captured.txt GEMMTUNE_REPORT=limited.txt) 2>&1 | cat
ls captured.txt* limited.txt* 2>/dev/null
mkfifo dead
: < dead & reader=$!
exec 5> dead
wait $reader
odd GEMMTUNE_REPORT=/nowhere/report.txt 2>&5
odd GEMMTUNE_MARGIN=much 2>&5
exec 5>&-
rm dead
echo "-- a policy that never ends is not waited for"
rm -f pipe && mkfifo pipe
LD_PRELOAD=$library GEMMTUNE_POLICY=pipe timeout 20 $client
timeout 20 "$TUNE" capture --merge pipe -o none.txt 2>&1
echo "-- what cannot be written is said before the program runs"
t capture -o nowhere/shapes.txt -- $client
mkdir folder
t capture -o folder -- $client
echo 'an older set' > shapes.txt
echo "-- temporary folders of any name"
mkdir 'a%pb c'
TMPDIR=$PWD/'a%pb c' t capture -- $client
TMPDIR=folder t capture -- bash -c "cd /; $client"
TMPDIR=nowhere t capture -- $client
ls -A folder 'a%pb c'
echo "-- an environment that captures does not keep tune serve from serving"
t --shapes shapes.txt --kernels simt_thread1d --budget 20 --db mine.db -q > /dev/null
GEMMTUNE_CAPTURE=captured.txt t serve --db mine.db --wait --margin 0.001 -- $client
echo "-- programs of odd names"
cp "$BUILD/tests/serve/calls" $'odd \e[31mname'
t serve --report odd.txt -- ./$'odd \e[31mname' --client
sed 's/process [0-9]*/process N/' odd.txt | head -n 1 | cat -v
t capture -- ''
t serve -- folder
echo "-- what killed runs left an hour ago goes, what is in use, new or planted stays"
mkdir tmp keep
touch keep/precious
export TMPDIR=$PWD/tmp
bash -c "$TUNE capture -- bash -c 'kill -9 \$PPID'; :" > /dev/null 2>&1
for folder in tmp/*; do touch "$folder/4711.txt" && touch -d '2 hours ago' "$folder"; done
mkdir tmp/gemmtune-run-newone
ln -s ../keep tmp/gemmtune-run-linked
touch -h -d '2 hours ago' tmp/gemmtune-run-linked
t capture -- bash -c "touch -d '2 hours ago' \$(dirname \$GEMMTUNE_CAPTURE); $TUNE capture -q -- true; ls tmp | wc -l"
ls tmp keep
unset TMPDIR
echo "-- no room for the set, once the program has ended: the set is printed, the exit code is the program's"
mkdir full && t capture -q -o full/shapes.txt -- bash -c "$client; code=\$?; rmdir full; exit \$code"
mkdir full && t capture -q -o full/shapes.txt -- bash -c "$client; rmdir full"
