# Every figure that others have published stands in a section with its source: a title and an address.
cat >check.py <<'END'
import re, sys
FIGURE = re.compile(r"as published|published (?:scores?|shares?|figures?|times?|results?)\b|(?:authors|paper|documentation) (?:report|state|publish)", re.I)
def sections(path):
    """Pieces from heading to heading, blocks of code left out."""
    text = re.sub(r"^```.*?^```", "", open(path, encoding="utf-8").read(), flags=re.S | re.M)
    return re.split(r"^(?=#+ )", text, flags=re.M)
for path in sys.argv[1:]:
    for section in sections(path):
        figures = [line for line in section.splitlines() if FIGURE.search(line) and re.search(r"\d", line)]
        if figures and "https://" not in section:
            print(f"{path}: no source beside: {figures[0].strip()[:70]}")
END
cd "$ROOT" || exit
git ls-files '*.md' | grep -v CHANGELOG.md | xargs python3 "$SCRATCH/work/check.py"
echo "# figures of the descriptions have a row in the ladder's table of sources"
python3 - <<'END'
import glob, json, re
rows = re.findall(r"^\| ((?:RTX|A1|H2)[^|]*) \| ([^|]*(?:https://|were not kept)[^|]*) \|$", open("db/measured/README.md").read(), re.M)
known = {device.strip() for devices, _ in rows for device in re.split(r"[;,]", devices)}
for path in sorted(glob.glob("configs/kernels/*.json")):
    for figure in json.load(open(path)).get("reported", []):
        device = re.split(r"[,:]", figure["source"])[0]
        if device not in known:
            print(f"{path}: {figure['source']}: no source")
print(len(rows), "sources")
END
echo "# a table of others' figures begins with its source"
for table in $(grep -l published db/measured/*published*.csv); do
    grep -qE '^# .*https://' "$table" || echo "$table: no source"
done
echo "# a figure without one is found"
cd "$SCRATCH/work" || exit
printf '# A\n\nAs published, 0.9 of cuBLAS.\n\n# B\n\nPublished scores: 3 (https://example.org).\n' >planted.md
python3 check.py planted.md
