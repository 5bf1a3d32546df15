# `compare --update` writes an expected file again: patterns stay where they match a line that is still there.
mkdir -p tree/tests/cli
cp "$ROOT/tests/cli/compare" tree/tests/cli
printed() { # the lines that the test of this tree prints from now on
    printf 'echo "%s"\n' "$@" > tree/tests/cli/lines.sh
}
again() {
    env -u BUILD tree/tests/cli/compare --update tests/cli/lines.sh
    sed "s/^/| /" tree/tests/cli/lines.expected
    env -u BUILD tree/tests/cli/compare tests/cli/lines.sh && echo "[as expected]"
}
printed first "took 12 s" last
printf '%s\n' first '~ took * s' last > tree/tests/cli/lines.expected
again
# Lines that came in, went, and changed.
printed "a new one" first "another" "took 13 s" last "took 1 min"
again
printed first "took 14 s" "took 1 min"
again
printed first "took 14 min" "took 1 min"
again
# Lines left out.
printf '%s\n' first ... '~ took * s' ... last > tree/tests/cli/lines.expected
printed "a new one" first a b "took 5 s" c d last "the end"
again
printed "a new one" first a b "used 5 s" c d last "the end"
again
