# The page of tune report: its data are those of the database, and foreign texts cannot leave them.
need_stub
export STUB_NAME='</script><b>H'
printf '96x80x64\n64x96x32 count=3 weight=30\n' > two.txt
"$TUNE" --shapes two.txt --kernels simt_naive,simt_thread1d --budget 6 --db t.db -q > table

echo "# coverage: the part of a list's weight with a measured winner, after a sweep and of a page, in words and for programs"
printf '96x80x64 weight=3\n64x96x32 weight=5\n32x32x32 weight=2\n' > three.txt
"$TUNE" report --db t.db --shapes three.txt --html three.html 2>&1 | grep coverage
GEMMTUNE_DB=t.db "$TUNE" capture --merge three.txt -o captured.txt
GEMMTUNE_DB=none.db "$TUNE" capture --merge three.txt -o captured.txt
"$TUNE" --shapes three.txt --kernels simt_naive --budget 1 --db t3.db 2>&1 > table | grep coverage
"$TUNE" --shapes three.txt --kernels simt_naive --budget 1 --db t3.db -q --json | grep coverage
"$TUNE" --shapes three.txt --kernels simt_naive --budget 1 --device predict --arch sm_86 --db q.db 2>&1 > table | grep coverage || echo "predictions cover nothing"

echo "# a page of every problem"
"$TUNE" report --db t.db --html page.html
sed -n 's/.*id="data">//p' page.html | sed 's/<\/script>.*//' > data.json
python3 - << 'END'
import json, sqlite3
data = json.load(open("data.json"))
base = sqlite3.connect("t.db")
count = lambda what: base.execute("select count(*) from " + what).fetchone()[0]
print("problems:", [row["problem"] for row in data["compared"]])
print("trials are all there:", sum(len(space["trials"]) for space in data["spaces"]) == count("trial"))
print("turns are all there:", len(data["turns"]) == count("visit"))
print("ratios are those of the finals:", all(row["base"] > 0 and row["us"] > 0 for row in data["compared"]))
print("the device is a text:", {row["device"] for row in data["compared"]})
print("points are whole:", all(len(trial) == 2 + len(space["names"]) for space in data["spaces"] for trial in space["trials"]))
END
echo "# what the trials of a search cost, in twentieths of it; one in its final is in none; kinds are spaces of their own"
python3 - << 'END'
import shutil, sqlite3
shutil.copy("t.db", "parts.db")
base = sqlite3.connect("parts.db")
visit, problem, at = base.execute("select id, problem, at from visit order by id limit 1").fetchone()
base.execute("update visit set seconds = 10, race_s = 8 where id = ?", (visit,))
base.execute("update trial set prove_ms = 100, time_ms = 150, compile_ms = 500, at = ? where problem = ?", (at - 1000, problem))
for place, seconds in enumerate((0.1, 0.3, 7.9)):
    base.execute("update trial set at = ? where id = (select id from trial where problem = ? order by id limit 1 offset ?)", (at - 10000 + 1000 * seconds, problem, place))
base.execute("update trial set provenance = 'replayed' where id = (select id from trial where problem = ? order by id desc limit 1)", (problem,))
base.execute("delete from meta")
base.commit()
END
"$TUNE" report --db parts.db --html parts.html -q
sed -n 's/.*id="data">//p' parts.html | sed 's/<\/script>.*//' > parts.json
python3 - << 'END'
import json
data = json.load(open("parts.json"))
print([(place, work) for turn in data["turns"] if turn["race"] == 8 for place, work in enumerate(turn["work"]) if work != [0, 0]])
print(sorted({(space["provenance"], space["timing"]) for space in data["spaces"]}))
END
echo "# nothing of it ends the script: closing tags are the page's own"
grep -o '</script' page.html | wc -l
echo "# it loads nothing"
grep -cE '(src|href)="?(http|//)' page.html
echo "# only some problems, with the weights of a file"
"$TUNE" report --db t.db --html some.html --shapes two.txt
grep -o '"weight":[0-9]*' some.html | sort
"$TUNE" report --db t.db --html some.html -p 64x96x32
echo "# an empty choice, a missing database, a folder that is not there"
"$TUNE" report --db t.db --html none.html -p 1x1x1
"$TUNE" report --db missing.db --html none.html; echo "exit $?"
"$TUNE" report --db t.db --html missing/none.html; echo "exit $?"
echo "# margins of rechecks, and files that are none"
"$TUNE" recheck --db t.db --json -q > recheck.json
"$TUNE" report --db t.db --html rechecked.html -q --recheck recheck.json
sed -n 's/.*id="data">//p' rechecked.html | sed 's/<\/script>.*//' |
    python3 -c 'import json, sys; print([(len(file["date"]), [(row["problem"], row["verdict"], "margin" in row) for row in file["winners"]]) for file in json.load(sys.stdin)["rechecks"]])'
"$TUNE" report --db t.db --html none.html --recheck data.json; echo "exit $?"
echo '{"format": "gemmtune recheck 1"}' > old.json
"$TUNE" report --db t.db --html none.html --recheck old.json; echo "exit $?"
"$TUNE" report --db t.db --html none.html --recheck missing.json; echo "exit $?"
echo "# beside a sweep it writes until it is told to stop"
"$TUNE" report --db t.db --html watched.html --watch & pid=$!
until_true grep -qs 'http-equiv="refresh"' watched.html
kill -INT $pid; wait $pid
grep -c 'http-equiv="refresh"' watched.html
echo "# times of a model are no measured ones, and a disk that is full has a name"
"$TUNE" --device predict:sm_86 --shape 64x64x64 --kernels simt_naive --budget 12 --db p.db -q > /dev/null
"$TUNE" report --db p.db --html p.html
grep -o '"provenance":"[a-z]*"' p.html | sort | uniq -c
"$TUNE" report --db t.db --html /dev/full; echo "exit $?"
# Sets of problems have their short names here, too.
"$TUNE" report --db t.db --html some.html --shapes bench 2>&1
"$TUNE" report --db t.db --html some.html --shapes nosuch; echo "exit $?"
GEMMTUNE_DATA=$PWD "$TUNE" report --db t.db --html some.html --shapes nosuch; echo "exit $?"
GEMMTUNE_DATA=$PWD "$TUNE" report --db t.db --html some.html --shapes two.txt 2>&1
echo "# a page has room for 5000 problems, and says what is left out"
cp t.db many.db
python3 - << 'END'
import sqlite3
base = sqlite3.connect("many.db")
names = ",".join(row[1] for row in base.execute("pragma table_info(trial)") if row[1] != "id")
base.execute("delete from meta")
base.execute("insert into problem with recursive c(n) as (values(1) union all select n + 1 from c where n < 5100)"
             " select 100 + n, (8 + n) || 'x8x8:f32:nn', 'f32', 'strict', 'nn', 8 + n, 8, 8, 1 from c")
base.execute(f"insert into trial ({names}) select {names.replace('problem', 'p')} from trial join (select id as p from problem where id > 100)"
             " where trial.id = (select min(id) from trial where status = 'ok')")
base.commit()
END
"$TUNE" report --db many.db --html many.html 2> said; echo "exit $?"
grep -oE '[0-9]+ problems with a measured time|[0-9]+ problems, turns and trials are left out' said
grep -oE '"left":[0-9]+' many.html
(($(wc -c < many.html) < 30000000)) && echo "a page that a browser opens"
