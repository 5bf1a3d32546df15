# tools/setup: quiet where everything is there; otherwise the exact command to type.
"$ROOT/tools/setup" --check 2>&1 | grep -c '^setup: ready; NVRTC is \|^setup: NVRTC is missing'
echo "[exit ${PIPESTATUS[0]}]"
CC=no-such-compiler "$ROOT/tools/setup" --check 2>&1 | sed 's/^ *sudo apt-get install .*/COMMAND/; s/^ *sudo dnf install .*/COMMAND/; s/^ *(your package manager).*/COMMAND/'
echo "[exit ${PIPESTATUS[0]}]"
