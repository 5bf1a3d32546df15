# The database that nobody names: of the sweep, of the look-up, of the library.
unset GEMMTUNE_DB
t --arch sm_86 --shape 66x66x4 --kernels simt_naive --budget 1 -q -n 1 | head -n 1
ls "$HOME/.local/share/gemmtune"
t lookup 66x66x4 --arch sm_86 | sed -n 3,4p
export XDG_DATA_HOME=$PWD/data
t lookup 66x66x4 --arch sm_86 | grep -c exact
t export
t merge nosuch.db
ls data 2> /dev/null
export GEMMTUNE_DB=$PWD/named.db
t merge "$HOME/.local/share/gemmtune/gemmtune.db"
t merge nosuch.db --db new.db
ls -- *.db
t export --db :memory:
