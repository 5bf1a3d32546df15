# A command that fails with --json: standard error ends with one object, whatever went wrong; standard output has a
# whole document or nothing; the exit code is that of the same command without --json.
command -v python3 > /dev/null || skip "python3, which reads the objects, is not installed"
need_preload
fails() { # fails WORD...: runs it with and without --json, and keeps what was said in numbered files
    local words=() seen=
    ((runs += 1))
    "$TUNE" "$@" > /dev/null 2> $runs.plain; echo $? > $runs.codes
    # Before the "--" that begins another program's words.
    for word in "$@"; do [[ $word == -- && ! $seen ]] && words+=(--json) && seen=1; words+=("$word"); done
    [[ $seen ]] || words+=(--json)
    "$TUNE" "${words[@]}" > $runs.out 2> $runs.err; echo $? >> $runs.codes
    echo "${*//$'\xff'/?}" > $runs.words
}
export GEMMTUNE_LIBCUDA=$PWD/none # whatever machine this is
echo "shopping list: milk" > text.db
printf 'not a problem\n' > $'bad\xff.txt'
printf '{' > broken.json
near=(--arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1)
fails frobnicate
fails --frobnicate
fails "${near[@]}" --jobs 0
fails "${near[@]}" --kernels nothing
fails "${near[@]}" --db text.db
fails "${near[@]}" --db nowhere/deeper.db
fails --arch sm_86 --shapes $'bad\xff.txt'
fails --shape 64x64x64 --device cuda:7
fails --device replay:broken.json --shape 64x64x64
fails lookup
fails lookup 64x64x64 --arch sm_90 --db nowhere.db
fails lookup 64x64x64 --arch sm_90 --db text.db
fails lookup 64x64x64 --arch sm_90 --objective energy
fails show simt VEC=3
fails show simt_warptile BM=64,BN=32,TM=16,TN=16,WM=64 --no-compile
fails try simt_naive --problem 64x
fails export --db text.db
fails export --format none
fails report --db text.db
fails compare text.db text.db
fails merge text.db --db new.db
fails queue frobnicate postgresql:///none
fails list colours
fails doctor --predictor --db text.db
fails recheck --arch sm_86
fails energy 64x64x64 --arch sm_86
fails bench 64x64x64 --arch sm_86 --db nowhere.db
"$TUNE" "${near[@]}" --db near.db -q > table 2> log
fails bench 96x96x96 --arch sm_86 --db near.db
fails ladder --shape 64x64
fails cache --limit much
fails capture -- ./none
fails serve --margin much -- true
fails help nothing
python3 - $runs << 'PY'
import json, sys
for run in range(1, int(sys.argv[1]) + 1):
    said = {name: open(f"{run}.{name}", errors="replace").read() for name in ("words", "codes", "plain")}
    out, lines = (open(f"{run}.{name}", "rb").read().decode() for name in ("out", "err"))
    lines = lines.splitlines()
    plain, code = map(int, said["codes"].split())
    last = json.loads(lines[-1])
    if out.strip():
        json.loads(out)
    sentence = [line for line in said["plain"].splitlines() if line.startswith("tune: ")][-1][6:]
    assert list(last) == ["error", "code"] and last["code"] == code == plain, (lines, code, plain)
    assert sum(line.startswith("{") for line in lines) == 1 and not any(line.startswith("tune: ") for line in lines), lines
    assert last["error"] == sentence.replace("\ufffd", "?"), (last["error"], sentence)
    print(code, said["words"].rstrip("\n"), "[and a document]" if out.strip() else "")
PY
# What a program that is served or captured has among its words is its own.
"$TUNE" capture -o shapes.txt -- ./none --json 2>&1 | tail -n 1
