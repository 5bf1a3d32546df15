# Two databases beside each other: verdicts by intervals, exit codes, CSV, JSON, a page.
need_stub
printf '96x80x64\n64x96x32\n128x32x32\n32x32x96\n' > four.txt
"$TUNE" --shapes four.txt --kernels simt_naive --budget 3 --baseline none --db a.db -q > table
# The same winners with other times: 10 % faster, 10 % slower, the same, too wide an interval.
python3 - << 'END'
import shutil, sqlite3
shutil.copy("a.db", "b.db")
base = sqlite3.connect("b.db")
for table in ("a.db", "b.db"):
    db = sqlite3.connect(table)
    db.execute("update trial set us = 100, lo_us = 99.9, hi_us = 100.1 where us > 0 and stage = 3")
    db.execute("update trial set us = 300, lo_us = 299, hi_us = 301 where us > 0 and stage < 3")
    db.execute("delete from meta")
    db.commit()
for text, us, lo, hi in (("96x80x64", 90, 89.9, 90.1), ("64x96x32", 110, 109.9, 110.1), ("128x32x32", 100.5, 100.4, 100.6), ("32x32x96", 103, 98, 110)):
    base.execute("update trial set us = ?, lo_us = ?, hi_us = ? where stage = 3 and problem = (select id from problem where text = ?)", (us, lo, hi, text + ":f32:nn"))
base.commit()
END
echo "# one faster, one slower, one the same, one ambiguous; exit code 8 for the slower one"
"$TUNE" compare a.db b.db --csv pairs.csv --html pairs.html; echo "exit $?"
cut -d, -f1-8 pairs.csv
grep -o '<title>.*</title>' pairs.html
echo "# a database and itself; a noise that hides all"
"$TUNE" compare a.db a.db | tail -n 1; echo "exit ${PIPESTATUS[0]}"
"$TUNE" compare a.db b.db --noise 1.2 | tail -n 1; echo "exit ${PIPESTATUS[0]}"
echo "# for programs"
"$TUNE" compare a.db b.db --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["verdicts"], round(d["geometric_mean"], 3), len(d["pairs"]))'
echo "# problems that only one has; nothing at all; no database"
"$TUNE" --shape 16x16x16 --kernels simt_naive --budget 2 --baseline none --db one.db -q > table
"$TUNE" compare one.db a.db | sed -E 's/[0-9.]+ us/N us/g' | tail -n 1
"$TUNE" --arch sm_86 --shape 16x16x16 --kernels simt_naive --budget 2 --db predicted.db -q > table
"$TUNE" compare one.db a.db > table; echo "exit $?"
"$TUNE" compare predicted.db predicted.db; echo "exit $?"
"$TUNE" compare one.db missing.db; echo "exit $?"
"$TUNE" compare one.db; echo "exit $?"
