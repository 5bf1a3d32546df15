# Programs that are started without standard streams, as by daemons: what tune opens takes none of
# their numbers, so that no message goes into a socket, a lock or a database.
need_stub
sweep=(--shape 64x64x64 --kernels simt_thread1d --budget 2)
for closed in 2 1 "1 2" "0 1 2"; do
    db=without-${closed// /}.db
    (
        for stream in $closed; do eval "exec $stream>&-"; done
        timeout 300 "$TUNE" "${sweep[@]}" --db "$db"
        echo "$?" > code
    ) > said 2> /dev/null < /dev/null
    echo "without $closed: exit code $(cat code), $(grep -c '^rank' said) tables," \
        "$("$TUNE" export --db "$db" --all -q | grep -Evc ',(measured|status)$') failed trials"
done
find "$PWD" -name '*lock' -size +0
