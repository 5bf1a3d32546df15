# Passwords in addresses of a queue, and in the words of a program that is started: nothing prints, stores or reports
# them, and no file gets such a name.
need_serve
unset GEMMTUNE_DB
addresses=("postgresql://me:SECRET@nowhere.invalid/tuning" "postgresql://nowhere.invalid/tuning?pass%77ord=SECRET"
    "host=nowhere.invalid password=SECRET" "service=tuning password = 'SECRET'")
says() { # CODE WORD...: the exit code is this one, and the words are not repeated
    code=$1
    shift
    "$TUNE" "$@" >said 2>&1 </dev/null
    rc=$?
    [[ $rc == $code ]] || echo "$* [exit $rc]: $(head -n 1 said)"
    grep -q SECRET said && echo "$* says: $(grep SECRET said)"
}
for address in "${addresses[@]}"; do
    for words in --queue "--arch sm_86 --shape 64x64x64 --db" "queue status" "queue submit" "lookup 64x64x64 --arch sm_86 --db" \
        "export --db" "report --db" "compare a.db" "merge --db" "merge --db mine.db" "doctor --db" "recheck --db" "energy --db" \
        "serve --db" --shapes --device --kernels --objective --seed "capture -o" "--log=x --json --shapes" list show bench help; do
        says 2 $words "$address"
    done
    says 2 --db="$address" 64x64x64
    says 2 --no-such-option="$address"
    says 2 "$address"
    says 2 --json "$address"
    GEMMTUNE_DB=$address says 2 --arch sm_86 --shape 64x64x64
    GEMMTUNE_DB=$address says 2 export
    for command in serve "capture -o shapes.txt" "doctor --program" "serve --report report.txt"; do
        says 2 $command -- "$address"
        says "[03]" $command -- sh -c "exec $client" "$address" # 3: nothing is served
        GEMMTUNE_DB=$address says "[03]" $command -- $client
    done
    echo "db=$address" > policy.txt
    says "[03]" serve --policy policy.txt -- $client
done
grep -rl SECRET . | grep -v '^./policy.txt$'
ls | grep -E 'SECRET|password'
t --db "${addresses[0]}" --arch sm_86 64x64x64 2>&1 | grep -o 'has a password.*~/.pgpass'
t queue frobnicate "${addresses[1]}" 2>&1 | grep -o 'has a password.*~/.pgpass'
t serve -- "${addresses[2]}" 2>&1 | grep -o '! .*password=\*\*\*'
