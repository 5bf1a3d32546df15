# The queue without a server: words that mean nothing, a password that others could read, nobody there.
[[ -e $(ldconfig -p | sed -n 's/.*libpq\.so\.5 .*=> //p' | head -n 1) ]] || skip "libpq is not installed"
t queue
t queue frobnicate postgresql:///nothing
t queue submit postgresql://me:secret@nowhere.invalid/tuning --shape 64x64x64
t queue status 'host=/nowhere dbname=tuning password=secret'
t queue status "postgresql:///tuning?host=$PWD"
t --queue postgresql:///tuning --shape 64x64x64
t --queue postgresql:///tuning --budget 10s
t queue status "postgresql:///tuning?host=$PWD&pass%77ord=secret"
t --compile-only
t --queue postgresql:///tuning --compile-only --db some.db
t --arch sm_86 --shape 64x64x64 --db postgresql:///tuning
# The words of an address are checked before a GPU is looked for, and nobody waits for a server that has no such address.
t --queue tuning
t --queue "dbnmae=tuning" --arch sm_86
t --queue http://nowhere.invalid/tuning --arch sm_86 --compile-only
t --queue postgresql://me:secret@nowhere.invalid/tuning
t --queue "postgresql:///tuning?host=$PWD&sslmode=maybe" --arch sm_86 --predict -q
t queue status "dbnmae=tuning"
# An action takes only its own options: to cancel one problem must not cancel the whole queue.
for action in cancel retry status export; do
    t queue $action "postgresql:///tuning?host=$PWD" --shape 64x64x64
done
t queue cancel "postgresql:///tuning?host=$PWD" --shapes bench --dtype f16
t queue cancel "postgresql:///tuning?host=$PWD" --random 3
t queue retry "postgresql:///tuning?host=$PWD" --budget 10s
t queue retry "postgresql:///tuning?host=$PWD" --class H200
t queue submit "postgresql:///tuning?host=$PWD" --shape 64x64x64 --db all.db
t queue status "postgresql:///tuning?host=$PWD" --db all.db
t queue export "postgresql:///tuning?host=$PWD" --db all.db
# So does a worker: its jobs say what is tuned.
for option in --missing "--dtype f16" "--layout nt" "--batch 3" "--beta 1" "--shard 1/2" "--rows 3" 64x64x64; do
    t --queue "postgresql:///tuning?host=$PWD" --arch sm_86 $option
done
# A worker without a GPU takes no jobs, whatever stands in its way; told to predict it asks for the server.
t --queue "postgresql:///tuning?host=$PWD" --arch sm_86
t --queue "postgresql:///tuning?host=$PWD"
t --arch sm_86 --shape 64x64x64 --predict
t queue cancel "postgresql:///tuning?host=$PWD" --predicted
