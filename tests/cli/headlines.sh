# The front page: its figures are those of db/measured/headlines.csv, which are those of the tables; and pictures are drawn
# from today's data by today's code, or named with what to do (tools/pictures --write).
cd "$ROOT" || exit
tools/headlines | diff db/measured/headlines.csv - || echo "type: tools/headlines --write"
tools/headlines --table | diff <(sed -n '/^<!-- tools\/headlines -->$/,/^<!-- \/tools\/headlines -->$/p' README.md | sed '1d;$d') - ||
    echo "type: tools/headlines --write"
for what in results grid llm 'results h100'; do
    # shellcheck disable=SC2086 # two words
    tools/headlines --$what | diff <(sed -n "/^<!-- tools\/headlines $what -->$/,/^<!-- \/tools\/headlines $what -->$/p" db/measured/README.md | sed '1d;$d') - ||
        echo "type: tools/headlines --write"
done
tools/pictures --check
(($(wc -c <README.md) <= 6144)) || echo "README.md has more than 6144 bytes"
# So are those of the row about the GPUs whose winners are shipped, which rounds them.
tools/headlines | awk -F, -v row="$(grep '^| H100 or H200' README.md)" '
    { value[$1] = sprintf("%.2f", $2) }
    END {
        wanted = "aligned BF16 " value["squares"] " to " value["llm"] " times as fast as cuBLASLt, FP32 " value["bench_f32"] ", unaligned BF16 " value["unaligned"]
        if (!index(row, wanted)) print "README.md: the row of H100 and H200 should say: " wanted
    }'
for table in h100 h200; do
    (($(grep -c ',measured,' db/shipped/$table.csv) >= 1200)) || echo "$table.csv has fewer winners than README.md says"
done
# A figure of the page that no table has any more is seen.
mkdir -p "$SCRATCH/work/tree/db/measured" && cd "$SCRATCH/work/tree" && cp -r "$ROOT/tools" .
printf 'm,n,k,batch,layout,point,ratio\n4096,4096,4096,1,nn,"A=1,B=2",2.0\n4092,4092,4092,1,nn,"A=1",8.0\n64,64,64,1,nn,"A=1",\n' >db/measured/own-bf16.csv
tools/headlines own
cat >db/measured/drawn-random.csv <<'CSV'
m,n,k,batch,layout,dtype,accuracy,point,us,ratio,best_ratio,untuned_us,worse_by_tuning,untuned
64,64,64,1,nn,bf16,low,"A=1,B=2",10,2.0,2.0,15,0,"simt A=1,B=2"
64,64,65,1,nn,bf16,low,"A=1,B=2",10,0.5,1.0,10,1,"simt A=1,B=2"
64,64,68,1,nn,bf16,low,"A=1,B=2",10,1,1.0,10,0,"simt A=1,B=2"
64,64,66,1,nn,f32,f32,"A=1,B=2",12,3,,10,0,"simt A=1,B=2"
64,64,67,1,nn,f32,strict,"A=1,B=2",12,,,,,
CSV
tools/headlines drawn | cut -d, -f1-3
# Products that read C: a set, drawn ones, and how much of a training program's time is tuned.
cp db/measured/drawn-random.csv db/measured/drawn-update-drawn.csv && cp db/measured/drawn-random.csv db/measured/drawn-update.csv
printf 'program,seconds,coverage\ngpt2.py,180,0.97\nother.py,180,0.5\n' >db/measured/drawn-coverage.csv
tools/headlines drawn | grep -E '^(update|train)'
# A training step with checks, and without a key where nobody has measured it.
printf 'check,ms,times,device,command\n0,30.0,1.0000,A GPU,x\n1,75.0,2.5000,A GPU,x\n50,31.5,1.0500,A GPU,x\n' >db/measured/h100-check.csv
tools/headlines | cut -d, -f1-4 && rm db/measured/h100-check.csv
# The tables of db/measured/README.md, of rows with quoted fields, without a ratio, and of one kind only.
cat >db/measured/few-llm.csv <<'CSV'
problem,m,dtype,accuracy,point,ratio
16x64x64:bf16:nt,16,bf16,low,"A=1,B=2",1.0
16x64x64:bf16:nt,16,bf16,low,"A=1,B=2",4.0
8192x8192x8192:f32:nn:batch=2:accuracy=f32,8192,f32,f32,"A=1",0.5
8192x64x64:f32:nn:accuracy=f32,8192,f32,f32,"A=1",
CSV
cp db/measured/few-llm.csv db/measured/few-grid.csv
tools/headlines --results few
tools/headlines --llm few
tools/headlines --grid few
tools/headlines --grid none
tools/headlines --wrong
echo "exit $?"
tools/pictures
echo "exit $?"
# A picture of other data, of no data, and a file that is none.
cd "$ROOT" && sed 's/ from [0-9a-f]*:/ from 0123456789abcdef:/' db/measured/h200-ratios.svg >"$SCRATCH/work/old.svg"
tools/draw --stale "$SCRATCH/work/old.svg" tuner/pipeline.svg missing.svg | sed 's/.*old/old/'
tools/draw
echo "exit $?"
