# The front page: its figures are those of db/measured/headlines.csv, which are those of the tables, and its
# pictures are what tools/pictures draws from the same data.
cd "$ROOT" || exit
tools/headlines | diff db/measured/headlines.csv - || echo "type: tools/headlines --write"
tools/headlines --table | diff <(sed -n '/^<!-- tools\/headlines -->$/,/^<!-- \/tools\/headlines -->$/p' README.md | sed '1d;$d') - ||
    echo "type: tools/headlines --write"
tools/pictures pipeline | cmp - tuner/pipeline.svg || echo "type: tools/pictures --write"
tools/pictures ratios | cmp - db/measured/h200-ratios.svg || echo "type: tools/pictures --write"
(($(wc -c <README.md) <= 6144)) || echo "README.md has more than 6144 bytes"
# A figure of the page that no table has any more is seen.
mkdir -p "$SCRATCH/work/tree/db/measured" && cd "$SCRATCH/work/tree" && cp -r "$ROOT/tools" .
printf 'm,n,k,batch,layout,point,ratio\n4096,4096,4096,1,nn,"A=1,B=2",2.0\n4092,4092,4092,1,nn,"A=1",8.0\n64,64,64,1,nn,"A=1",\n' >db/measured/own-bf16.csv
tools/headlines own
tools/headlines --wrong
echo "exit $?"
tools/pictures
echo "exit $?"
