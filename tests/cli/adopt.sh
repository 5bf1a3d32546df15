# Winners of older texts, proved and timed with today's, on the stub driver: adopted, known from an
# earlier run, not possible any more, wrong.
need_stub
data=$PWD/data
mkdir -p "$data/configs/kernels" # with one kernel alone, look-up hands out none that competes with it
cp -R "$ROOT/templates" "$data/templates"
cp -R "$ROOT"/configs/{devices,formulas} "$data/configs/"
cp "$ROOT/configs/kernels/simt_thread1d.json" "$data/configs/kernels/"
chmod -R u+w "$data"
export GEMMTUNE_DATA=$data
description=$data/configs/kernels/simt_thread1d.json
tune_with() { # of these values, as the winner
    t --shape "$1" --kernels simt_thread1d --strategy exhaustive --values "$2" -q >/dev/null
}
tune_with 64x64x64 BM=64,BN=64,BK=8,TM=8,MIN_BLOCKS=1
tune_with 96x80x64 BM=128,BN=64,BK=8,TM=8,MIN_BLOCKS=1
tune_with 128x128x64 BM=128,BN=32,BK=8,TM=8,MIN_BLOCKS=1
t export --format shipped --output older.csv
t recheck --adopt
# Another text of the template: its winners are of an older one now.
echo '#define ADOPTED 1' >>"$data/templates/simt/thread1d.cu"
t lookup 64x64x64 --arch sm_90 --db gemmtune.db --json | grep '"tier"'
# Where another program holds the memory nothing is tried, and a later run adopts all.
STUB_MEMORY=1000000 "$TUNE" recheck --adopt -q 2> why | grep -c 'not tried: '; cat why
t recheck --adopt --limit 1
t recheck --adopt --shape 96x80x64 -q --json | grep -v 'us"'
# A value that is gone, and a constraint that is new.
sed -i 's/\[32, 64, 128\], "default": 64/[64, 128], "default": 64/' "$description"
t recheck --adopt --csv all.csv
cut -d, -f1-4 all.csv
t lookup 64x64x64 --arch sm_90 --db gemmtune.db --json | grep '"tier"'
t export --format csv | cut -d, -f1,5,9 | head -n 3
# The same out of a table, into another database; what is of today's text is proved and timed too.
t recheck --adopt --system-db older.csv --db other.db --rounds 21
t recheck --adopt --system-db older.csv --db other.db --shape 64x64x64
t export --db other.db --format shipped --output today.csv
t recheck --adopt --system-db today.csv --db third.db
# A text that computes something else: an older one without the fault that is today's default.
mkdir older today
cp "$ROOT"/tests/faults/kernels/planted.* older
cp "$ROOT"/tests/faults/kernels/planted.* today
sed -i '/"name": "FAULT"/,+1d; s/"if": "FAULT == 0[^"]*"/"if": "1"/; s/FAULT == 9 ? 16777216 : 0/0/' older/planted.json
sed -i '/"name": "FAULT"/s/"default": 0/"default": 3/' today/planted.json
t --shape 64x64x64 --kernels planted --kernels-dir older --db fault.db --strategy exhaustive --values BM=8,BN=32 -q >/dev/null
t recheck --adopt --kernels-dir today --db fault.db -q
t recheck --adopt --kernels-dir today --db fault.db -q
# What is asked for in vain.
t recheck --adopt --runners-up 2
t recheck --system-db older.csv
