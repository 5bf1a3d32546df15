# The page of tune report: its data are those of the database, and foreign texts cannot leave them.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export GEMMTUNE_LOCKS=$PWD STUB_NAME='</script><b>H'
printf '96x80x64\n64x96x32 count=3 weight=30\n' > two.txt
"$TUNE" --shapes two.txt --kernels simt_naive,simt_thread1d --budget 6 --db t.db -q > table

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
echo "# beside a sweep it writes until it is told to stop"
timeout -s INT 8 "$TUNE" report --db t.db --html watched.html --watch
grep -c 'http-equiv="refresh"' watched.html
echo "# times of a model are no measured ones, and a disk that is full has a name"
"$TUNE" --device predict:sm_86 --shape 64x64x64 --kernels simt_naive --budget 12 --db p.db -q > /dev/null
"$TUNE" report --db p.db --html p.html
grep -o '"provenance":"[a-z]*"' p.html | sort | uniq -c
"$TUNE" report --db t.db --html /dev/full; echo "exit $?"
