# The worked example of configs/README.md, followed literally: its files, then its commands.
need_nvrtc
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
awk '/^```/ { inside = !inside; fresh = inside; next }
     inside && fresh { fresh = 0; target = ""
         if ($1 == "//" && $2 == "file:") { target = $3; next }
         if ($1 == "#" && $2 == "run") { target = "commands"; next } }
     inside && target != "" { folder = target; if (sub("/[^/]*$", "", folder)) system("mkdir -p " folder); print >> target }' \
    "$ROOT/configs/README.md"
find . -type f | sort
ln -s "$BUILD" build
while read -r line; do
    case $line in "build/tune "*) ;; "cp "* | "sed "*) bash -c "$line"; continue ;; *) echo "unexpected: $line"; continue ;; esac
    read -ra words <<< "$line"
    t "${words[@]:1}" | grep -vE '^  +(ok|NOT)  ' > said
    case ${words[1]} in list) grep -E '^(\$|rows|\[)' said ;; *) cat said ;; esac
done < commands
