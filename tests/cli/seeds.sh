# tools/seeds: db/measured/seeds.csv is of today's descriptions and trials, and a wrong name is told.
command -v python3 >/dev/null || skip "python3 is not installed"
"$ROOT/tools/seeds" gemv thin_mma >today.csv
grep -E '^(kernel|gemv|thin_mma),' "$ROOT/db/measured/seeds.csv" | diff - today.csv && echo "as recorded"
"$ROOT/tools/seeds" --choose thin_row_phases | sed 's/"[^"]*"/SEED/' | head -n 4
"$ROOT/tools/seeds" thin_rows 2>&1 | tail -n 1 | cut -c1-75
