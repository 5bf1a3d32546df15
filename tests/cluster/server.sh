# tests/cluster/server.sh: a PostgreSQL server of the test's own, in $place/data, on a local socket in
# $place/socket; sourced.  initdb and postgres refuse root, so that another user runs them then.
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' :)
as=()
[[ $(id -u) != 0 ]] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# have_server: whether there is what the tests need; else it says why not.
have_server() {
    local tool
    for tool in initdb postgres psql python3; do
        command -v $tool >/dev/null || { echo "$tool is not installed (Debian: postgresql, python3)" && return 1; }
    done
    [[ -e $(ldconfig -p | sed -n 's/.*libpq\.so\.5 .*=> //p' | head -n 1) ]] || { echo "libpq is not installed" && return 1; }
}

make_server() {
    mkdir -p "$place/socket" "$place/data"
    chmod 755 "$place"
    [[ $(id -u) != 0 ]] || chown 65534:65534 "$place/socket" "$place/data"
    "${as[@]}" env HOME="$place" initdb -D "$place/data" -U tuner -A trust >"$place/initdb.log" 2>&1 || { cat "$place/initdb.log" && return 1; }
}

# start_server [OPTION of postgres]...: also after a kill; the server's own recovery is part of the test.
start_server() {
    rm -f "$place/data/postmaster.pid"
    "${as[@]}" env HOME="$place" postgres -D "$place/data" -k "$place/socket" -c listen_addresses= -c max_connections=300 "$@" \
        >>"$place/server.log" 2>&1 &
    server=$!
    local i
    for ((i = 0; i < 600; i++)); do
        psql -h "$place/socket" -U tuner -d postgres -c 'SELECT 1' >/dev/null 2>&1 && return
        sleep 0.2
    done
    tail "$place/server.log"
    return 1
}

sql() { psql -h "$place/socket" -U tuner -d "${PGDATABASE:-postgres}" -XAtqc "$1"; }
