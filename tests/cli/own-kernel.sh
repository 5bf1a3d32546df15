# Work on a kernel of one's own that is far from the best: a sweep and a benchmark of --kernels judge
# and show the best of those, and what look-up hands out on a line of its own.  On the stub driver.
need_stub
one=(--shape 256x256x256 --baseline none --kernels simt_thread1d --values MIN_BLOCKS=1,BM=32,BN=32,BK=32)
rows() { sed -nE 's/^ +([0-9]+|-).? +([a-z0-9_]+) +([0-9.]+) .*/\1 \2 \3/p' "$1"; }
names() { rows "$1" | cut -d' ' -f1,2; }
# TM=32 takes more than twice the time of what is shipped.  It has its time, and it is the one trial.
"$TUNE" "${one[@]},TM=32" --budget 6 > table 2> said
names table
grep -c '^- the incumbent, what look-up hands out: .*it stays' table
grep -oE '^1 trial \(1 new, 0 from earlier runs\)|: 1 ok$' said
# The line that stays of the problem has the time of the table's first row.
[[ $(grep -oE 'best [0-9.]+ us' said | tail -n 1) == "best $(rows table | awk '{print $3; exit}') us" ]] && echo same
"$TUNE" "${one[@]},TM=32" --budget 6 --json -q 2> /dev/null | tr -d '\n\t' |
    grep -oE '"incumbent":\{"kernel":"[a-z0-9_]+"|"stays":[a-z]+|"candidates":\[\{"kernel":"[a-z0-9_]+"' | sort
# What was slow beside TM=16 in one run has its time in a run of its own.
"$TUNE" "${one[@]},TM=16" --budget 6 --db both.db -q > /dev/null 2>&1
"$TUNE" "${one[@]},TM=16|32" --budget 6 --db both.db 2>&1 > table | grep -oE ': 1 ok, 1 slow$'
names table
"$TUNE" "${one[@]},TM=32" --budget 6 --db both.db > table 2> said
rows table | awk '{print $1, $2, (NR == 1 ? "slow" : $3 * 1.5 < slow ? "fast" : "no"); slow = $3}'
grep -oE '^1 trial \(1 new, 0 from' said
# A benchmark times the best of the kernels that are named, and the winner of all beside it.
"$TUNE" "${one[@]},TM=32" --budget 1 --db two.db -q > /dev/null
t bench --shape 256x256x256 --kernels simt_thread1d --db two.db -q | grep -E '^256|^  incumbent|exit' | sed -E 's/ +[-0-9./ ]+ [^a-z]*/ N /'
t bench --shape 256x256x256 --db two.db -q | grep -E '^256|^  incumbent|exit' | sed -E 's/ +[-0-9./ ]+ [^a-z]*/ N /'
t bench --shape 256x256x256 --kernels simt_naive --db two.db -q | grep -E '^256|exit'
"$TUNE" bench --shape 256x256x256 --kernels simt_thread1d --db two.db -q --json | tr -d '\n\t' |
    grep -oE '"incumbent":\{"kernel":"[a-z0-9_]+","point":"[^"]+","us":[0-9]' | cut -d, -f1
# Such a figure is not the problem's: an export goes on with the winner.
"$TUNE" export --format bench --db two.db -q | grep -c simt_thread1d
