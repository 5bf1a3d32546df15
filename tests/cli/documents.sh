# Every document, followed literally: the fenced blocks are run as pasted, in a scratch folder.
#
# The word after the fence says what a block is.  sh: commands, run without a GPU.  sh gpu: commands,
# run on the stub driver.  sh cmake, sh python: where these are installed.  sh slow: commands that take minutes or need what is not here; readme.sh
# checks that they exist.  console: a transcript.  c NAME, cmake NAME, python NAME: a file for the commands of that page.
case $BUILD in */build) ;; *) skip "sanitizer builds are not installed, which documents do" ;; esac
need_nvrtc
need_preload
export PATH=$BUILD:$PATH
languages='sh|sh gpu|sh slow|sh cmake|sh python|cmake CMakeLists\.txt|python [a-z]+\.py|console|text|json|csv|cuda|c|c [a-z]+\.c'

# A folder that looks like the tree: what a block writes stays here.
enter_tree() {
    mkdir -p "$1" && cd "$1" || exit
    ln -s "$ROOT"/{Makefile,LICENSE,*.md,configs,db,src,templates,tests,tools,tuner} .
    ln -s "$BUILD" build
}

# run_block FILE: as pasted, stopping at the first command that fails.  `make install` builds in a folder of its own,
# because install.sh may run at the same time.
run_block() {
    local words=
    read -r words <"$1.words"
    [[ $words != "sh slow" ]] || return 0
    [[ $words != "sh cmake" ]] || command -v cmake >/dev/null || return 0
    [[ $words != "sh python" ]] || python3 -m pip --version >/dev/null 2>&1 || return 0
    (
        [[ $words != "sh gpu" ]] || need_stub
        env -u BUILD -u GEMMTUNE_DATA INSTALLED="$SCRATCH/installed" bash -e -o pipefail "$1" </dev/null >said 2>&1
    ) || { echo "$page: exit $? of"; cat "$1" said; }
    echo x >>"$SCRATCH/ran"
}

mapfile -t pages < <(cd "$ROOT" && find . -name '*.md' -not -path './.*/*' -not -path './build*' | sed 's|^\./||' | sort)
for page in "${pages[@]}"; do
    (
        enter_tree "$SCRATCH/work/$page"
        awk -v languages="^($languages)$" -v page="$page" '
            /^ *```/ {
                inside = !inside
                file = ""
                if (!inside)
                    next
                words = substr($0, index($0, "```") + 3)
                if (words !~ languages)
                    print page ": a block is of the kind \"" words "\""
                if (words ~ /^(c|cmake|python) /)
                    file = substr(words, index(words, " ") + 1)
                if (words ~ /^sh/) {
                    file = sprintf("block%02d", ++blocks)
                    print words >(file ".words")
                }
                next
            }
            # The worked example has its own test, worked-example.sh.
            inside && file != "" && $0 == "# run" { system("rm " file ".words"); file = "" }
            inside && file != "" { print >file }' "$ROOT/$page"
        for words in block*.words; do
            [[ ! -e $words ]] || run_block "${words%.words}"
        done
    )
done
wc -l <"$SCRATCH/ran" | awk '{ print ($1 > 8 ? "more than 8" : $1) " blocks ran" }'
# The page on serving has every reason that a report can give.
sed -n '/define GT_REASON_MAP/,/^$/s/.*X([A-Z_]*, "\(.*\)").*/\1/p' "$ROOT/src/serve/call.h" >"$SCRATCH/reasons"
(($(wc -l <"$SCRATCH/reasons") > 20)) && echo "more than 20 reasons"
while read -r reason; do
    grep -qE "^\|.*$reason.*\|.*\|$" "$ROOT/tuner/SERVE.md" || echo "tuner/SERVE.md: nothing on \"$reason\""
done <"$SCRATCH/reasons"
