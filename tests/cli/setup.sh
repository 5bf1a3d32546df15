# tools/setup: quiet where everything is there; otherwise the exact command to type.
"$ROOT/tools/setup" --check 2>&1 | grep -c '^setup: ready; NVRTC is \|^setup: NVRTC is missing'
echo "[exit ${PIPESTATUS[0]}]"
CC=no-such-compiler "$ROOT/tools/setup" --check 2>&1 | sed 's/^ *sudo apt-get install .*/COMMAND/; s/^ *sudo dnf install .*/COMMAND/; s/^ *(your package manager).*/COMMAND/'
echo "[exit ${PIPESTATUS[0]}]"
# The loader's list may name a library that has been removed.
mkdir fake
cat > fake/ldconfig <<'FAKE'
#!/bin/sh
echo "	libnvrtc.so.13 (libc6,x86-64) => /nonexistent/libnvrtc.so.13"
FAKE
chmod +x fake/ldconfig
[[ -e /usr/local/cuda/lib64/libnvrtc.so.13 || -e $ROOT/.deps ]] || PATH=$PWD/fake:$PATH CUDA_HOME= "$ROOT/tools/setup" --nvrtc
PATH=$PWD/fake:$PATH CUDA_HOME= "$ROOT/tools/setup" --nvrtc | grep nonexistent
# Only what is missing is installed, and that is said before; a slow step tells that it goes on, and
# what never answers is given up.  A tree of its own, in which no NVRTC can be found, and tools that
# are played.
mkdir -p tree fake2
cp -r "$ROOT/tools" tree/tools
cat > fake2/ldconfig <<'FAKE'
#!/bin/sh
FAKE
cat > fake2/apt-get <<'FAKE'
#!/bin/sh
echo "played: apt-get $*"
FAKE
cat > fake2/sudo <<'FAKE'
#!/bin/sh
[ "$1" = -n ] && shift
exec "$@"
FAKE
cat > fake2/dpkg-query <<'FAKE'
#!/bin/sh
for name; do :; done
[ "$name" != libcjson-dev ] && echo "install ok installed"
FAKE
cat > fake2/python3 <<'FAKE'
#!/bin/sh
[ "$3" = --version ] && exit
exec sleep 600
FAKE
chmod +x fake2/*
echo "== apt"
CC=no-such-compiler PATH=$PWD/fake2:$PATH tree/tools/setup 2>&1 | grep -v 'apt-get install build\|dnf\|manager'
echo "== pip"
setup=(env HOME="$PWD" CUDA_HOME= CUDA_PATH= VIRTUAL_ENV= CONDA_PREFIX= PATH="$PWD/fake2:$PATH" SETUP_PATIENCE=3 SETUP_TELLS=1 tree/tools/setup)
if [[ ! -d /usr/local/cuda ]]; then
    hide=()
elif [[ $(id -u) == 0 ]] && unshare -m true 2> /dev/null; then
    hide=(unshare -m)
elif unshare -rm true 2> /dev/null; then
    hide=(unshare -rm)
else
    skip "the toolkit can be hidden only by root, or by who may have namespaces"
fi
[[ ! ${hide[*]} ]] || hide+=(bash -c 'for cuda in /usr/local/cuda*/; do mount -t tmpfs none "$cuda"; done; "$@"' hide)
begin=$SECONDS
"${hide[@]}" "${setup[@]}" 2>&1 | grep -v clang-format | sed -E 's/after [0-9]+ s/after N s/; s/(cannot compile kernels);.*/\1/' | uniq | head -n 4
((SECONDS - begin < 300)) && echo "and it ended"
# What another processor needs is asked for by its own target only.
PATH=$PWD/fake2:$PATH tree/tools/setup --check --cross no-such-processor 2>&1
echo "[exit $?]"
# Each wheel is given by its version and digests.
grep -cE -- '--hash=sha256:[0-9a-f]{64}' "$ROOT"/tools/nvrtc-1[23].txt | sed 's|.*/||'
grep -n 'pip install' "$ROOT/tools/setup" | grep -v require-hashes | grep -v 'disable-pip-version-check'
# A name that no test has is refused at once.
make -s -C "$ROOT" check T=nosuchtest BUILD="$PWD/none" 2>&1 | grep -o "no test is named 'nosuchtest'"
ls none 2> /dev/null
