/* page_energy.js - the sections of the page about energy, which tune energy measured: time against energy for a problem,
 * speed against power for all.  The data are those of page.js; energies are millijoules. */
const energies = data.energies || [];
const vendor = e => e.kernel === "cublaslt";
const whose = e => vendor(e) ? "cuBLASLt" : `${e.kernel} ${e.point}`;
const joules = mj => mj >= 1000 ? `${short(mj / 1000)} J` : `${short(mj)} mJ`;
const cost = e => `${short(e.us)} us, ${joules(e.mj)} (within ${short(100 * e.error)} %), ${e.watts.toFixed(0)} W, ${e.mhz ? e.mhz.toFixed(0) + " MHz" : "clock not seen"}`;
/* Of rows by their times those that none before them beats by energy. */
function front(rows) {
  let least = Infinity;
  return [...rows].sort((a, b) => a.us - b.us).filter(e => e.mj < least && ((least = e.mj), true));
}
/* The rows of a problem on a device, the fastest first. */
function by_problem() {
  const groups = new Map();
  for (const e of energies) {
    const name = e.problem + (unique(energies.map(x => x.uuid)).length > 1 ? `, ${e.device} ${e.uuid}` : "");
    groups.set(name, (groups.get(name) || []).concat(e));
  }
  for (const rows of groups.values()) rows.sort((a, b) => a.us - b.us);
  return groups;
}

function draw_front(place, rows) {
  const times = rows.map(e => e.us), ends = rows.flatMap(e => [e.mj * (1 - Math.min(0.9, e.error)), e.mj * (1 + e.error)]);
  const view = frame(place, "Front", { least: Math.min(...times) * 0.98, most: Math.max(...times) * 1.02, title: "us" },
    { least: Math.min(...ends) * 0.98, most: Math.max(...ends) * 1.02, title: "mJ" }, 360);
  line(view, front(rows.filter(e => !vendor(e))).map(e => [e.us, e.mj]), "ours");
  for (const e of rows) {
    const x = view.px(e.us);
    put(view.svg, "line", { class: "whisker", x1: x, x2: x, y1: view.py(e.mj * (1 - Math.min(0.9, e.error))), y2: view.py(e.mj * (1 + e.error)) });
    dot(view, e.us, e.mj, vendor(e) ? "base" : "ours", `${whose(e)}: ${cost(e)}`);
  }
}
/* What the fastest of ours costs, and which of those slower by at most 3 % takes least energy, whatever the errors are. */
function bought(rows) {
  const ours = rows.filter(e => !vendor(e)), fast = ours[0];
  if (!fast) return "None of ours was measured.";
  const less = ours.filter(e => e.us <= 1.03 * fast.us && e.mj * (1 + e.error) < fast.mj * (1 - fast.error));
  const saving = less.reduce((least, e) => e.mj < least.mj ? e : least, fast);
  const percent = (a, b) => `${Math.abs(100 * (a / b - 1)).toFixed(1)} %`;
  return `The fastest costs ${joules(fast.mj)} at ${fast.watts.toFixed(0)} W. `
    + (saving === fast ? "None that is slower by at most 3 % takes less energy by more than the bounds of the errors."
      : `${percent(saving.us, fast.us)} of time buy ${percent(saving.mj, fast.mj)} of energy (errors: ${short(100 * fast.error)} and ${short(100 * saving.error)} %).`);
}
function fronts() {
  if (!energies.length) return;
  const groups = by_problem(), names = [...groups.keys()];
  const box = section("Time against energy", "Energy of a product, of the whole GPU, over its time, launches without a gap: each dot is a candidate, "
    + "its line the bound of the error (=: not told apart from the best by it); the path joins those of ours that none faster beats by energy.");
  const choices = put(box, "div", { class: "choices" });
  let name = names[0];
  const again = picture(box, place => {
    const rows = groups.get(name);
    put(place, "p", {}, bought(rows));
    draw_front(place, rows);
    key(place, [["ours", "gemmtune"], ["base", "cuBLASLt"]]);
    table(place, "The same as a table", ["us", "mJ", "error %", "W", "MHz", "mJ us", "best by", "on the front", "meter", "kernel", "point"], rows.map(e =>
      [e.us, e.mj, 100 * e.error, e.watts, e.mhz || "-", e.us * e.mj, ["time", "energy", "edp"].filter(by => e[by]).map(by => e[by] > 1 ? `${by}=` : by).join(", ") || "-",
        front(rows.filter(x => !vendor(x))).includes(e) ? "yes" : "-", e.counted ? "counter" : "power", e.kernel, e.point || "-"]));
  });
  choice(choices, "problem", names, i => { name = names[i]; again(); });
}

/* The fastest of ours and cuBLASLt's answer for each problem; what has no operations is left out. */
const pairs_of = groups => [...groups].map(([name, rows]) => ({ name, ours: rows.find(e => !vendor(e)), base: rows.find(vendor) })).filter(p => (p.ours || p.base).flops > 0);
/* Speed over power with the bounds of its errors, which are those of the energies.  tools/draw draws it, too. */
function power_chart(place, pairs, width) {
  const both = pairs.flatMap(p => [p.ours, p.base]).filter(e => e);
  const speeds = both.map(e => tflops(e, e.us)), ends = both.map(e => [e.watts * (1 - Math.min(0.9, e.error)), e.watts * (1 + e.error)]);
  const view = frame(place, "Power", { least: Math.min(...ends.flat()) * 0.98, most: Math.max(...ends.flat()) * 1.02, title: "W" },
    { least: Math.min(...speeds) / 1.3, most: Math.max(...speeds) * 1.3, log: true, title: "TFLOP/s (logarithmic)" }, 380, width);
  both.forEach((e, i) => put(view.svg, "line", { class: "whisker", x1: view.px(ends[i][0]), x2: view.px(ends[i][1]), y1: view.py(speeds[i]), y2: view.py(speeds[i]) }));
  for (const p of pairs) if (p.ours && p.base) line(view, [[p.ours.watts, tflops(p.ours, p.ours.us)], [p.base.watts, tflops(p.base, p.base.us)]], "third dash");
  for (const p of pairs)
    for (const e of [p.base, p.ours])
      if (e) dot(view, e.watts, tflops(e, e.us), vendor(e) ? "base" : "ours", `${p.name}: ${vendor(e) ? "cuBLASLt" : "gemmtune"}, ${short(tflops(e, e.us))} TFLOP/s, ${cost(e)}`);
}
function speed_and_power() {
  const pairs = pairs_of(by_problem());
  if (!pairs.length) return;
  const box = section("Speed against power", "TFLOP/s over the mean power, of the fastest of ours and of cuBLASLt's answer; a broken line joins the two of a problem, "
    + "a level one is the bound of the error. Where both are at the power limit, only fewer joules make a product faster; where there is power left, the time goes elsewhere.");
  picture(box, place => power_chart(place, pairs));
  key(box, [["ours", "gemmtune"], ["base", "cuBLASLt"], ["third", "of one problem"]]);
  const cells = e => e ? [tflops(e, e.us), e.watts, e.mj, e.mhz || "-"] : ["-", "-", "-", "-"];
  table(box, "The same as a table", ["problem", "TFLOP/s", "W", "mJ", "MHz", "cuBLASLt TFLOP/s", "its W", "its mJ", "its MHz"], pairs.map(p => [p.name, ...cells(p.ours), ...cells(p.base)]));
}
