# What a database holds can be forgotten: of a kernel, a problem, a device, or what was only predicted.
need_stub
rows() { "$TUNE" export --all --db "$1" -q 2> /dev/null | tail -n +2 | wc -l; }
of() { "$TUNE" export --all --db "$1" -q 2> /dev/null | grep -c "$2"; }
"$TUNE" --shape 96x80x64 --shape 64x64x64 --kernels simt_naive,simt_thread1d --budget 4 --db all.db -q > /dev/null
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 3 --db all.db -q > /dev/null
all=$(rows all.db) naive=$(of all.db ,simt_naive,)
# Without a word of what, nothing goes; nor with a database or a problem that is none.
t forget --db all.db
t forget --db all.db --dry-run
t forget --db all.db --device ""
t forget --db none.db --kernel simt_naive
ls none.db 2> /dev/null
t forget --db all.db --problem 64x64
[[ $(rows all.db) == "$all" ]] && echo "all are there"
# A dry run says what would go, by device, problem and kernel, and changes nothing.
sum=$(sha256sum < all.db)
"$TUNE" forget --db all.db --kernel simt_naive --dry-run > dry 2> said
grep -oE 'Stub device|96x80x64:f32:nn|64x64x64:f32:nn|simt_naive|simt_thread1d|measured|predicted|would be forgotten' dry | sort -u
[[ $(awk '/(measured|predicted)$/ {n += $1} END {print n}' dry) == "$naive" ]] && echo "their sum is that of the rows"
grep -c "^$naive trials would be forgotten" dry
[[ $(sha256sum < all.db) == "$sum" && $(rows all.db) == "$all" ]] && echo "all are there"
"$TUNE" forget --db all.db --kernel simt_naive --dry-run --json | tr -d '\n\t' | grep -oE '"format":"[^"]+"|"dry_run":[a-z]+|"trials":[0-9]+}$' | sed "s/:$naive}/: all/"
# Predictions go, and nothing that was measured.
cp all.db one.db; t forget --db one.db --predicted | sed -E 's/^ +//; s/  +/ /g; s/^[0-9]+ (trial|RTX)/N \1/'
[[ $(of one.db ,predicted,) == 0 && $(of one.db ,measured,) == $(of all.db ,measured,) ]] && echo "only predictions"
# A problem goes with all that hangs on it; both together narrow.
"$TUNE" forget --db one.db --problem 64x64x64 -q > /dev/null
[[ $(of one.db 64x64x64:f32) == 0 && $(of one.db 96x80x64:f32) == $(of all.db 96x80x64:f32) ]] && echo "only that problem"
"$TUNE" export --format search --db one.db -q | grep -c 64x64x64
"$TUNE" forget --db one.db --problem 96x80x64 --kernel 'simt_t*' -q > /dev/null
[[ $(of one.db ,simt_thread1d,) == 0 && $(of one.db ,simt_naive,) == $(of all.db '96x80x64.*,simt_naive,') ]] && echo "only that kernel of that problem"
# What remains is sound: look-up answers from it, and a sweep tries again what was forgotten.
"$TUNE" lookup 96x80x64 --arch sm_90 --device "Stub device" --db one.db | grep -cE '^  kernel'
"$TUNE" --shape 96x80x64 --kernels simt_thread1d --budget 2 --db one.db 2>&1 > /dev/null | grep -oE '\(2 new, 0 from'
# A device, in letters of either kind; what is not there is said, with what is.
"$TUNE" forget --db one.db --device "stub DEVICE" -q > /dev/null
rows one.db
t forget --db all.db --device "NVIDIA H2O"
t forget --db all.db --kernel simt_nave 2>&1 | grep -oE 'simt_naive|^\[exit.*' | sort -u
# While another process writes the database, this one does not.
"$TUNE" --shape 256x256x256 --kernels simt_naive --budget 10m --db busy.db -q > /dev/null 2>&1 & pid=$!
until_true test -s busy.db
t forget --db busy.db --kernel simt_naive 2>&1 | sed -E 's/process [0-9]+/process N/' | grep -oE '^\[exit.*|busy.db'
kill -9 $pid; wait $pid 2> /dev/null
command -v sqlite3 > /dev/null || exit 0
for file in all one; do sqlite3 $file.db 'PRAGMA integrity_check; PRAGMA foreign_key_check; SELECT count(*) FROM trial WHERE device NOT IN (SELECT id FROM device)'; done
