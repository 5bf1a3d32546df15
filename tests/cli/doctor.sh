# A line for each thing that tuning needs.
need_nvrtc
[[ -e /dev/nvidia0 ]] && skip "there is a GPU here"
t doctor
GEMMTUNE_LIBNVRTC=$PWD/none t doctor --json | grep -A 1 NVRTC
t doctor --db /proc/gemmtune.db | grep database
t doctor --db none/gemmtune.db | grep database
echo 'shopping list: milk' > text.db
t doctor --db text.db | grep database
# A home in which nothing can be made, or none: the sweep says what doctor has said.
(
    unset GEMMTUNE_DB GEMMTUNE_CACHE XDG_CACHE_HOME XDG_DATA_HOME
    export HOME=$PWD/text.db
    t doctor | grep -E '^(database|cache)'
    t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1
    unset HOME
    t doctor | grep -E '^(database|cache)'
    t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1
)
# A damaged ranking costs its advice and nothing else: look-ups answer by the tables alone.
mkdir -p data/db/shipped
ln -s "$ROOT/templates" "$ROOT/configs" data
cp "$ROOT"/db/shipped/*.csv data/db/shipped
head -c 10000 "$ROOT"/db/shipped/h200.ranking > data/db/shipped/h200.ranking
GEMMTUNE_DATA=$PWD/data t doctor | grep ranking
GEMMTUNE_DATA=$PWD/data t lookup 777x888x999:bf16:nn --arch sm_90 | grep -E 'tier|not taken'
GEMMTUNE_DATA=$PWD/data t lookup 4096x4096x4096:bf16:nt --arch sm_90 | grep -E 'tier|not taken'
echo '# no table' >> data/db/shipped/h200.csv
GEMMTUNE_DATA=$PWD/data t doctor | grep shipped
# Options that mean nothing without another one.
for option in "--recording x" "--csv x" --leave-out "--learn x" "--device cuda" "--predictor --onto x" "--predictor --learn x --narrow" "--predictor --from x"; do
    # shellcheck disable=SC2086 # words
    t doctor $option
done
"$TUNE" doctor --narrow --help | head -n 1 # help comes first
# A database of an older program is read, and what the next sweep does with it is said before.
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1 --db older.db -q > /dev/null
python3 -c 'import sqlite3; sqlite3.connect("older.db").execute("pragma user_version = 9")'
t doctor --db older.db | grep '^database' | grep -oE 'schema.*'
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1 --db older.db -q > /dev/null; ls older.db*
