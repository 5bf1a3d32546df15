# A machine or compiler that does not work condemns no candidate: one sentence, exit 6, nothing stored.
need_stub
command -v sqlite3 >/dev/null || skip "sqlite3, which plants the rows, is not installed"
sweep=(--shape 64x64x64 --kernels simt_naive --budget 3)
verdicts() { if [[ -e $1 ]]; then sqlite3 "$1" "SELECT count(*) || ' stored failures' FROM trial WHERE status LIKE 'compile%'"; else echo "no database"; fi; }
# The words of its last line that say what is wrong and what to do.
words() { grep -oE '^NVRTC *[A-Za-z]+|does not work here|sm_[0-9]+|result -?[0-9]+|signal [0-9]+|--jobs|libnvrtc-builtins of|GEMMTUNE_LIBNVRTC|newer CUDA Toolkit' | uniq | paste -sd'|'; }
last() { local rc; "$TUNE" "$@" >last 2>&1; rc=$?; ((rc)) && tail -n 1 last | words; echo "[exit $rc]"; }
try_sick() {
    echo "== $1"
    export GEMMTUNE_CACHE=$PWD/cache-$1
    local device=(--device cuda)
    if [[ ${2:-} ]]; then device=(--arch "$2"); fi
    last "${sweep[@]}" "${device[@]}" --db "$1.db"
    "$TUNE" doctor 2>/dev/null | grep '^NVRTC' | words
    verdicts "$1.db"
    # Once it is repaired, the same command goes on.
    STUB_SICK='' last "${sweep[@]}" "${device[@]}" --db "$1.db"
}
STUB_SICK=1 STUB_SICK_LOG='' try_sick memory
STUB_SICK=7 STUB_SICK_LOG='nvrtc: error: failed to open libnvrtc-builtins.so.13.0.' whole try_sick builtins
STUB_SICK=11 try_sick internal sm_86
STUB_SICK=5 STUB_SICK_LOG='nvrtc: error: invalid value for --gpu-architecture (-arch)' whole try_sick arch sm_121
STUB_SICK=6 STUB_SICK_LOG='a.cu(1): error: nothing compiles' whole try_sick compilation
# A sanitizer reports the signal itself, and ends its process by a code.
case $BUILD in */build) by='&' ;; *) by='sm_90|signal 11|GEMMTUNE' ;; esac
STUB_SICK=-11 try_sick signal | sed "s/sm_90|GEMMTUNE/$by/; s/MISSING$/MISSING|signal 11/"
echo "== it stops working in the middle of a sweep"
export GEMMTUNE_CACHE=$PWD/cache-middle
stored() { (($(sqlite3 middle.db "SELECT count(*) FROM trial" 2>/dev/null || echo 0) > 2)); }
middle=(--shape 64x64x64 --kernels simt_warptile --budget 20 --jobs 1 --db middle.db)
STUB_SICK=11 STUB_SICK_IF=$PWD/ill STUB_COMPILE_MS=100 "$TUNE" "${middle[@]}" >/dev/null 2>middle & pid=$!
until_true stored
touch ill
wait $pid
echo "[exit $?]"
tail -n 1 middle | grep -o "does not work here"
verdicts middle.db
"$TUNE" "${middle[@]}" -q >/dev/null && verdicts middle.db
echo "== libraries that are none: what is wrong stands behind the file, and nothing waits"
mkfifo fifo; mkdir folder; ln -s nowhere dangling; ln -s loop loop
cc -shared -fPIC -xc - -o none.so <<<'int x;'; cc -shared -fPIC -xc - -o dies.so <<<'__attribute__((constructor)) void f(void) { __builtin_abort(); }'
head -c "$(($(stat -c %s none.so) * 6 / 10))" none.so >cut.so
{ head -c 4 none.so; printf '\1'; tail -c +6 none.so; } >class32.so
for library in fifo folder dangling loop none.so dies.so cut.so class32.so; do
    GEMMTUNE_LIBNVRTC=$PWD/$library "$TUNE" "${sweep[@]}" --device predict:h200 --db files.db >last 2>&1; echo "$library: $?"
    tail -n1 last | grep -oE 'not a regular file|No such file|symbolic links|lacks the function|signal 6|cut short|wrong ELF class'
    verdicts files.db
done
GEMMTUNE_LIBNVRTC=$PWD/dies.so last "${sweep[@]}" --db files.db
GEMMTUNE_LIBNVRTC=$PWD/dies.so "$TUNE" doctor 2>/dev/null | grep -o '^NVRTC .*signal 6'
echo "== what a compiler may do beside failing"
export GEMMTUNE_CACHE=$PWD/cache-words
for word in -9 exit empty other; do
    STUB_SICK=$word "$TUNE" "${sweep[@]}" --device predict:h200 --db words.db >last 2>&1; echo "$word: $?"; verdicts words.db
done
STUB_SICK=sleep last "${sweep[@]}" --device predict:h200 --compile-cpu 1 --db words.db
STUB_SICK=exit STUB_SICK_ALL=1 last "${sweep[@]}" --db words.db
verdicts words.db
STUB_SICK=print last "${sweep[@]}" --device predict:h200 --db words.db
echo "== sick for the project's own kernels too, and for single candidates"
export GEMMTUNE_CACHE=$PWD/cache-own
STUB_SICK=11 STUB_SICK_ALL=1 last "${sweep[@]}" --db own.db
STUB_SICK=11 last show simt_naive --problem 64x64x64 --arch sm_86
STUB_SICK=11 last try simt_naive --problem 64x64x64
echo "== a database that an older version filled with such verdicts"
"$TUNE" "${sweep[@]}" --db old.db -q >/dev/null
poison() { sqlite3 old.db "UPDATE trial SET status='$1', us=0, detail='$2'; DELETE FROM meta WHERE key IN ('winners', 'digest')" && "$TUNE" "${sweep[@]}" --db old.db 2>&1 | grep -oE '[0-9]+ trials.*earlier runs\)|no candidate.*'; "$TUNE" "${sweep[@]}" --db old.db -q >/dev/null 2>&1; echo "[exit $?]"; verdicts old.db; }
poison compile_error 'nvrtc: error: failed to open libnvrtc-builtins.so.13.0.'
whole poison compile_crash 'the compiler ran out of the 2048 MiB of memory it may use'
whole poison compile_crash 'the compiler failed: simt_naive: NVRTC failed with result 11 and no log'
poison compile_crash 'the compiler was killed by signal 11 (Segmentation fault) (it may use 2048 MiB of memory and 60 s of CPU time)'
echo "== those of a source stay"
poison compile_error 'simt/naive.cu(12): error: identifier "x" is undefined'
whole poison compile_crash 'with this source the compiler was killed by signal 11 (Segmentation fault)'
