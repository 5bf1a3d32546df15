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
# Each wheel is given by its version and digests.
grep -cE -- '--hash=sha256:[0-9a-f]{64}' "$ROOT"/tools/nvrtc-1[23].txt | sed 's|.*/||'
grep -n 'pip install' "$ROOT/tools/setup" | grep -v require-hashes | grep -v 'disable-pip-version-check'
# A name that no test has is refused at once.
make -s -C "$ROOT" check T=nosuchtest BUILD="$PWD/none" 2>&1 | grep -o "no test is named 'nosuchtest'"
ls none 2> /dev/null
