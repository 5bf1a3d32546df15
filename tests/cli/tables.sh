# The tables of measurements out of databases, on the stub driver: what tune bench printed, how
# searches went, a table to ship; also from the union of two databases.
need_stub
# With one kernel alone, look-up hands out none that competes with it.
export GEMMTUNE_DATA=$PWD/data
mkdir -p data/configs/kernels
cp -R "$ROOT/templates" data/templates
cp -R "$ROOT"/configs/{devices,formulas,problems} data/configs/
cp "$ROOT/configs/kernels/simt_thread1d.json" data/configs/kernels/
chmod -R u+w data
printf '96x80x64\n64x64x64\n32x32x32\n' > set.txt
t bench --shape 96x80x64 --shape 64x64x64 --kernels simt_thread1d --budget 6 --db one.db --csv bench.csv -q > /dev/null
t --shape 96x80x64 --kernels simt_thread1d --strategy random --seed 5 --budget 9 --db two.db -q > /dev/null
# The same rows as the file that tune bench wrote itself, but for the second in which they were written.
without_date() { sed -E 's/20[0-9-]*T[0-9:]*Z/DATE/' "$1"; }
t export --db one.db --format bench --shapes set.txt -o table.csv
diff <(without_date bench.csv) <(without_date table.csv) && echo "the same table"
# A database may name a strategy of earlier versions.
python3 -c 'import sqlite3; db = sqlite3.connect("two.db"); db.execute("UPDATE visit SET strategy = \"annealing:hot=0.5\""); db.execute("DELETE FROM meta"); db.commit()'
# A union, twice the same: of the problem that was tuned last, the final is the latest.
t merge one.db two.db --db all.db -q
t merge one.db two.db --db all.db -q
t export --db all.db --format search -q | cut -d, -f2-6,8
t export --db all.db --format bench -q | cut -d, -f5-7,9
# Rows of a shipped table that no database knows stay, unless their kernel has changed since.
t export --db one.db --format shipped --measured -o old.csv -q
t export --db two.db --format shipped --measured --current --keep old.csv -o new.csv
cut -d, -f4,5 new.csv | tail -n +3
t lookup 64x64x64 --arch sm_90 --db two.db --system-db new.csv | sed -n 2,3p
# All of it by one tool, in a tree of its own: what would lose rows is not written over.
mkdir -p tree/tools tree/db/measured tree/db/shipped
cp "$ROOT"/tools/{tables,measure.steps} tree/tools/
cp -r data/templates data/configs tree/
echo '{"set": "own", "problems": [{"name": "a", "problem": "64x64x64", "weight": 1}]}' > tree/configs/problems/bench.json
cp tree/configs/problems/{bench,grid}.json
printf 'device,problem\n1\n2\n3\n' > tree/db/measured/stub-search.csv
GEMMTUNE_DATA=$PWD/tree tree/tools/tables stub one.db --search two.db
(cd tree/db && wc -l measured/stub-f32.csv measured/stub-search.csv* shipped/stub.csv && cut -d, -f1-4 measured/stub-grid.csv)
# Winners that were timed again are no row of a set's table, which is of a search of its own.
GEMMTUNE_DATA=$PWD/tree tree/tools/tables stub2 --adopted one.db
# Chains have a table of their own, which becomes a headline; the other tables are of single launches.
cp tree/configs/problems/{bench,short}.json
sed -i 's/64x64x64/16x16x16/' tree/configs/problems/short.json
GEMMTUNE_DATA=$PWD/tree t bench short --kernels simt_thread1d --budget 3 --db short.db -q >/dev/null
GEMMTUNE_DATA=$PWD/tree t bench short --timing graph --kernels simt_thread1d --budget 3s --db short.db -q >/dev/null
GEMMTUNE_DATA=$PWD/tree tree/tools/tables stub short.db | grep short
grep -ohE '"[^"]*",|,(cold|graph),|ratio' tree/db/measured/stub-short.csv | grep -E 'cold|graph'
grep -ohE ',(cold|graph),' tree/db/measured/stub-short-chained.csv
cp "$ROOT/tools/headlines" tree/tools/
tree/tools/headlines stub | sed -nE 's/^(short[a-z_]*),[0-9.]+,/\1,RATIO,/p'
GEMMTUNE_DATA=$PWD/tree tree/tools/tables stub || echo "exit $?"
cp -r data/templates data/configs .
echo 'static __device__ int another_text;' >> templates/simt/thread1d.cu
GEMMTUNE_DATA=$PWD t export --db two.db --format shipped --measured --current --keep old.csv -o none.csv
t export --db two.db --keep old.csv
