# tests/run: a leak checker that broke down at a program's end is asked again, once; leaks are no reason for that.
export SCRATCH
unset T SHOW UPDATE
for name in once ever leaks; do
    printf '%s\n' '#!/usr/bin/env bash' 'echo "1..1"; echo "ok 1 - test"; echo >>"$SCRATCH/'$name.runs'"' >$name
    chmod +x $name
done
broken='echo "==7==LeakSanitizer has encountered a fatal error."; exit 1'
echo '[[ $LSAN_OPTIONS == use_tls=0 ]] && exit;' "$broken" >>once
echo "$broken" >>ever
echo 'echo "==7==ERROR: LeakSanitizer: detected memory leaks"; exit 1' >>leaks
JOBS=1 "$ROOT/tests/run" "$PWD"/{once,ever,leaks} | sed 's/ ([0-9.]* s, CPU.*//'
wc -l <"$SCRATCH/once.runs"; wc -l <"$SCRATCH/ever.runs"; wc -l <"$SCRATCH/leaks.runs"
