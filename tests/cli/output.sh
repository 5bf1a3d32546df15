# Where output goes: data to standard output, the rest to standard error; colour only when asked for.
need_nvrtc
"$TUNE" list kernels > /dev/full
echo "[exit $?]"
sweep=(--arch sm_86 --shape 96x80x64 --kernels simt_naive --budget 2 --rows 1)
"$TUNE" "${sweep[@]}" 2> /dev/null | head -n 1 | cat -v
"$TUNE" "${sweep[@]}" -q --color always | head -n 1 | cat -v
NO_COLOR=1 "$TUNE" "${sweep[@]}" -q --color auto | head -n 1 | cat -v
"$TUNE" "${sweep[@]}" -q 2>&1 > /dev/null | wc -c
"$TUNE" list kernels | head -n 1 | cut -c1-6
# A reader that goes away has seen enough of every command.
mkfifo pipe
exec 3<> pipe 4> pipe 3<&-
for command in "list kernels" "export" "export --format json" "lookup 64x64x64 --arch sm_86"; do
    # shellcheck disable=SC2086 # words
    "$TUNE" $command >&4 2> said
    echo "[exit $?]"
    cat said
done
# Below /dev there are plain files, too: they are written anew, and not after what they have.
shared=$(mktemp /dev/shm/gemmtune-XXXXXX)
echo '64x64x64:f32:nn count=1 weight=2' > one.txt
for _ in 1 2; do "$TUNE" capture --merge one.txt -q -o "$shared"; done
grep -c '^64x64x64' "$shared"
rm "$shared"
# "-" is standard output where a file is asked for, and no file of that name.
"$TUNE" export -q -o - | head -n 1 | cut -c1-12
"$TUNE" report -q -o - | head -n 1
"$TUNE" capture --merge one.txt -q -o - | grep '^64x64x64'
"$TUNE" export --format deploy --problem 96x80x64 -q -o - | head -c 15 | tr -d "\0"
echo
"$TUNE" compare gemmtune.db gemmtune.db --html - | grep -ci '<html'
t report --watch -o -
t export --format db -o -
t compare gemmtune.db gemmtune.db --csv -
ls -- -
# A slip does not replace what was measured: no command writes its output over a database.
cp gemmtune.db before.db
t export -o gemmtune.db
t export --format deploy --problem 96x80x64 -o gemmtune.db
t report --html gemmtune.db
t capture --merge one.txt -o gemmtune.db
t capture -o gemmtune.db -- true
t compare before.db gemmtune.db --csv gemmtune.db
t compare before.db gemmtune.db --html gemmtune.db
mkdir keep
cp before.db keep/simt_naive.cu
if [[ -x $(dirname "$TUNE")/gemmtune-emulate ]]; then
    t try simt_naive --problem 64x64x64 --arch sm_86 --on cpu --keep keep 2>&1 | grep -oE 'simt_naive.cu is a database|exit 1'
else # a sanitizer's build has no emulator
    printf '%s\n' 'simt_naive.cu is a database' 'exit 1'
fi
cmp keep/simt_naive.cu before.db
cmp gemmtune.db before.db
