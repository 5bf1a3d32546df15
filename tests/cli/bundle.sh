# make bundle: the tarball, unpacked elsewhere, runs with nothing of this tree and no environment.
case $BUILD in */build) ;; *) skip "sanitizer builds are not bundled" ;; esac
tarball=$("$ROOT/tools/bundle" "$BUILD" test 2> about) || exit
mkdir elsewhere && tar -xzf "$tarball" -C elsewhere
(($(stat -c %s "$tarball") < 20000000)) && echo "less than 20 MB"
rm "$tarball"
mv elsewhere/gemmtune-test-* elsewhere/moved && cd elsewhere/moved
sed "s/glibc [0-9.]*/glibc V/" ../../about
ls -p . share/gemmtune
env -i bin/tune list kernels | grep -c '^simt_'
env -i bin/tune lookup 4096x4096x4096:f32:nn --arch sm_90 | head -n 1
env -i ldd libexec/tune | awk '$2 == "=>" { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread)\.so' | sed "s|$PWD/||" | sed 's/\.so.*//' | sort
