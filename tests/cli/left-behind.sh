# What reading and killed exports leave beside a database: nothing.
need_nvrtc
"$TUNE" --arch sm_86 --kernels simt_naive --shape 64x64x4 --budget 2 --db x.db -q > /dev/null
cp x.db before.db
echo "# readers"
for command in "export" "export --all --format json" "lookup 64x64x4 --arch sm_86" "doctor"; do
    # shellcheck disable=SC2086 # words
    "$TUNE" $command --db x.db -q > /dev/null 2>&1
    ls x.db*
done
"$TUNE" merge x.db --db y.db -q
ls x.db* y.db*
cmp x.db before.db
echo "# two readers at once, and one after readers that could not remove an empty log"
"$TUNE" compare x.db x.db -q
ls x.db*
: > x.db-wal
"$TUNE" export --db x.db -q > /dev/null
ls x.db*
cmp x.db before.db
echo "# exports that were killed an hour ago, one of now, and what only looks like one"
mkdir out.db.part-abcdef out.db.part-ghijkl out.db.part-toolong other.db.part-abcdef
touch out.db.part-abcdef/copy out.db.part-abcdef/copy-journal
touch -d '2 hours ago' out.db.part-abcdef out.db.part-toolong other.db.part-abcdef
echo precious > precious
ln -s precious "out.db.4711.part"
t export --db x.db --format db -o out.db
ls -d out.db* other.db*
cat precious
echo "# and of any other output: old ones that are this user's, and nothing else"
touch x.csv.part-abcdef x.csv.part-ghijkl x.csv.part-toolong x.csv.backup y.csv.part-abcdef
touch -d '2 hours ago' x.csv.part-abcdef x.csv.part-toolong x.csv.backup y.csv.part-abcdef
ln -s precious x.csv.part-mnopqr
mkdir x.csv.part-stuvwx
touch -hd '2 hours ago' x.csv.part-mnopqr x.csv.part-stuvwx
"$TUNE" export --db x.db -q -o x.csv
ls -d x.csv* y.csv*
cat precious
rm -r x.csv.part* x.csv.backup y.csv.part*
echo "# a reader with a database that it may only read: only who may write may remove the log's files"
chmod 444 x.db
t lookup 64x64x4 --arch sm_86 --db x.db | grep tier
cmp x.db before.db
