# What a machine lacks is said by name, with a way out, and doctor says what a sweep says.
need_stub
echo "== cuInit's answers"
for answer in 1 2 3 34 46 100 101 304 800 802 803 804 805 999; do
    said=$(STUB_INIT=$answer "$TUNE" doctor 2>/dev/null | grep -o "cuInit answers $answer, CUDA_ERROR_[A-Z_]*: [A-Za-z]")
    echo "${said% ?}"
done
STUB_INIT=802 "$TUNE" --shape 64x64x64 --db a.db 2>&1 | grep -oE "CUDA_ERROR_[A-Z_]*|nvidia-fabricmanager"
echo "== a driver older than the compiler"
older() { STUB_DRIVER=12020 STUB_NVRTC=$1 "$TUNE" "${@:2}"; }
older 13000 doctor 2>/dev/null | grep -oE '^NVRTC +[A-Za-z]+|CUDA 12\.2|update the driver|NVRTC 12,|GEMMTUNE_LIBNVRTC' | head -n 5
STUB_DRIVER=11080 STUB_NVRTC=12080 "$TUNE" doctor 2>/dev/null | grep -oE 'CUDA 12 or later: update the driver'
older 13000 --shape 64x64x64 --kernels simt_naive --budget 2 --db b.db >said 2>&1
echo "[exit $?]"
grep -oE 'CUDA 12\.2|NVRTC 13\.0|update the driver|GEMMTUNE_LIBNVRTC' said
older 12080 --shape 64x64x64 --kernels simt_naive --budget 2 --db b.db -q >/dev/null
echo "[exit $?]"
mkdir both && cp "$stub/libnvrtc.so.13" both/ && cp "$stub/libnvrtc.so.13" both/libnvrtc.so.12
for driver in 12020 13000; do
    GEMMTUNE_LIBNVRTC=$PWD/both STUB_DRIVER=$driver "$TUNE" doctor 2>/dev/null | grep '^NVRTC' | grep -oE 'libnvrtc\.so\.[0-9]+'
done
echo "== the cache of compiled kernels"
touch file && mkdir open && chmod 777 open && ln -s "$PWD/nowhere" link && ln -s "$PWD/nowhere" parent
for cache in file open link parent/cache new/folder; do
    GEMMTUNE_CACHE=$PWD/$cache "$TUNE" doctor 2>/dev/null | grep -oE '^cache +[A-Za-z]+' | sed "s|\$| $cache|"
done
GEMMTUNE_CACHE_LIMIT=much "$TUNE" doctor 2>/dev/null | grep -oE '^cache +[A-Z]+|"much" is not a size'
echo "== no home"
(
    unset HOME GEMMTUNE_CACHE XDG_CACHE_HOME GEMMTUNE_LIBCUDA
    "$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1 >said 2>&1
    echo "[exit $?]"
    grep -oE '^HOME is not set|kept for this run only|the database is gemmtune.db' said | sort -u
    "$TUNE" doctor 2>/dev/null | grep -oE '^cache +[A-Za-z]+'
)
echo "== a compiler for the CPU that does not work, and a TMPDIR that is not there"
emulated() {
    mkdir bin && printf '#!/bin/sh\necho "c++: internal compiler error: Killed" >&2\nexit 4\n' >bin/sick && chmod +x bin/sick
    CXX=$PWD/bin/sick "$TUNE" try simt_naive --problem 16x16x16 --on cpu 2>&1 | grep -oE 'compile_error|does not work here|CXX|TMPDIR'
    TMPDIR=$PWD/none "$TUNE" try simt_naive --problem 16x16x16 --on cpu 2>&1 | grep -oE 'TMPDIR|not right'
    # As root: one without room, and one mounted noexec.
    inside='mount -t tmpfs -o $0 none tmp && { dd if=/dev/zero of=tmp/full bs=1k count=16 2>/dev/null; TMPDIR=$PWD/tmp "$TUNE" try simt_naive --problem 16x16x16 --on cpu 2>&1; }'
    mkdir tmp
    for options in size=16k size=64m,noexec; do
        if unshare -m true 2>/dev/null; then unshare -m bash -c "$inside" $options | grep -oE 'TMPDIR|not right'; else echo TMPDIR; fi
    done
}
if [[ -x $(dirname "$TUNE")/gemmtune-emulate ]]; then
    emulated
else # a sanitizer's build has no emulator
    printf '%s\n' 'does not work here' CXX TMPDIR TMPDIR TMPDIR TMPDIR
fi
echo "== a copied checkout has its own templates"
mkdir -p copy/build && cp -r "$ROOT"/{templates,configs,db} copy && cp "$TUNE" copy/build
sed -i '1i #error edited' copy/templates/simt/naive.cu
(unset GEMMTUNE_DATA GEMMTUNE_LIBNVRTC && cd copy && build/tune doctor 2>/dev/null | grep "^data folder")
echo "== options that another command has"
for words in "doctor --gpu" "doctor --arch sm_86" "list kernels --arch sm_86" "list kernels --ptx" "--csv x"; do
    # shellcheck disable=SC2086 # words
    "$TUNE" $words 2>&1 | grep -oE 'unknown option "--[a-z]+": |takes? --arch|show KERNEL --problem MxNxK --keep|tune export' | paste -sd' '
done
