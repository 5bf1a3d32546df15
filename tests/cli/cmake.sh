# find_package(gemmtune): a small project against `make install` below a DESTDIR, with another LIBDIR, and
# against a bundle that was moved; wrong versions are refused.
case $BUILD in */build) ;; *) skip "sanitizer builds are not installed" ;; esac
command -v cmake >/dev/null || skip "CMake is not installed"
make -s -C "$ROOT" install BUILD="$BUILD" INSTALLED="$PWD/installed" DESTDIR="$PWD/root" PREFIX=/opt/gt LIBDIR=/opt/gt/lib64/here >log 2>&1 || cat log
tarball=$("$ROOT/tools/bundle" "$BUILD" 0.2.99 2>/dev/null) || exit
mkdir unpacked && tar -xzf "$tarball" -C unpacked && rm "$tarball"
mv unpacked/gemmtune-0.2.99-* "unpacked/a place"
mkdir project
awk '/^```/ { file = ""; if ($1 == "```cmake" || $1 == "```c") { file = "project/" $2; next } } file != "" { print > file }' "$ROOT/src/DEPLOY.md"
cat >>project/CMakeLists.txt <<'END'
add_executable(archive main.c)
target_link_libraries(archive PRIVATE gemmtune::static)
get_filename_component(preload "${gemmtune_PRELOAD}" NAME)
message(STATUS "preload ${preload}")
END
# try NAME PREFIX: builds and runs both programs, with nothing but the data folder beside the library.
try() {
    echo "-- $1"
    cmake -S project -B "$1" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" ${3:-} >said 2>&1 || { grep -A2 Error said; return; }
    grep -o 'preload .*' said
    cmake --build "$1" >said 2>&1 || cat said
    ldd "$1/example" | grep -c "libgemmtune.so.1 => $2"
    (unset GEMMTUNE_DATA && "$1/example" && GEMMTUNE_DATA=$ROOT "$1/archive")
}
try installed-below "$PWD/root/opt/gt" -Dgemmtune_DIR="$PWD/root/opt/gt/lib64/here/cmake/gemmtune"
try bundle "$PWD/unpacked/a place"
for version in 0.2.0 0.1 0.0 1.0; do
    sed "s/gemmtune 0.2/gemmtune $version/" -i.0 project/CMakeLists.txt
    cmake -S project -B "v$version" -DCMAKE_PREFIX_PATH="$PWD/unpacked/a place" >said 2>&1 && echo "$version is taken" || echo "$version is refused"
    mv project/CMakeLists.txt.0 project/CMakeLists.txt
done
make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/gt LIBDIR=/opt/gt/lib64/here
find root -type f
