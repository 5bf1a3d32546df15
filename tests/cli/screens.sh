# What a sweep shows on terminals of three widths: no line is wider, the last one of a problem stays.
need_stub
command -v script > /dev/null || skip "script (util-linux) is not installed"
export TERM=xterm
printf '96x80x64\n128x128x128\n' > two.txt

# The screen that is left at the end: of each line what stands behind its last carriage return, up
# to the end that was cleared.  Numbers that vary become N.
screen() {
    sed -E 's/\r$//; s/.*\r//; s/\x1b\[K//g; s/\x1b\[[0-9;]*m//g' said | sed -E 's/[0-9]+(\.[0-9]+)?/N/g'
}
# The widest that was ever written into one line.
widest() {
    tr '\r' '\n' < said | sed -E 's/\x1b\[[0-9;]*[mK]//g' | awk -v limit="$1" '
        length > most && /tried/ { most = length }
        END { print (most > 0 && most < limit) ? "every line fits" : "a line has " most " columns" }'
}
for width in 40 80 200; do
    rm -f t.db*
    script -qec "stty cols $width; '$TUNE' --shapes two.txt --kernels simt_naive --budget 2 --rows 1 --baseline none --db t.db > table" \
        /dev/null < /dev/null > said
    echo "# $width columns"
    widest $width
    screen | grep -E 'tried|^N of N:' | sort | uniq -c | sort -k2 | sed -E 's/^ +//'
done
echo "# a bar, the part of the work, the time left for all, while it runs"
tr '\r' '\n' < said | grep -c '\[#*\.*\] *[0-9]* %' | sed 's/[1-9][0-9]*/some/'
echo "# a space that ends before its budget of time has no hour left"
rm -f t.db*
script -qec "stty cols 120; '$TUNE' --shape 96x80x64 --kernels simt_naive --budget 1h --rows 1 --baseline none --db t.db > table" \
    /dev/null < /dev/null > said
tr '\r' '\n' < said | grep '[0-9]h[0-9]*m left'
echo "# a budget that does not suffice is told of first, and who had no turn at last"
seq 40 | sed 's/.*/64x&x32/' > forty.txt
# Products that take a while, so that 3 s do not suffice for all on any machine.
STUB_WAIT_US=500 "$TUNE" --shapes forty.txt --kernels simt_naive --budget 3s --rows 1 --baseline none --db f.db 2>&1 > table |
    grep -E 'a problem:|had no turn' | sed -E 's/[0-9]+ of 40.*/N of 40 problems had no turn/'
echo "# of many only the first are named"
seq 60 | sed 's/.*/64x&x32/' > sixty.txt
"$TUNE" --shapes sixty.txt --kernels simt_naive --budget 1s --rows 1 --baseline none --db s.db 2>&1 > table |
    sed -nE 's/^[0-9]+ of 60 (problems had no turn:)( 64x[0-9]+x32:f32:nn){8} and [0-9]+ more;/N of 60 \1 eight and N more;/p'
echo "# the rung of a ladder"
"$TUNE" ladder --shape 64x96x32 --trials 1 --db l.db > table 2> rungs & pid=$!
until_true grep -qs '^rung 2,' rungs
kill -INT $pid; wait $pid
grep -E '^rung [12],' rungs
echo "# what is printed for people fits; what is for programs stays whole"
fits() {
    local width=$1 command
    for command in "--shape 96x80x64 --kernels simt_naive --budget 1 --db t.db -q" "list kernels" "list strategies" "--help" \
        "doctor" "lookup 512x512x512 --arch sm_90" "show simt --problem 512x512x512 --no-compile" \
        "export --db t.db" "bench --shape 96x80x64 --rounds 5 --db t.db" "recheck --rounds 5 --db t.db" \
        "compare t.db f.db" "try simt_naive --problem 96x80x64" "lookup 96by80x17 --arch sm_90" "ladder --frob"; do
        script -qec "stty cols $width; '$TUNE' $command" /dev/null < /dev/null > said
        sed -E 's/\r$//; s/.*\r\x1b\[K//; s/\x1b\[[0-9;]*m//g' said > screen
        awk -v width=$width -v command="${command%% *}" 'length > width { wide++ }
            END { print width, command, NR ? "" : "nothing printed", wide ? "too wide" : "" }' screen
        [[ $command != --shape* ]] || sed -E 's/[0-9]+\.[0-9]+/N/g; s/ +N/ N/g; s/ simt(_naive)? N/ KERNEL N/' screen | head -n 3
    done | sed 's/ *$//'
}
fits 40
whole fits 80
