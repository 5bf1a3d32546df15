# Everything that can be listed, also as JSON.
t list kernels | grep -E "^(kernel|simt_naive|simt_warptile) |exit"
t list kernels --json | grep -E '"kernel":.*"simt_(naive|warptile)"'
"$TUNE" list devices | cut -c1-6 | uniq
t list strategies
# On a terminal a table fits its width; what is piped stays whole.
command -v script > /dev/null || exit 0
for width in 80 200; do
    TERM=xterm script -qec "stty cols $width; '$TUNE' list kernels" /dev/null < /dev/null | tr -d '\r' > screen
    awk -v width=$width 'length > width { wide++ } END { print width " columns: " (wide ? wide " lines are wider" : "every line fits") }' screen
done
grep -A 2 '^simt_naive ' screen
