# The union of two databases.
need_nvrtc
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 3 --db one.db -q > /dev/null
t --arch sm_86 --shape 256x128x128 --kernels simt_naive --budget 3 --db two.db -q > /dev/null
t merge one.db two.db --db both.db
t merge one.db --db both.db
t export --db both.db --all -q | wc -l
t merge none.db --db both.db
t merge both.db --db both.db
# A source that is refused leaves no target behind, and none that was to be taken before it.
: > empty.db
t merge empty.db --db refused.db
t merge one.db empty.db --db refused.db
ls refused.db* 2> /dev/null
# Times that no device reaches, and dates of tomorrow, are not taken as they are; how many is said also with -q.
command -v python3 > /dev/null || skip "python3, which changes the database, is not installed"
python3 - <<'PY'
import sqlite3
with sqlite3.connect("one.db") as db:
    db.execute("DELETE FROM meta")
    first, last = db.execute("SELECT min(id), max(id) FROM trial WHERE status = 'ok'").fetchone()
    db.execute("UPDATE trial SET us = 1e-100, lo_us = 0, hi_us = 0 WHERE id = ?", (first,))
    db.execute("UPDATE trial SET provenance = 'measured', us = 0.01, lo_us = 0.01, hi_us = 0.01 WHERE id = ?", (last,))
    db.execute("UPDATE trial SET at = at + 315360000000")
PY
t merge one.db --db judged.db -q
t merge one.db --db judged.json.db --json -q
t export --db judged.db --all -q | grep -c '^sm_86\|Stub\|,128x128x128:'
