# Help, manual pages and completions are made of the same tables: every command and every option is in
# all of them; bash completes with what was made.
commands=$("$TUNE" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
for shell in bash zsh fish; do "$TUNE" help --format $shell > all.$shell; done
bash -n all.bash || echo "bash cannot read it"
for shell in zsh fish; do
    ! command -v $shell > /dev/null || $shell -n all.$shell || echo "$shell cannot read it"
done
for command in "" $commands; do
    "$TUNE" help $command --format man > page
    "$TUNE" help $command > text
    "$TUNE" $command --help | cmp - text
    ! command -v man > /dev/null || man --warnings=w -l page 2>&1 > /dev/null
    ! command -v mandoc > /dev/null || mandoc -T lint -W error page
    for shell in bash zsh fish; do
        grep -qwF -- "${command:-show}" all.$shell || echo "$command is not completed by $shell"
    done
    for option in $(grep -oE '^  (-[a-z], |    )--[a-z0-9-]+' text | grep -oE -- '--[a-z0-9-]+'); do
        grep -qF -- "$(sed 's/-/\\-/g' <<< "$option")" page || echo "$command $option is not in its manual page"
        for shell in bash zsh; do grep -qF -- "$option" all.$shell || echo "$option is not completed by $shell"; done
        grep -qE -- "-l ${option#--}( |\$)" all.fish || echo "$option is not completed by fish"
    done
done
wc -w <<< "$commands" | awk '{ print ($1 > 10 ? "more than 10" : $1) " commands" }'
# What a user types, up to the cursor; the answers, joined.
cat > complete.sh <<'BASH'
source all.bash
compopt() { :; }
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _gemmtune "$1"
    printf '%s -> ' "${*:2}"
    printf '%s\n' "${COMPREPLY[*]}"
}
complete_words "$TUNE" re
complete_words "$TUNE" show simt_th
complete_words "$TUNE" show --a
complete_words "$TUNE" --layout n
complete_words "$TUNE" --l2 = c
complete_words "$TUNE" try simt_naive --on ""
complete_words "$TUNE" list k
complete_words "$TUNE" help doc
complete_words "$TUNE" --arch sm_8
complete_words "$TUNE" --strategy ra
complete_words "$TUNE" merge all.b
complete_words "$TUNE" --csv
complete_words "$TUNE" export --format t
BASH
bash complete.sh
t help nosuch
"$TUNE" help show | head -n 1
