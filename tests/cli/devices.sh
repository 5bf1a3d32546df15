# One sweep over several GPUs, which the stub driver pretends to have: problems are handed out, a GPU
# that fails costs its turn and nothing else, one problem is searched by several and decided on one.
need_stub
export STUB_DEVICES=3
for i in 1 2 3 4 5 6; do echo "$((32 + i))x64x32"; done > shapes.txt
sweep=(--shapes shapes.txt --kernels simt_thread1d --budget 2 --baseline none --jobs 2)
# What a database holds: problems with a final, GPUs that held one, GPUs with any trial.
held() {
    python3 - "$1" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
one = lambda sql: db.execute(sql).fetchone()[0]
print("finals of", one("SELECT count(DISTINCT problem) FROM trial WHERE stage = 3"), "problems on",
      one("SELECT count(DISTINCT device) FROM trial WHERE stage = 3"), "GPUs; trials on",
      one("SELECT count(DISTINCT device) FROM trial"), "GPUs; twice:",
      one("SELECT count(*) FROM (SELECT 1 FROM trial JOIN device ON device.id = trial.device "
          "WHERE stage = 3 GROUP BY name, problem HAVING count(DISTINCT device) > 1)"),
      "damaged:", one("PRAGMA quick_check") != "ok")
PY
}
# The first GPU's last process, once it has a problem.
process() { until_true grep -qs "^GPU $1: [0-9]*x" log; pgrep -P "$2" | sed -n "$(($1 + 1))p"; }
echo "== words"
t --devices three --shape 64x64x64
t --devices 3-1 --shape 64x64x64
t --devices 64 --shape 64x64x64
t --devices 0 --device cuda:0 --shape 64x64x64
t --devices 9 --shape 64x64x64 2>&1 | grep -v '^! GPU 9'
echo "== a budget that is small for the problems is told of at the start"
"$TUNE" --devices 0-2 --shapes shapes.txt --kernels simt_thread1d --baseline none --jobs 2 --budget 2s --db small.db 2>&1 >/dev/null |
    grep 'a turn takes'
echo "== three GPUs"
sed -i 5,6d shapes.txt
t --devices all "${sweep[@]}" --db all.db -q > table; grep -c '^rank' table
held all.db
echo "== the same again has nothing left to do"
"$TUNE" --devices 0-2 "${sweep[@]}" --db all.db 2>&1 > /dev/null | grep -c ', 0 new trials'
# The limits are several times what a busy machine lets a sound process wait.
echo "== one breaks, another hangs, the third gets hot"
STUB_DIES_1=5 STUB_HANGS_2=5 STUB_HEAT_0=200 timeout 300 "$TUNE" --devices all "${sweep[@]}" --db dies.db --deadline 8 > table 2> log; echo "[exit $?]"
grep -c '^rank' table
held dies.db | sed 's/ on .*//'
echo "== a process is killed, another stopped"
rm log
# Products that take a while, so that both still have a problem then.
STUB_WAIT_US=1000 "$TUNE" --devices 0-2 "${sweep[@]}" --db kill.db --silence 15 > table 2> log & pid=$!
victim=$(process 1 $pid); kill -9 "$victim"
stopped=$(process 0 $pid); kill -STOP "$stopped"
wait $pid; echo "[exit $?]"
grep -c '^rank' table
grep -oE 'its process (was killed|said nothing).*handed out again' log | sort -u
held kill.db | sed 's/ on .*//'
echo "== GPUs of two kinds"
STUB_NAME_2="Other device" "$TUNE" --devices all --shape 33x64x32 --shape 34x64x32 "${sweep[@]:2}" --db kinds.db -q | grep -c ' on Other device'
held kinds.db
echo "== one problem, and the GPU that should hold its final cannot"
STUB_DIES_0=60 "$TUNE" --devices all --shape 33x64x32 --kernels simt_thread1d --baseline none --budget 12 --db one.db > table 2> log; grep -c '^rank' table
grep -o 'no final could be held on it.*' log
held one.db
echo "== too little time for all problems: none begins after it"
for i in {1..60}; do echo "$((32 + i))x64x32"; done > many.txt
# Products that take a while, so that no machine is through with all in a second.
STUB_WAIT_US=200 "$TUNE" --devices 0-1 --shapes many.txt "${sweep[@]:2:2}" --budget 1s --baseline none --db late.db > table 2> log; echo "[exit $?]"
sed -nE 's/^[0-9]+ (of 60 problems had no turn)/N \1/p' log
grep -c 'a turn takes' log
echo "== --missing leaves out what has a winner, but not one of an older text of its kernel"
missing() { "$TUNE" --devices 0-2 "${sweep[@]}" --db all.db --missing 2>&1 > /dev/null | grep -oE 'nothing is missing|new trials|^[0-9]+ winners belong to an older text|adopt' | sort -u; }
missing
python3 - <<'PY'
import sqlite3
with sqlite3.connect("all.db") as db:
    db.execute("DELETE FROM meta")
    db.execute("UPDATE kernel SET signature = '0000' || substr(signature, 5)")
PY
missing
echo "== as JSON"
"$TUNE" --devices 0-1 --shape 33x64x32 --shape 34x64x32 "${sweep[@]:2}" --db all.db -q --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["format"], len(d["sweeps"]))'
echo "== interrupted"
rm log
"$TUNE" --devices all --shapes shapes.txt --kernels simt_thread1d --baseline none --budget 10m --db int.db > table 2> log & pid=$!
process 0 $pid > /dev/null; kill -INT $pid; wait $pid; echo "[exit $?]"
echo "== more GPUs than a run takes"
for count in 65 256; do STUB_DEVICES=$count t --devices all --shape 33x64x32 "${sweep[@]:2}" --db most.db; done
echo "== the database is moved away"
rm log
STUB_WAIT_US=1000 "$TUNE" --devices 0-1 "${sweep[@]}" --db away.db > table 2> log & pid=$!
until_true grep -qs '^GPU [01]: [0-9]*x' log; mv away.db else.db; wait $pid; echo "[exit $?]"
tail -n 1 log; ls away.db* 2> /dev/null; held away.db.saved > /dev/null && echo "it holds trials"
