# tools/check-style finds the same faults in a tree that git does not know, such as a released archive.
mkdir -p tree/{src/base,tuner/commands}
cp -r "$ROOT/tools" "$ROOT/configs" "$ROOT/.clang-format" tree
cp "$ROOT"/src/base/{err.c,err.h,README.md} tree/src/base
printf '/* main.c - begins here. */\nint main(void)\n{\n    return 0;\n}\n' > tree/tuner/main.c
printf '/* planted.c - looks up. */\n#include "commands/commands.h"\nchar *planted(char *x)\n{\n    return strcat(x, x);\n}\n' > tree/src/base/planted.c
{ printf 'A turn%s, as it was called.\n' stile; printf '%.0s<' {1..7}; echo ' ours'; } > tree/planted.md
# Two files that call each other, and two headers that include each other.
for pair in 'one two' 'two one'; do
    read -r own other <<<"$pair"
    printf '/* planted_%s.c - a half. */\n#include "base/planted_%s.h"\nint %s(void)\n{\n    return %s();\n}\n' \
        "$own" "$other" "half_$own" "half_$other" > "tree/src/base/planted_$own.c"
    printf '/* planted_%s.h - a half. */\n#include "base/planted_%s.h"\nint %s(void);\n' \
        "$own" "$other" "half_$own" > "tree/src/base/planted_$own.h"
done
tree/tools/check-style 2>&1 | grep -E 'planted|fatal|^note git' | sed -E 's/"turn[a-z]+"/WORD/'
# It is clean without what was planted.
rm tree/planted.md tree/src/base/planted*
tree/tools/check-style 2>&1 | grep -E 'planted|fatal|banned|words of'
