# A line of the Makefile that says how to compile makes objects old when it changes; no other line does.
mkdir -p tree/build
cp "$ROOT/Makefile" tree
ln -s "$ROOT"/{src,db,tuner,templates,tests,tools} tree
touch tree/build/setup.stamp
made() { echo "$1: $(make -C tree BUILD=build build/src/base/err.o 2>&1 | grep '^  CC')"; }
made "at first"
made "again"
echo "# a remark" >> tree/Makefile
made "after a remark"
sed -i 's/^WARNINGS := /&-Wshadow /' tree/Makefile
made "after a warning"
made "again"
