# make bundle: the tarball, unpacked elsewhere, runs with nothing of this tree and no environment.
case $BUILD in */build) ;; *) skip "sanitizer builds are not bundled" ;; esac
if "$ROOT/tools/setup" --nvrtc > /dev/null 2>&1; then
    # With NVRTC inside: it compiles where there is none, and no environment names one.
    tarball=$(NVRTC=1 "$ROOT/tools/bundle" "$BUILD" nvrtc 2> about) || exit
    mkdir nvrtc && tar -xzf "$tarball" -C nvrtc && rm "$tarball"
    sed "s/glibc [0-9.]*/glibc V/" about
    mv nvrtc/gemmtune-nvrtc-* "nvrtc/a place"
    env -i GEMMTUNE_CACHE="$PWD/cache" GEMMTUNE_LIBNVRTC="$PWD/nvrtc/a place/lib/gemmtune" "nvrtc/a place/bin/tune" doctor --db x.db | grep '^NVRTC' | sed "s|$PWD/||; s/version [0-9.]*/version V/; s/so\.1[0-9]/so.N/"
    env -i GEMMTUNE_CACHE="$PWD/cache" "nvrtc/a place/bin/tune" show simt_naive --problem 64x64x64 --arch sm_86 | grep -c registers
    if command -v unshare > /dev/null && unshare -m true 2> /dev/null; then
        # Nothing of CUDA is seen outside of the bundle.
        unshare -m bash -c 'for cuda in /usr/local/cuda*/; do mount -t tmpfs none "$cuda"; done
            env -i GEMMTUNE_CACHE="$PWD/cold" "nvrtc/a place/bin/tune" show simt_naive --problem 80x80x80 --arch sm_86' |
            grep -c registers
    else
        echo 1
    fi
    rm -rf nvrtc
else
    printf '%s\n' "tools/bundle: it needs glibc V or newer and holds NVRTC" "NVRTC        ok        version V, nvrtc/a place/lib/gemmtune/libnvrtc.so.N" 1 1
fi
tarball=$("$ROOT/tools/bundle" "$BUILD" test 2> about) || exit
mkdir elsewhere && tar -xzf "$tarball" -C elsewhere
(($(stat -c %s "$tarball") < 20000000)) && echo "less than 20 MB"
rm "$tarball"
mv elsewhere/gemmtune-test-* elsewhere/moved && cd elsewhere/moved
sed "s/glibc [0-9.]*/glibc V/" ../../about
ls -p . share/gemmtune
find . -name "*.md" ! -path ./README.md ! -path "./share/doc/*" # a document at another place would have dead links
grep -oE '\]\([^)#: ]+' README.md | cut -c3- | while read -r link; do [[ -f $link ]] || echo "README.md: $link"; done
env -i bin/tune list kernels | grep -c '^simt_'
env -i bin/tune lookup 4096x4096x4096:f32:nn --arch sm_90 | head -n 1
env -i ldd libexec/tune | awk '$2 == "=>" { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread)\.so' | sed "s|$PWD/||" | sed 's/\.so.*//' | sort
# It measures by itself, where there is a GPU: with its own program and data.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
printf 'one 1 9\n    tune lookup 64x64x64 --arch sm_90 >/dev/null && ls "$data" "$library" "$tools" >here\n' >steps
env -i PATH="$PATH" TMPDIR="$PWD" GEMMTUNE_LIBCUDA="$stub/libcuda.so.1" tools/measure stub --steps steps >/dev/null 2>&1
echo "[exit $?]"
grep -cE 'measure.steps|templates|libgemmtune_cublas.so' measure-stub/one.1/here
