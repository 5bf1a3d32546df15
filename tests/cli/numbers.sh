# Every option of every command that takes a number refuses what is none: one sentence that names the option or the
# value, exit code 2.  The list of options is that of --help, so that a new one is tested, too.
args() { # what the command needs besides
    case $1 in
    '') echo --arch sm_86 --shape 64x64x64 --budget 1 ;;
    try | show) echo simt_naive --problem 64x64x64 ;;
    lookup) echo 64x64x64 --arch sm_86 ;;
    ladder | bench | energy | recheck) echo --arch sm_86 --shape 64x64x64 ;;
    queue) echo submit postgresql:///none --shape 64x64x64 ;;
    serve) echo -- true ;;
    compare) echo a.db b.db ;;
    esac
}
needs() { # what the option needs besides
    case $1 in
    lease | ahead) echo --queue postgresql:///none ;;
    silence) echo --devices 0 ;;
    esac
}
number='N|M|X|I/N|RATIO|FACTOR|PERCENT|SECONDS|MIB|SIZE|BUDGET|TIME'
refused=0
for command in '' $("$TUNE" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    for option in $("$TUNE" $command --help | sed -nE "s#^  (-., |    )--([a-z-]+) ($number)( .*|\$)#\2#p"); do
        rest=$(args "$command" | sed -E "s/--$option [^ ]+//")
        for value in 7seven nan; do
            # shellcheck disable=SC2046,SC2086 # words of command lines
            "$TUNE" $command --$option "$value" $(needs $option) $rest > said 2> why
            rc=$?
            if ((rc == 2)) && (($(wc -l < why) == 1)) && grep -qE -- "$option|$value" why && [[ ! -s said ]]; then
                refused=$((refused + 1))
            else
                echo "tune $command --$option '$value' $rest: exit code $rc"
                head -n 3 why said
            fi
        done
    done
done
((refused > 90)) && echo "refused: all"
# A number that is one but not within the bounds is refused with the bounds.
t serve --margin 0 -- true
t compare a.db b.db --noise 0.5
