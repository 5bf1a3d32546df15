# The documents: links lead somewhere, files that they name exist, `tune` and `make` have the commands, options and
# targets that they name.
cd "$ROOT" || exit
mapfile -t pages < <(find . -name '*.md' -not -path './.*/*' -not -path './build*' | sed 's|^\./||' | sort)
for page in "${pages[@]}"; do
    grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//' | while read -r link; do
        path=${link%%#*} anchor=
        [[ $link == *"#"* ]] && anchor=${link#*#}
        [[ $path == *:* ]] && continue
        path=${path:+$(dirname "$page")/$path}
        path=${path:-$page}
        [[ -e $path ]] || echo "$page: $link: there is no such file"
        [[ -z $anchor ]] || sed -n 's/^#* //p' "$path" | tr 'A-Z ' 'a-z-' | tr -d "\`.,:()?'" | grep -qxF -- "$anchor" ||
            echo "$page: $link: there is no such heading"
    done
done
# A path is a word in backquotes that begins with a folder of the tree, or with one beside the page; *, NAME and NN stand for a name.
for page in "${pages[@]}"; do
    awk '/^```/ { inside = !inside; next } !inside' "$page" | grep -oE '`[a-z]+/[A-Za-z0-9_./*-]+`' | tr -d '`' | sed 's/NAME\|NN/*/' | sort -u | while read -r path; do
        [[ -d ${path%%/*} && $path != build/* ]] || continue # what is built may be elsewhere
        compgen -G "$path" >/dev/null || compgen -G "$(dirname "$page")/$path" >/dev/null ||
            echo "$page: $path: there is no such file"
    done
done
# A command is a line of a block or a piece in backquotes that begins with the program.
commands=$(for page in "${pages[@]}"; do
    awk '/^```/ { inside = !inside; next } inside' "$page"
    awk '/^```/ { inside = !inside; next } !inside' "$page" | tr '\n' ' ' | grep -oE '`[^`]+`' | tr -d '`'
done | sed -n -E 's/^(\$ )?(build\/)?(tune|make) /\3 /p' | sed 's/ #.*//; s/   .*//; s/ | .*//' | sort -u)
targets=$(env -u BUILD make help)
while read -r program words; do
    first=${words%% *}
    if [[ $program == make ]]; then
        [[ $first == *=* || -z $first ]] ||
            grep -qE "^ *$first " <<<"$targets" || echo "make $words: there is no such target"
        continue
    fi
    [[ $first == COMMAND ]] && continue
    [[ $first == -* ]] && first=
    help=$("$TUNE" $first --help 2>&1) || echo "tune $words: there is no such command"
    for option in $(grep -oE -- '(^| )--?[a-z][a-z0-9-]*' <<<"$words"); do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|$)" <<<"$help" || echo "tune $words: $option is no option of it"
    done
done <<<"$commands"
wc -l <<<"$commands" | awk '{ print ($1 > 40 ? "more than 40" : $1) " commands were looked at" }'
# tuner/README.md has every command and, with SERVE.md, every variable that is read.
"$TUNE" --help | sed -n '/^Commands/,/^Options/s/^  \([a-z]*\)  .*/\1/p' | while read -r name; do
    grep -qE "^\| .tune $name\b" tuner/README.md || echo "tuner/README.md: the table has no tune $name"
done
grep -rhoE '"GEMMTUNE_[A-Z_]+"' src tuner db --include='*.c' | tr -d '"' | sort -u | while read -r name; do
    grep -qE "^\|.*$name\b.*\|.*\|" tuner/README.md || grep -qw "$name" tuner/SERVE.md ||
        echo "tuner/README.md: the table has no $name"
done
# And every status of a trial.
sed -n 's/^    X([A-Z_]*, "\([a-z_]*\)", [01]).*/\1/p' src/problem/trial.h | while read -r name; do
    grep -qE "^\|.*\`$name\`.*\|" tuner/README.md || echo "tuner/README.md: the table has no status $name"
done
# The table of calls has the figures of `make bench-host`.
host_figure() { awk -v name="$1" 'index($0, name) == 1 { split(substr($0, length(name) + 1), f); printf "%.0f %s\n", f[1], f[2] }' db/measured/host.txt; }
while IFS='|' read -r call figure; do
    grep -qE "^\| $call[^|]*\|[^|]*\b$(host_figure "$figure")\b" src/README.md ||
        echo "src/README.md: $call: db/measured/host.txt says $(host_figure "$figure")"
done <<'CALLS'
`gt_open`|open the tables
`gt_lookup`, first of a problem that a table has|look-up, first, in the table
`gt_lookup`, again|look-up, again
CALLS
