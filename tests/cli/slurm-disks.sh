# The job scripts of tools/slurm, without Slurm: sweeps that are killed, and disks that are full.
need_nvrtc
export TUNE REAL=$TUNE TMPDIR=$PWD/node
mkdir node
printf '64x64x64\n512x512x512\n' > shapes.txt
# killed WORDS...: tune, which is killed while it tunes.
cat > killed << 'END'
#!/usr/bin/env bash
[[ $1 == --shapes ]] || exec "$REAL" "$@"
"$REAL" "$@" & tune=$!
for ((i = 0; i < 3000; i++)); do (($(stat -c %s "$4-wal" 2> /dev/null || echo 0) < 300000)) || break; sleep 0.02; done
kill -9 $tune
wait $tune 2> /dev/null
exit 137
END
# full WORDS...: tune, which had no room to fold its log into the file.
cat > full << 'END'
#!/usr/bin/env bash
"$REAL" "$@"
code=$?
while [[ $1 != --db ]]; do shift; done
echo log > "$2-wal"
exit $code
END
chmod +x killed full
sweep=(shapes.txt results --arch sm_86 --kernels simt --budget 3000 -q)
rows() { "$TUNE" export --db "$1" --all -q | wc -l; }

echo "-- what a killed sweep had found comes home"
TUNE=./killed bash "$ROOT/tools/slurm/tune.sbatch" "${sweep[@]}" 2> said
echo "[exit $?]"
(($(rows results/part-0-0.db) > 1)) || cat said
ls -A node results

echo "-- no room for the merged rows: nothing is replaced, and no part removed"
TUNE=./full bash "$ROOT/tools/slurm/merge.sbatch" results 2> said > /dev/null
echo "[exit $?]"
tail -n 1 said | sed 's/gemmtune\.[A-Za-z0-9]*/gemmtune.X/; s:/[^ ]*/node:node:'
ls results
bash "$ROOT/tools/slurm/merge.sbatch" results > /dev/null 2>&1
ls results

echo "-- a folder of results that takes nothing: the task's rows stay where they are"
cat > closing << 'END'
#!/usr/bin/env bash
"$REAL" "$@"
mv results away && : > results
END
chmod +x closing
SLURM_ARRAY_TASK_ID='' TUNE=./closing bash "$ROOT/tools/slurm/tune.sbatch" "${sweep[@]:0:6}" --budget 3 -q > /dev/null 2> said
echo "[exit $?]"
grep -c '^what this task has found could not be copied to results: it is in .*/node/gemmtune\.' said
(($(rows node/gemmtune.*/part.db) > 3)) || cat said
