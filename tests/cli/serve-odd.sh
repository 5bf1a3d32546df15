# Capturing and serving in odd places: planted links, pipes, folders that are not there, programs
# with odd names.
need_serve
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
exec 9<> pipe # a reader that is there before the other one has begun
timeout 300 cat pipe > piped 9>&- & reader=$!
LD_PRELOAD=$library GEMMTUNE_REPORT=pipe GEMMTUNE_SERVE=0 timeout 300 $client 9>&-
for ((i = 0; i < 300; i++)); do [[ -s piped ]] && break; sleep 0.1; done
exec 9>&-
[[ -p pipe ]] && echo "the pipe is there" && wait $reader
grep -c '^process' piped
echo "-- what is open is written to by its name, too: after what it has, and nothing takes the place of the name"
open=/proc/self/fd/1 # as /dev/stdout, which root would have replaced for everybody
LD_PRELOAD=$library GEMMTUNE_REPORT=$open GEMMTUNE_SERVE=0 $client > opened.txt
sed 's/process [0-9]*/process N/; 1q' opened.txt
echo '64x64x64:f32:nn count=1 weight=2' > one.txt
{ echo "first"; "$TUNE" capture --merge one.txt -q -o $open; } > opened.txt
cat opened.txt
echo "-- a full disk, files of no size and a standard error that nobody reads cost nothing else"
# odd SETTING...: the program with settings; its output and its exit code.
odd() { env LD_PRELOAD="$library" GEMMTUNE_SERVE=0 "$@" timeout 300 $client; echo "[exit $?]"; }
odd GEMMTUNE_CAPTURE=/dev/full GEMMTUNE_REPORT=/dev/full 2>&1
(ulimit -f 0 && odd GEMMTUNE_CAPTURE=captured.txt GEMMTUNE_REPORT=limited.txt) 2>&1 | cat
ls captured.txt.* limited.txt* 2>/dev/null # captured.txt is there, and empty, if it was written before the first product
[[ ! -s captured.txt ]] || echo "captured.txt has a size"
rm -f captured.txt
mkfifo dead
: < dead & reader=$!
exec 5> dead
wait $reader
odd GEMMTUNE_REPORT=/nowhere/report.txt 2>&5
odd GEMMTUNE_MARGIN=much 2>&5
exec 5>&-
rm dead
echo "-- a program without standard error has a file of its own in that place"
(exec 2>&-; LD_PRELOAD=$library GEMMTUNE_MARGIN=much timeout 300 $client data.txt)
cat data.txt
echo "-- a policy that never ends is not waited for"
rm -f pipe && mkfifo pipe
LD_PRELOAD=$library GEMMTUNE_POLICY=pipe timeout 300 $client
timeout 300 "$TUNE" capture --merge pipe -o none.txt 2>&1
echo "-- what cannot be written is said before the program runs"
t capture -o nowhere/shapes.txt -- $client
mkdir folder
t capture -o folder -- $client
echo '8x8x8:f32:nn count=1 weight=1' > shapes.txt
echo "-- temporary folders of any name"
mkdir 'a%pb c'
TMPDIR=$PWD/'a%pb c' t capture -- $client
TMPDIR=folder t capture -- bash -c "cd /; $client"
TMPDIR=nowhere t capture -- $client
ls -A folder 'a%pb c'
echo "-- an environment that captures does not keep tune serve from serving"
t --shapes shapes.txt --kernels simt_thread1d --budget 20 --db mine.db -q > /dev/null
GEMMTUNE_CAPTURE=captured.txt t serve --db mine.db --wait --margin 0.001 -- $client
echo "-- paths are those of the folder in which tune was started, also for programs that are started elsewhere"
echo "db = mine.db" >mine.policy
GEMMTUNE_POLICY=mine.policy t serve --report moved.txt --wait --margin 0.001 -- bash -c "cd folder && $client"
t serve --db mine.db --report moved.%p.txt --wait --margin 0.001 -- bash -c "cd folder && $client"
t doctor --program --db mine.db -- bash -c "cd folder && $client" | grep -o "[0-9]* products, .*"
cat moved.txt moved.*.txt | grep -c ' served, 0 left'
ls -A folder
echo "-- programs of odd names"
cp "$BUILD/tests/serve/calls" $'odd \e[31mname'
t serve --report odd.txt -- ./$'odd \e[31mname' --client
sed 's/process [0-9]*/process N/' odd.txt | head -n 1 | cat -v
t capture -- ''
PATH=$(dirname "$(command -v bash)") t serve -- folder # a PATH with a folder that may not be searched says "Permission denied"
echo "-- what killed runs left an hour ago goes, what is in use, new or planted stays"
mkdir tmp keep
touch keep/precious
export TMPDIR=$PWD/tmp
# A signal that another process sends to tune alone reaches the program.
begin=$SECONDS
timeout --foreground -s INT 1 "$TUNE" capture -q -o int.txt -- sleep 60 > /dev/null 2>&1
((SECONDS - begin < 30)) || echo "SIGINT was not handed on"
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
echo "-- a signal that leaves a core file is the program's: this process leaves none"
if command -v python3 > /dev/null; then
    (ulimit -c unlimited 2>/dev/null; python3 - "$TUNE" << 'END'
import os, sys
status = os.spawnl(os.P_NOWAIT, sys.argv[1], "tune", "capture", "-q", "-o", "killed.txt", "--", "bash", "-c", "kill -SEGV $$")
status = os.waitpid(status, 0)[1]
if os.WTERMSIG(status) != 11 or os.WCOREDUMP(status):
    print(f"status {status}")
END
    ) 2> /dev/null
fi
echo "-- a program whose reader goes away ends as it does without"
bash -c 'yes | head -n 1' > alone 2>&1
for command in "serve -q" "capture -q -o none.txt" "doctor --program -q"; do
    "$TUNE" $command -- bash -c 'yes | head -n 1' 2>&1 | grep -E '^y' | cmp - alone && echo "$command: the same"
done
