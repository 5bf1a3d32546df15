# How well the model ranks what was measured: recorded spaces of an H200, and a database.
replay=$ROOT/tests/replay
t doctor --predictor
t doctor --predictor --recording "$replay/h200-simt-1024.json.gz" --recording "$replay/h200-hopper-4096.json.gz" --csv q.csv -q
head -1 q.csv
# What the search relies on: spaces are ranked, and the first fifty hold a point near the best.
for space in "$replay"/h200-*.json.gz; do
    "$TUNE" doctor --predictor -q --recording "$space" --csv q.csv >/dev/null
    awk -F, 'NR > 1 && ($6 < 0.45 || $8 < 0.96) { print $2, "is ranked badly:", $6, $8 }' q.csv
done
t doctor --predictor --recording "$replay/h200-simt-1024.json.gz" --json -q | grep -oE '"[a-z0-9]+":' | sort -u | tr '\n' ' '
echo
t doctor --predictor --recording "$replay/predicted-simt_thread1d-512.json.gz"
# --learn names what is written: no database, and no older ranking where the new one has no room.
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 2 --db first.db -q >/dev/null
cp first.db before.db
t doctor --predictor --learn first.db --from "$ROOT/tests/unit/data/h200-f32acc.csv" -q
t doctor --predictor --learn first.db --from first.db -q
cmp first.db before.db
# Learned from recorded trials of an H200: problems left out lose little, and a ranking comes of it.
trials=$ROOT/tests/unit/data/h200-f32acc.csv
"$TUNE" doctor --predictor --learn own.ranking --from "$trials" -q >learned.txt
awk '$1 == "f32/f32" && $2 >= 20 && $6 < 8 && $6 < $3 { print "the trees lose less than the model" }' learned.txt
head -n 4 own.ranking | cut -c1-20
cp own.ranking older.ranking
(ulimit -f 1; "$TUNE" doctor --predictor --learn own.ranking --onto own.ranking --from "$trials" -q >/dev/null; echo "[exit $?]") 2>&1
cmp own.ranking older.ranking && ls own.ranking*
t doctor --predictor --leave-out --from "$trials" --json -q | grep -oE '"[a-z0-9]+":' | sort -u | tr '\n' ' '
echo
# A recorded space teaches, too, and a table can be compared with the model.
"$TUNE" doctor --predictor --learn space.ranking --from "$replay/h200-simt-1024.json.gz" -q >/dev/null
grep -o '^point [a-z0-9/]*' space.ranking | sort -u
"$TUNE" doctor --predictor --recording "$trials" -q | awk '$2 == "f32acc" { tried += $3 } END { print (tried > 100) }'
# What was chosen for each problem, as a table; a ranking that is improved is compared with.
"$TUNE" doctor --predictor --leave-out --onto own.ranking --from "$trials" --csv choices.csv -q | sed -n '/^all kinds/,$p' | sed 's/lose .*/lose/' | cut -c1-32
head -n 1 choices.csv
awk -F, 'NR > 1 { ways[$5]++ } END { for (way in ways) print way, (ways[way] >= 20) }' choices.csv | sort
t doctor --predictor --leave-out --from nowhere.csv
# What was learned chooses the first points of a search, too: without the ranking it tries others.
mkdir -p data/db/shipped
ln -s "$ROOT/templates" "$ROOT/configs" data
cp "$ROOT"/db/shipped/h200.csv data/db/shipped
tried() { GEMMTUNE_LIBNVRTC=$BUILD/stub/libnvrtc.so.13 GEMMTUNE_DATA=$1 "$TUNE" --arch sm_90 --shape 34x1173x463:f16:nn --kernels thin_mma --budget 12 --db "$2" -q | awk '$2 == "thin_mma" { print $NF }' | sort; }
comm -23 <(tried "$ROOT" with.db) <(tried "$PWD/data" without.db) | awk 'END { print "other points:", (NR >= 3) }'
# Measured on the stub driver, whose times are made up: two kernels, and both together.
need_stub
t --shape 64x64x64 --kernels simt_thread1d,simt_naive --budget 12 -q >/dev/null
t doctor --predictor -q
# Trials that were kept as a short text teach what the database taught.
"$TUNE" --shape 64x48x32 --shape 96x48x40 --kernels simt --baseline none --budget 12 --db own.db -q >/dev/null
"$TUNE" export --db own.db --format trials -q | gzip >own-trials.gz
named() { "$TUNE" export --db own.db --format trials --problem 64x48x32 --problem 96x48x40 -q; }
numbers() { grep '^[0-9]' | sort; }
named | numbers | cmp - <(gzip -dc own-trials.gz | numbers) && echo "the same of both problems by name"
"$TUNE" export --db own.db --format trials --problem 96x48x40 -q | awk '/^problem/ { print $2 } /^[0-9]/ { n++ } END { print (n > 9) }'
"$TUNE" doctor --predictor --learn one.ranking --db own.db -q >/dev/null
"$TUNE" doctor --predictor --learn two.ranking --from own-trials.gz -q >/dev/null
diff <(grep ^point one.ranking) <(grep ^point two.ranking) && grep -q ^point one.ranking && echo "the same points"
# It needs no such name, nor to be gzipped.
"$TUNE" export --db own.db --format trials -q -o own.txt
"$TUNE" doctor --predictor --learn three.ranking --from own.txt -q >/dev/null
cmp two.ranking three.ranking && "$TUNE" doctor --predictor --recording own.txt -q | cmp - <("$TUNE" doctor --predictor --db own.db -q) && echo "of any name"
# Such a text, too, shows how well the model ranks what it holds.
diff <("$TUNE" doctor --predictor --db own.db -q) <("$TUNE" doctor --predictor --recording own-trials.gz -q) && echo "the same table"
gzip -dc own-trials.gz | sed '3s/6/7/' | gzip >bad-trials.gz
t doctor --predictor --leave-out --from bad-trials.gz
# A page of tune report holds the same trials; its times are rounded, and it has no clocks.
arch=$(gzip -dc own-trials.gz | awk '$1 == "device" { print $2; exit }')
"$TUNE" report --db own.db --html own.html -q >/dev/null
"$(dirname "$TUNE")/tools/page-trials" "$arch" own.html | gzip >page-trials.gz
trials_of() { gzip -dc "$1" | awk 'NF == 4 && $1 ~ /,/ { print $1, $4 }' | sort; }
diff <(trials_of own-trials.gz) <(trials_of page-trials.gz) && echo "the page has all $(trials_of page-trials.gz | wc -l) trials"
"$TUNE" doctor --predictor --learn page.ranking --from page-trials.gz -q >/dev/null
diff <(sed -n 2p one.ranking) <(sed -n 2p page.ranking) && echo "a ranking of the same arch is learned of them"
# Races on what was recorded end with its best, whatever is expected of the points; other ways are refused.
races=$(dirname "$TUNE")/tools/race-replay
"$races" --arch "$arch" --data "$ROOT" --from own-trials.gz --least 3 --seeds 1 model trees:given=2,apart=2,power=3 | sed 's/,0\.[0-9,.]*,/ .. /'
"$races" --arch "$arch" --data "$ROOT" --from own-trials.gz chance 2>&1
