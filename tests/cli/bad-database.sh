# Files that are no database of ours, or cannot be used: exit code 5, nothing changed.
need_nvrtc
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 2 -q > /dev/null
put() { # put FILE OFFSET BYTES: overwrites bytes of a copy of the database
    cp gemmtune.db "$1"
    printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
sweep() { t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 2 -q --db "$1"; }
echo 'shopping list: milk' > text.db
sweep text.db
put foreign.db 68 '\x00\x00\x00\x07'
sweep foreign.db
put newer.db 60 '\x00\x00\x27\x0f'
sweep newer.db
# After another program's newer version has moved it on, each command says so, and no byte of it changes.
cp newer.db before
for command in "lookup 128x128x128 --arch sm_86 --db newer.db" "export --db newer.db" "merge newer.db --db other.db" "merge gemmtune.db --db newer.db" \
    "forget --db newer.db --kernel simt_naive" "compare newer.db gemmtune.db" "doctor --db newer.db"; do
    # shellcheck disable=SC2086 # words
    "$TUNE" $command >said 2>&1; echo "$? ${command%% *} $(grep -c 'newer.db was written by a newer gemmtune (schema version 9999' said)"
done
cmp newer.db before && rm -f other.db
put corrupt.db 4096 "$(printf '\\xff%.0s' {1..600})"
sweep corrupt.db
head -c 3000 gemmtune.db > short.db
sweep short.db
sweep nowhere/deeper.db
mkdir folder.db
sweep folder.db
cat text.db
# Nothing is waited for, and look-ups say the same.
mkfifo pipe.db; : > empty.db
sweep pipe.db
for db in pipe.db folder.db nowhere.db text.db empty.db; do
    t lookup 128x128x128 --arch sm_86 --db $db
    t export --db $db
done
t merge pipe.db --db new.db
# Damage that SQLite does not see changes winners: nobody reads, nobody seals what is left.
command -v python3 > /dev/null || skip "python3, which damages the database, is not installed"
cp gemmtune.db damaged.db
python3 -c 'import sqlite3; db = sqlite3.connect("damaged.db"); db.execute("UPDATE trial SET registers = registers + 1"); db.commit()'
sweep damaged.db
for command in export report "compare gemmtune.db" "lookup 128x128x128 --arch sm_86 --db" "merge --db new.db" "doctor --db"; do
    case $command in export | report) command+=" --db" ;; esac
    t $command damaged.db | grep -v '^[a-zN]* *[a-zA-Z]* *o[kp]'
done
python3 -c 'import sqlite3; db = sqlite3.connect("damaged.db"); db.execute("DELETE FROM meta"); db.commit()'
sweep damaged.db > accepted; tail -n 1 accepted
# A winner of a problem that an earlier version allowed, and this one does not, spoils no other answer.
t --arch sm_86 --shape 256x256x4 --shape 256x256x8 --kernels simt_thread1d --budget 2 --db earlier.db -q > /dev/null
python3 -c 'import sqlite3; db = sqlite3.connect("earlier.db"); db.execute("UPDATE problem SET text = text || \":alpha=1e-50\" WHERE text LIKE \"256x256x8%\""); db.execute("DELETE FROM meta"); db.commit()'
t lookup 256x256x4 --arch sm_86 --db earlier.db | grep tier
# A time that no candidate has, and no check of the schema refuses, ends no strategy: the candidate is tried again.
small() { t --arch sm_86 --shape 128x128x128 --kernels simt_naive -q --db odd.db "$@" > out; tail -n 1 out; }
for strategy in auto genetic; do
    cp gemmtune.db odd.db
    python3 -c 'import sqlite3; db = sqlite3.connect("odd.db"); db.execute("DELETE FROM meta"); db.execute("UPDATE trial SET us = 1e-100, lo_us = 0, hi_us = 0 WHERE id = (SELECT min(id) FROM trial)"); db.commit()'
    small --budget 5 --strategy "$strategy"
    grep -c ' 0\.00  ' out
done
# Two names of one file have two logs: neither is written to, and reading goes on.
ln gemmtune.db other.db
sweep other.db
t merge gemmtune.db --db other.db
t lookup 128x128x128 --arch sm_86 --db other.db | grep tier
rm other.db
sweep gemmtune.db > out; tail -n 1 out
