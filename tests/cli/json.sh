# The documents of --json, by their keys: on the stub driver, which measures.
need_stub
all=$PWD/all-keys
keys() { tee -a "$all" | grep -oE '"[a-z_0-9]+":|^!.*|^\[exit.*' | LC_ALL=C sort -u | paste -sd' ' | fold -sw 100 | sed 's/ *$//'; }
t --shape 96x80x64 --kernels simt_thread1d --budget 2 --db one.db -q --json | keys
t bench --shape 96x80x64 --shape 32x32x32 --rounds 5 --db one.db -q --json | keys
"$TUNE" bench --shapes energy --shape 32x32x32 --list --json | tr -d '\n\t' | cut -c1-100
mkdir -p few/configs/kernels # two rungs say as much as all of them
cp -R "$ROOT/templates" few/ && cp -R "$ROOT"/configs/{devices,formulas} few/configs/
cp "$ROOT"/configs/kernels/simt_{naive,thread1d}.json few/configs/kernels/
GEMMTUNE_DATA=$PWD/few t ladder --shape 96x80x64 --trials 1 --db two.db -q --json | keys
t recheck --db one.db -q --json | keys
t merge one.db --db two.db --json -q | sed 's/"trials":.*/"trials": N/'
t show simt_naive --arch sm_90 --json | keys
t show simt_warptile VEC=4 --problem 1000x1001x1002 --no-compile --json | tail -n 3
cp -r "$ROOT/tests/unit/data/mapped" mapped
t show mapped --kernels-dir mapped --arch sm_90 --no-compile --json | sed -n '/tensor_maps/,$p' | keys
# Every key that a command prints is explained in tuner/JSON.md; names of parameters are capitals.
for command in "lookup 96x80x64 --arch sm_90 --db one.db" "list kernels" "list devices" "list strategies" "doctor" "cache" "forget --kernel simt_naive --dry-run --db one.db" "--missing --shape 96x80x64 --kernels simt_thread1d --db one.db" \
    "compare one.db two.db" "doctor --predictor --db one.db" "doctor --calibrate --db two.db" "try simt_naive --problem 64x64x64"; do
    "$TUNE" $command --json 2> /dev/null > document
    cat document >> "$all"
    # A list, or an object that begins with its format.
    head -n 2 document | tr -d '\n\t' | grep -qE '^(\[|\{"format":)' || echo "$command: no list, and no object with a format"
done
"$TUNE" export --db one.db --format json --all 2> /dev/null >> "$all"
grep -oE '`[^`]+`' "$ROOT/tuner/JSON.md" | tr -d '`' | LC_ALL=C sort -u > documented
grep -oE '"[a-z_0-9]+":' "$all" | tr -d '":' | LC_ALL=C sort -u | comm -23 - documented | sed 's/$/ is not in tuner\/JSON.md/'
# So are the database's views and their columns, in db/README.md.
if command -v sqlite3 > /dev/null; then
    grep -oE '`[^`]+`' "$ROOT/db/README.md" | tr -d '`' | LC_ALL=C sort -u > documented
    sqlite3 one.db "SELECT name FROM sqlite_schema WHERE type = 'view' UNION SELECT name FROM pragma_table_info('line')
        UNION SELECT name FROM pragma_table_info('winner')" | LC_ALL=C sort -u | comm -23 - documented | sed 's/$/ is not in db\/README.md/'
fi
