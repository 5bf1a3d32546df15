# What was found, in every format; the same bytes each time.
need_nvrtc
t --arch sm_86 --shape 256x256x256 --kernels simt_naive --budget 6 -q > /dev/null
t export
t export --format md
t export --measured
t export --format json -o rows.json
t export --format c -o winners.h
cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c winners.h && echo "winners.h compiles"
t export --format csv --all -o a.csv -q
t export --format csv --all -o b.csv -q
cmp a.csv b.csv && echo "same bytes"
t export --format db
t export --format db -o copy.db -q
t export --format db -o copy.db -q
t export --db copy.db | wc -l
t export --db none.db
# What is no file is written to, not replaced.
mkfifo pipe
cat pipe > read &
t export -o pipe -q
wait
wc -l < read
[[ -p pipe ]] && echo "still a pipe"
mkdir folder
t export -o folder
