# Code, libraries and tables of other users, planted where the program might look, are not used.
case $BUILD in */build) ;; *) skip "sanitizer builds are not installed" ;; esac
umask 022
chmod 711 "$SCRATCH" "$PWD/.."
"$ROOT/tools/install" "$BUILD/bundle" "" "$PWD/shared/x" "$PWD/shared/x/lib" test 1
readelf -d "$BUILD/tune" "$BUILD/installed/tune" "$BUILD/libgemmtune.so.1" 2>/dev/null | grep -E 'RUNPATH|RPATH'
cp "$BUILD/tune" shared/x/tune
echo 'int main(void); __attribute__((constructor)) static void evil(void) { __builtin_printf("EVIL\n"); __builtin_exit(0); }' > evil.c
cc -shared -fPIC -w evil.c -o evil.so 2>/dev/null || skip "no compiler"

# What the neighbours of a program that lies in shared/x may have put there.
plant() {
    mkdir -p shared/lib shared/.deps/nvidia/cuda/lib shared/templates shared/configs/kernels
    for name in libcjson.so.1 libsqlite3.so.0 libz.so.1; do cp evil.so "shared/lib/$name"; done
    for name in libnvrtc.so.13 libnvrtc.so.12 libnvJitLink.so.13 libcublasLt.so.13; do
        cp evil.so "shared/.deps/nvidia/cuda/lib/$name"
    done
    echo EVIL > shared/configs/kernels/simt.json
    mkdir -p shared/share && cp -R shared/templates shared/configs shared/share
    mkdir shared/share/gemmtune && mv shared/share/templates shared/share/configs shared/share/gemmtune
    chmod -R 777 shared/lib shared/.deps shared/templates shared/configs shared/share
    if [[ $(id -u) == 0 ]]; then chown -R 65534:65534 shared/lib shared/.deps shared/templates shared/configs shared/share; fi
}
plant
unset GEMMTUNE_DATA CUDA_HOME
echo "a program that lies in a shared folder"
shared/x/tune --version | grep -c EVIL
shared/x/tune list kernels 2>&1 | grep -c EVIL
shared/x/tune doctor 2>&1 | grep -c EVIL
echo "an installed one, whose own folder another user owns: its data folder is not theirs to give"
mkdir -p shared/y/bin && cp "$BUILD/bundle/tune" shared/y/bin && mv shared/share shared/y/share
shared/y/bin/tune list kernels 2>&1 | sed 's|/[^ ]*/shared|SHARED|g; s/ belongs to another user (uid 65534)/ IS FOREIGN/; s/ may be written by other users (mode 0777)/ IS FOREIGN/'

echo "a program with more rights than its user"
if [[ $(id -u) != 0 ]]; then
    echo "EVIL: 0"
else
    cp "$BUILD/tune" shared/x/setuid && chown 65534 shared/x/setuid && chmod 4755 shared/x/setuid
    echo "EVIL: $(GEMMTUNE_LIBCUDA=$PWD/evil.so setpriv --reuid=1 --regid=1 --clear-groups \
        "$PWD/shared/x/setuid" doctor 2>&1 | grep -c EVIL)"
fi

echo "the library that it preloads: beside it, and in a lib folder beside its own"
mkdir -p shared/z/bin shared/z/lib shared/w/bin shared/w/lib64
cp "$BUILD/tune" shared/z/bin && cp "$BUILD/tune" shared/w/bin
chmod 1777 shared/z/bin && cp evil.so shared/z/bin/libgemmtune_cublas.so && chmod 777 shared/z/bin/libgemmtune_cublas.so
cp evil.so shared/w/lib64/libgemmtune_cublas.so && chmod 777 shared/w/lib64
if [[ $(id -u) == 0 ]]; then chown 65534 shared/z/bin/libgemmtune_cublas.so shared/w/lib64; fi
for place in z w; do
    for command in serve "capture -o $place.txt" "doctor --program"; do
        # shellcheck disable=SC2086 # the command and its options
        "shared/$place/bin/tune" $command -- true 2>&1 |
            sed -n "/EVIL/p; s/.*\(not used: \).* \(belongs to another\|may be written\) .*\(--library\).*/${command%% *}: \1\3/p"
    done
done
echo "a link to sound code in a folder where another user may put another one"
install -m 755 evil.so sound.so && ln -sf "$PWD/sound.so" shared/w/lib64/libgemmtune_cublas.so
shared/w/bin/tune serve -- true 2>&1 | grep -oE 'EVIL|lib64 [a-z]+ .*; --library' | sed 's|lib64 .*;|REFUSED;|'
echo "what is named is taken, and so is what only its owner may write"
shared/z/bin/tune serve --library shared/z/bin/libgemmtune_cublas.so -- true 2>&1
rm -f shared/z/bin/libgemmtune_cublas.so && cp evil.so shared/z/lib/libgemmtune_cublas.so
shared/z/bin/tune serve -- true 2>&1

echo "one that multiplies through cuBLAS with the library that serves, linked or preloaded"
stub=$BUILD/stub
cc -std=c11 -D_GNU_SOURCE -DSTUB_MAJOR=13 -w -I"$ROOT" -I"$ROOT/src" -I"$ROOT/tests/serve" \
    "$ROOT"/tests/serve/{calls,calls_served,calls_left,calls_program,calls_around,calls_check,calls_devices,product}.c \
    -o shared/x/linked -Wl,--no-as-needed "$BUILD/libgemmtune_cublas.so" -L"$stub/blas" -L"$stub" -l:libcublas.so.13 \
    -l:libcublasLt.so.13 -l:libcuda.so.1 -Wl,--disable-new-dtags "-Wl,-rpath,$BUILD:$stub/blas:$stub" -lpthread -lm
cp shared/x/linked shared/x/setuid-linked
# products PROGRAM: what it says and writes for a user who names files, a compiler and a driver.
products() {
    local as=()
    if [[ $(id -u) == 0 ]]; then as=(setpriv --reuid=1 --regid=1 --clear-groups); fi
    mkdir out && chmod 777 out
    "${as[@]}" env GEMMTUNE_REPORT="$PWD/out/report" GEMMTUNE_CAPTURE="$PWD/out/captured" GEMMTUNE_CACHE="$PWD/out/cache" \
        GEMMTUNE_SERVE=any GEMMTUNE_WAIT=1 GEMMTUNE_COMPILE=1 GEMMTUNE_DATA="$ROOT" GEMMTUNE_LIBCUDA="$PWD/evil.so" \
        LD_PRELOAD="$PWD/evil.so" "$PWD/$1" --client 2>&1 | head -n 3
    ls out && rm -rf out
}
echo "with its user's rights:"
sed -i 's/__builtin_exit(0);//' evil.c && cc -shared -fPIC -w evil.c -o evil.so
products shared/x/linked
echo "with more:"
if [[ $(id -u) == 0 ]]; then
    chown 65534 shared/x/setuid-linked && chmod 4755 shared/x/setuid-linked
    products shared/x/setuid-linked
else
    echo "0 of 7 products served"
fi
