# libgemmtune.so exports what gemmtune.h declares, as the checked-in list says, and nothing else.
library=$BUILD/libgemmtune.so.1
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort > exported
sed -n 's/^ *\(gt_[a-z_]*\);$/\1/p' "$ROOT/src/gemmtune.map" | sort > listed
cc -E -P "$ROOT/src/gemmtune.h" | tr '\n' ' ' | tr ';' '\n' | grep -oE '\bgt_[a-z_]+ ?\(' | tr -d ' (' | sort -u > declared
diff listed declared && diff exported listed && wc -l < exported
objdump -p "$library" | grep SONAME | sed 's/ \+/ /g'
