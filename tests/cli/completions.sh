# Help, manual pages and completions are made of the same tables: every command and every option is in
# all of them; the shells complete by asking the program.
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
    "$TUNE" help --format words -- $command - > words
    "$TUNE" help --format words -- "" | grep -q "^${command:-show}	" || echo "$command is not completed"
    for option in $(grep -oE '^  (-[a-z], |    )--[a-z0-9-]+' text | grep -oE -- '--[a-z0-9-]+'); do
        grep -qF -- "$(sed 's/-/\\-/g' <<< "$option")" page || echo "$command $option is not in its manual page"
        grep -qE -- "^$option	" words || echo "$command $option is not completed"
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
# The same by fish, where it is installed; zsh is asked for the words that it would show.
if command -v fish > /dev/null; then
    ln -s "$TUNE" tune
    for typed in 'list k' '--l2=c' 'merge all.b' '--shapes=all.z'; do
        fish -c 'set PATH $PWD $PATH; source all.fish; complete -C "tune '"$typed"'"' | cut -f1
    done | cmp - <(printf '%s\n' kernels --l2=cold all.bash --shapes=all.zsh) || echo "fish completes otherwise"
fi
if command -v zsh > /dev/null; then
    printf '%s\n' 'compset() { : }' '_files() { print files }' '_describe() { print -l -- $found }' \
        'source =(sed "/^_gemmtune \"/d" all.zsh)' 'words=("$@") CURRENT=$#' _gemmtune > complete.zsh
    { zsh -f complete.zsh "$TUNE" list k; zsh -f complete.zsh "$TUNE" help sho; zsh -f complete.zsh "$TUNE" --db=a; } |
        cut -d: -f1 | cmp - <(printf '%s\n' kernels show files) || echo "zsh completes otherwise"
fi
t help nosuch
"$TUNE" help show | head -n 1
