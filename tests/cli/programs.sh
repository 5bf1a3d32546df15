# tools/programs/compare on the stubs of cuBLAS and the driver: a program that looks cuBLAS up by name, without
# and with serving, untuned, and after the whole way of capturing, tuning and serving.
command -v python3 >/dev/null || skip "Python is not installed"
need_serve
export PYTHONDONTWRITEBYTECODE=1
unset GEMMTUNE_DB
# compare [OPTION]...: the row without times, device and date.
compare() {
    "$ROOT/tools/programs/compare" --turns 1 "$@" "$BUILD/libgemmtune_cublas.so" "$ROOT/tests/serve/program.py" >row 2>said ||
        { echo "[exit $?]" && sed "s|$BUILD|BUILD|g; s|$PWD|HERE|g" said && return; }
    tail -n 1 row | python3 -c 'import csv, sys; r = next(csv.reader(sys.stdin)); print(r[0], r[1], *r[7:11], sep="; ")'
}
compare --set GEMMTUNE_WAIT=1
compare --tune 5s --tuner "$TUNE" --set GEMMTUNE_MARGIN=0.001
grep -o '[0-9x]*:f32.*' said | head -n 1
compare --tune 5s --tuner "$TUNE" --set GEMMTUNE_MARGIN=0.001 --set GEMMTUNE_DB=kept.db
ls kept.db
compare --tune never --tuner "$TUNE" | grep -v -e "^{" -e "^compare:"
# What checks cost: rows without check, of every product and of one in 50, in which what was compared is counted.
"$ROOT/tools/programs/check_overhead.py" --turns 1 --csv check.csv --program "$ROOT/tests/serve/program.py" "$BUILD/libgemmtune_cublas.so"
"$ROOT/tools/programs/check_overhead.py" --turns 1 --csv check.csv --program "$ROOT/tests/serve/program.py" "$BUILD/libgemmtune_cublas.so"
cut -d, -f1,4-7 check.csv
"$ROOT/tools/programs/check_overhead.py" --program /nowhere "$BUILD/libgemmtune_cublas.so" 2>&1 | cut -d: -f1,2
