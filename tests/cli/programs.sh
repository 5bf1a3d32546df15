# tools/programs/compare on the stubs of cuBLAS and the driver: a program that looks cuBLAS up by name, without
# and with serving, untuned, and after the whole way of capturing, tuning and serving.
stub=$BUILD/stub
command -v python3 >/dev/null || skip "Python is not installed"
[[ -e $BUILD/libgemmtune_cublas.so && -e $stub/blas/libcublas.so.13 ]] || skip "the stub of cuBLAS is not built"
[[ $BUILD != *[[:blank:]]* ]] || skip "LD_PRELOAD takes no path with a blank, as that of the library here"
case $BUILD in */build) ;; *) skip "a sanitizer's library cannot be preloaded into a program that has none" ;; esac
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export LD_LIBRARY_PATH=$stub/blas:$stub GEMMTUNE_LOCKS=$PWD PYTHONDONTWRITEBYTECODE=1
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
