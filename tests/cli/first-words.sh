# What is said while there is nothing to show yet, and how a terminal is written to.
need_stub
command -v script > /dev/null || skip "script (util-linux) is not installed"
export STUB_START_MS=1500
sweep=(--shape 96x80x64 --kernels simt_thread1d --budget 4 --rows 1)

echo "# a driver that takes its time is told of at once; first words of a pipe"
"$TUNE" "${sweep[@]}" 2>&1 > /dev/null | head -n 1
echo "# the first words of a terminal, each once"
on_terminal() { TERM=$1 script -qec "$2" /dev/null < /dev/null | sed 's/\r/\n/g'; }
on_terminal xterm "'$TUNE' ${sweep[*]} --db t.db" > said
grep -oE "starts;|enumerating[a-z0-9_ ]*|compiling" said | uniq
echo "# the table begins a line of its own"
grep -aoE $'.{0,3}96x80x64:f32:nn on' said | cat -v | tail -n 1
unset STUB_START_MS
echo "# colours: of a terminal, not of a dumb one, not with --color never"
grep -c $'\033\[3[0-9]m' said | sed 's/[1-9][0-9]*/some/'
on_terminal xterm "'$TUNE' ${sweep[*]} --db t.db --color never" | grep -c $'\033\[[0-9]*m'
on_terminal dumb "'$TUNE' ${sweep[*]} --db t.db" | grep -c $'\033'
echo "# a device whose name would set the title of the window"
export STUB_NAME=$'Evil\033]0;owned\007'
on_terminal xterm "'$TUNE' ${sweep[*]} --db evil.db -v" > said
grep -c $'\033]0' said
grep -c 'Evil?]0;owned?' said | sed 's/[1-9][0-9]*/some/'
on_terminal xterm "'$TUNE' lookup 96x80x64 --arch sm_90 --db evil.db; '$TUNE' export --db evil.db --format md; '$TUNE' --arch sm_90 --device cuda:5 --shape 64x64x64 --db evil.db" > said
grep -c $'\033]0' said
