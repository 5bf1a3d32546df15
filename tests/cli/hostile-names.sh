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
