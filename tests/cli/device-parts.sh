# A part of a GPU's multiprocessors, or another power limit, is another device: nothing is resumed or ranked across.
need_stub
sweep() {
    "$TUNE" --kernels simt_naive "$@" 2>&1 | grep -oE '\([0-9]+ new, [0-9]+ from earlier runs\)' |
        sed -E 's/\(0 new/(none new/; s/\([0-9]+ new/(some new/; s/, [1-9][0-9]* from/, some from/'
}
rows() { python3 -c 'import sqlite3, sys; [print(*row) for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])]' "$@"; }
export STUB_SMS=16
for budget in 3 6; do
    sweep --shape 96x96x96 --budget $budget --db a.db
    STUB_SMS=4 sweep --shape 96x96x96 --budget $budget --db a.db
done
rows a.db "SELECT sms, substr(uuid, instr(uuid || ' ', ' ')), profile FROM device ORDER BY sms DESC"
"$TUNE" export --db a.db --format csv | grep -c ',96x96x96:'
"$TUNE" lookup 96x96x96 --arch sm_90 --db a.db --device "$(rows a.db 'SELECT name FROM device LIMIT 1')" | grep -oE '^  tier +[a-z]+|another .*'
# What was measured at another power limit is near, without a time.
sweep --shape 64x64x64 --budget 3 --db b.db
STUB_LIMIT_W=300 sweep --shape 64x64x64 --budget 3 --db b.db
STUB_LIMIT_W=300 sweep --shape 96x96x96 --budget 3 --db b.db
rows b.db "SELECT substr(uuid, instr(uuid || ' ', ' ')) FROM device ORDER BY id"
for problem in 64x64x64 96x96x96; do
    "$TUNE" lookup $problem --arch sm_90 --db b.db --device "$(rows b.db 'SELECT name FROM device LIMIT 1')" |
        grep -oE '^  (tier +[a-z]+|time +not known|time .*measured|slowdown)|measured at another .*' | sed -E 's/[0-9.]+ us/N us/'
done
# A slice has its GPU's UUID and name, with its own words behind: nothing of one serves the whole, another slice, or back.
asked() { for name in "$@"; do echo "$name: $("$TUNE" lookup 64x64x64 --arch sm_90 --device "$name" --db mig.db | grep -oE '^  tier +[a-z]+')"; done; }
mig() { STUB_NAME="NVIDIA H800$1" STUB_SMS=$2 sweep --shape 64x64x64 --budget 1 --baseline none --db mig.db; }
mig " MIG 1g.10gb" 4
asked H800 "NVIDIA H800" "H800 MIG 1g.10gb" "NVIDIA H800 MIG 1g.20gb"
"$TUNE" export --db mig.db --arch h800 --format csv -q | grep -c MIG
mig " MIG 1g.20gb" 4
mig "" 16
asked H800 "H800 MIG 1g.20gb" "H800 MIG 3g.40gb"
