# make install: the README's C example compiles against what was installed, links, and looks up.
case $BUILD in */build) ;; *) skip "sanitizer builds are not installed" ;; esac
command -v pkg-config > /dev/null || skip "pkg-config is not installed"
make -s -C "$ROOT" install BUILD="$BUILD" DESTDIR="$PWD/root" PREFIX=/opt/gt > log 2>&1 || cat log
(cd root/opt/gt && ls -p bin include lib lib/pkgconfig share/gemmtune)
sed -n '/^```c$/,/^```$/p' "$ROOT/README.md" | sed '1d;$d' > example.c
export PKG_CONFIG_PATH=$PWD/root/opt/gt/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
cc -std=c11 -Wall -Wextra -Werror example.c -o example $(pkg-config --cflags --libs gemmtune) && echo "example.c compiles"
echo '#include <gemmtune.h>' > header.cpp
c++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags gemmtune) header.cpp && echo "the header is C++ too"
unset GEMMTUNE_DATA
LD_LIBRARY_PATH=$PWD/root/opt/gt/lib ./example 2> /dev/null | head -n 1 | cut -d' ' -f1
./root/opt/gt/bin/tune list strategies | head -n 1 | cut -d' ' -f1
make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/gt
find root -type f
