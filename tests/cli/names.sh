# Names of GPUs choose rows of exports, reports and stored energies, as archs do; a name with the same
# words is that one's alone.
quick_nvrtc
sweep() { "$TUNE" --arch "$1" --shape 200x120x72 --kernels simt,simt_tma --budget 2 --db n.db -q > out; }
for name in h100 H200 "RTX 2080" "RTX 2080 Ti" L4 4090; do sweep "$name"; done
devices() { sed 's/.*device[a-z_]*": *"//; s/[",|].*//' | grep -oE '[A-Za-z0-9 -]+ \(profile\)' | sed 's/^ *//' | sort -u | tr '\n' ';'; echo; }
for name in h100 "NVIDIA H100 80GB HBM3" h200 "rtx2080" "RTX 2080 Ti" l4 rtx4090 gh200; do
    echo "$name: $("$TUNE" export --db n.db --arch "$name" -q | devices)"
done
for format in md json; do
    "$TUNE" export --db n.db --format $format --arch l4 -q -o out.$format
    echo "$format: $(grep -aoE '(L4|[A-Z0-9]+00?0?[A-Za-z0-9 ]*) \(profile\)' out.$format | sort -u | tr '\n' ';')"
done
"$TUNE" export --db n.db --format deploy --arch l4 -o l4.gt 2>&1 | grep -oE "[0-9]+ answers?"
"$TUNE" report --db n.db --arch rtx-2080 --html out.html -q
grep -oE 'RTX 2080[A-Za-z ]*\(profile\)|H[12]00[A-Za-z0-9 ]*\(profile\)|L4 \(profile\)' out.html | sort -u
"$TUNE" export --db n.db --format deploy -o all.gt -q 2> out
for name in l4 rtx4090 "RTX 2080" 2080ti; do
    echo "deployed, $name: $("$TUNE" lookup 200x120x72 --db all.gt --arch "$name" | grep -oE 'tier +[a-z]+|tuned for.*' | sed 's/  */ /g' | tr '\n' ' ')"
done
"$TUNE" export --db "$ROOT/db/shipped" --format deploy --problem 4096x4096x4096:bf16:nt -o shipped.gt -q
for name in h100 H200 h20; do
    echo "shipped, $name: $("$TUNE" lookup 4096x4096x4096:bf16:nt --db shipped.gt --arch "$name" | grep -oE 'tier +[a-z]+|tuned for.*' | sed 's/  */ /g' | tr '\n' ' ')"
done
"$TUNE" energy 200x120x72 --stored --db n.db --arch h100 2>&1 | grep -oE 'no energy is stored'
# Stored energies: the newest are of the Ti, and who names the other is not answered by them.
python3 - << 'PY'
import sqlite3
base = sqlite3.connect("n.db")
for name, joules, at in (("RTX 2080 (profile)", 0.5, 1000), ("RTX 2080 Ti (profile)", 0.25, 2000)):
    base.execute("INSERT INTO energy SELECT t.device, t.problem, k.name, k.signature, t.point, 10, ?, 0.01, 100, 1500, 10, 1, ?"
                 " FROM trial AS t JOIN kernel AS k ON k.id = t.kernel JOIN device AS d ON d.id = t.device"
                 " WHERE t.status = 'ok' AND d.name = ? ORDER BY t.us LIMIT 1", (joules, at, name))
base.commit()
PY
for name in "RTX 2080" "rtx2080ti" 2080 sm_75; do
    echo "energy, $name: $("$TUNE" lookup 200x120x72 --db n.db --arch "$name" --objective energy | grep -oE '[0-9.]+ mJ|RTX.*\(profile\)|not taken' | tr '\n' ' ')"
done
