# A device whose name has quotes, a line break and escapes: exports stay readable; and exports that
# nobody could read replace no file.
need_stub
command -v sqlite3 > /dev/null || skip "sqlite3, which plants the rows, is not installed"
STUB_NAME=$'E"v\033il\n90,measured,x' "$TUNE" --shape 96x80x64 --kernels simt_thread1d --budget 2 --db e.db -q > table
grep -c $'\033' table
"$TUNE" export --db e.db --format shipped -o e.csv -q
tail -n 1 e.csv | grep -oE '^.*96x80x64'
"$TUNE" lookup 96x80x64 --arch sm_90 --db e.db | grep -E 'tier|tuned'
for format in csv md json; do "$TUNE" export --db e.db --format $format -q | grep -c $'\033'; done
"$TUNE" export --db e.db -q | wc -l
plant() { # plant NAME SQL: exports a changed copy over a good file
    cp e.db "$1.db"
    sqlite3 "$1.db" "$2; DELETE FROM meta WHERE key IN ('winners', 'digest')"
    echo good > "$1.csv"
    "$TUNE" export --db "$1.db" --format shipped -o "$1.csv" -q 2>&1 | sed -E 's/csv.part-[A-Za-z0-9]{6}/csv.part-XXXXXX/'
    cat "$1.csv"
}
plant tiny "UPDATE trial SET us = us / 1e5, lo_us = lo_us / 1e5, hi_us = hi_us / 1e5"
plant odd "UPDATE problem SET text = '96x80x64:f32:zz'"
ls ./*.csv*
echo "-- no escape and no control character of two bytes (U+009B) reaches a terminal from any command"
odd=$'E"v\033il\xc2\x9b31m'
STUB_NAME=$odd "$TUNE" --shape 96x80x64 --kernels simt_thread1d --budget 2 --db o.db -q > table
cp o.db k.db
sqlite3 k.db "UPDATE kernel SET name = char(27) || '[31mk' || char(155) || 'x'; DELETE FROM meta WHERE key IN ('winners', 'digest')"
for db in o k; do
    for format in csv md json search all shipped; do "$TUNE" export --db $db.db --format $format; done
    "$TUNE" export --db $db.db --format deploy -o $db.deploy
    "$TUNE" compare $db.db e.db
    "$TUNE" compare --json $db.db e.db
    "$TUNE" recheck --adopt --same-code "$ROOT" --db $db.db
    STUB_NAME=$odd "$TUNE" bench --shape 96x80x64 --db $db.db
    "$TUNE" energy --db $db.db
    "$TUNE" doctor --db $db.db
    "$TUNE" lookup 96x80x64 --arch sm_90 --db $db.db
done > said 2>&1
LC_ALL=C grep -c $'\xc2[\x80-\x9f]' said
grep -c $'\033' said
[[ $(wc -l < said) -gt 100 ]] || cat -v said
