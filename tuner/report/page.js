/* page.js - the sections of the page about problems and their times, from the data that tune put into it; page_energy.js
 * has those about energy, page_search.js those about searches.  Times are microseconds. */
const data = JSON.parse(document.getElementById("data").textContent);
const OK = data.statuses.indexOf("ok");
const type = row => row.dtype + (row.accuracy === "f32" ? " (accuracy f32)" : row.accuracy === "strict" && row.dtype !== "f32" ? " (strict)" : "");
/* What was timed otherwise than with a cold L2 says so. */
const named = row => row.problem + (row.timing && row.timing !== "cold" ? ` (${row.timing})` : "");
/* `compared` has measured times alone; only the trials of spaces may be predicted or replayed. */
const rivals = data.compared.filter(row => row.base > 0);
const against = row => row.base ? `, cuBLASLt ${short(tflops(row, row.base))}` : "";
const speed = row => `${named(row)}: ${short(tflops(row, row.us))} TFLOP/s${against(row)}`;

/* Devices, dates, drivers and compilers of the rows: what the heading and the first line say. */
const devices = unique(data.compared.concat(data.spaces).map(row => row.device));
function heading() {
  const made = new Date(data.made).toISOString(), problems = unique(data.compared.concat(data.spaces).map(row => row.problem)).length;
  const drivers = unique(data.compared.map(row => row.driver).filter(x => x)).sort().map(x => `${Math.floor(x / 1000)}.${x % 1000 / 10}`);
  const title = `gemmtune on ${devices.length > 2 ? devices.length + " devices" : devices.join(" and ")}`;
  document.title = `${title}, ${made.slice(0, 10)}`;
  document.querySelector("h1").textContent = title;
  return `${problems} problem${problems === 1 ? "" : "s"}; ${devices.join(", ")}; made ${made.slice(0, 16).replace("T", " ")} UTC by gemmtune ${[16, 8, 0].map(shift => data.version >> shift & 255).join(".")}`
    + (drivers.length ? `; CUDA of the driver ${drivers.join(", ")}` : "") + ".";
}
function facts() {
  const line_of_title = heading(), box = section("Summary");
  const grid = put(box, "div", { class: "facts" });
  const fact = (value, text) => { const d = put(grid, "div"); put(d, "b", {}, value); put(d, "span", {}, text); };
  const sum = (list, of) => list.reduce((total, x) => total + of(x), 0), race = sum(data.turns, t => t.race);
  if (rivals.length) {
    fact(short(geometric(rivals.map(r => r.base / r.us))) + " ×", "as fast as cuBLASLt, geometric mean of " + rivals.length);
    fact(`${rivals.filter(r => r.base < r.us).length} of ${rivals.length}`, "below 1: cuBLASLt is faster");
  }
  fact(String(data.compared.length), data.compared.length === 1 ? "problem with a measured time" : "problems with a measured time");
  fact(String(sum(data.spaces, s => s.trials.length)), "trials");
  const seconds = sum(data.turns, t => t.seconds);
  if (data.turns.length) fact(seconds < 60 ? short(seconds) + " s" : short(seconds / 60) + " min", "of tuning");
  if (race) fact(short(100 * sum(data.turns, t => t.busy) / race) + " %", "of the searches' time the GPU was at work");
  put(box, "p", {}, line_of_title);
  for (const kind of ["predicted", "replayed"]) {
    const count = sum(data.spaces.filter(s => s.provenance === kind), s => s.trials.length);
    if (count) put(box, "p", {}, `${count} of the trials were ${kind}, not measured: they are compared with nothing.`);
  }
  if (data.left) says(box, `${data.left} problems, turns and trials are left out, for a page that a browser opens: \`tune report -p\` and \`--shapes\` choose others.`);
  if (rivals.length) by_type(box);
}
/* The best trial of each problem and device whose times were predicted or replayed, as rows like those that were measured. */
function guessed() {
  const best = new Map();
  for (const s of data.spaces.filter(space => ["predicted", "replayed"].includes(space.provenance)))
    for (const t of s.trials.filter(trial => trial[0] === OK && trial[1] > 0)) {
      const name = [s.problem, s.device, s.provenance].join("\n");
      if (!best.has(name) || t[1] < best.get(name).us) best.set(name, { ...s, us: t[1], point: s.names.map((n, i) => `${n}=${t[i + 2]}`).join(",") });
    }
  return [...best.values()];
}
/* What a reader came for: the fastest kernel of each problem, those that were only predicted or replayed marked. */
function winners() {
  const rows = data.compared.map(r => ({ ...r, provenance: "measured" })).concat(guessed());
  if (!rows.length) return;
  const box = section("Winners", "The fastest kernel of each problem. `tune lookup` gives the same answer to a program."
    + (rows.some(r => r.provenance === "predicted") ? " A predicted time is the estimate of a model: it may be a quarter off." : ""));
  const about = r => r.provenance === "measured" ? short(r.us) : `${short(r.us)} (${r.provenance})`;
  table(box, "Problems", ["problem", "us", "TFLOP/s", "times cuBLASLt", "kernel"].concat(devices.length > 1 ? ["device"] : [], ["point"]),
    rows.map(r => [named(r), about(r), r.flops ? tflops(r, r.us) : "-", r.base ? (r.base / r.us).toFixed(3) : "-", r.kernel]
      .concat(devices.length > 1 ? [r.device] : [], [r.point])), rows.length <= 60);
}
function by_type(box) {
  const groups = unique(rivals.map(type)).map(name => ({ name, points: rivals.filter(r => type(r) === name)
    .map(r => ({ value: r.base / r.us, text: `${named(r)}: ${short(r.base / r.us)}` })) }));
  put(box, "p", {}, "cuBLASLt's time over ours: each dot is a problem, the bar is the geometric mean. Right of the line, ours is faster.");
  picture(box, place => strips(place, "Ratios by type", groups, "times as fast as cuBLASLt (logarithmic)"));
  table(box, "By type", ["type", "problems", "geometric mean", "least", "most", "below 1"], groups.map(group => {
    const values = group.points.map(point => point.value);
    return [group.name, String(values.length), geometric(values).toFixed(3), Math.min(...values), Math.max(...values), String(values.filter(x => x < 1).length)];
  }));
}

const saved = r => r.base - r.us;
/* Ours is faster, slower, or its interval has cuBLASLt's time in it. */
const kind = r => r.hi && r.lo <= r.base && r.hi >= r.base ? "third" : r.base >= r.us ? "ours" : "base";
function ratios() {
  if (!rivals.length) return;
  const most = 150, weighted = rivals.some(r => r.weight !== 1);
  const total = by => rivals.reduce((sum, r) => sum + by(r) * r.weight, 0), share = 100 * total(saved) / total(r => r.base);
  const box = section("Ratios to cuBLASLt", "cuBLASLt's time over ours, or the time that a call saves; the line across a bar is the 95 % interval of our time. "
    + `${weighted ? "By the weights of the problems" : "If each is called as often"}, cuBLASLt's time becomes ${Math.abs(share).toFixed(1)} % ${share < 0 ? "longer" : "shorter"}.`);
  const choices = put(box, "div", { class: "choices" });
  const ends = 10, by_ratio = [...rivals].sort((a, b) => b.base / b.us - a.base / a.us);
  const sorted = by => [...rivals].sort((a, b) => by(b) - by(a)).slice(0, most);
  const told = r => `${named(r)}: ${short(r.us)} us [${short(r.lo)}, ${short(r.hi)}] against ${short(r.base)}, ${short(tflops(r, r.us))} TFLOP/s, ${r.kernel} ${r.point}`;
  const ratio = r => ({ name: named(r), value: r.base / r.us, lo: r.hi ? r.base / r.hi : 0, hi: r.lo ? r.base / r.lo : 0, kind: kind(r), text: told(r) });
  const time = weight => r => ({ name: named(r), value: Math.abs(saved(r)) * weight(r), kind: kind(r),
    text: `${told(r)}: ${saved(r) < 0 ? "loses" : "saves"} ${short(Math.abs(saved(r)))} us a call, weight ${r.weight}` });
  const shows = [["ratio", () => by_ratio.slice(0, most).map(ratio), 1, ""],
    ["ratio, by name", () => [...rivals].sort((a, b) => a.problem.localeCompare(b.problem)).slice(0, most).map(ratio), 1, ""],
    ["time saved by a call", () => sorted(saved).map(time(() => 1)), 0, " us"],
    ["time saved, weighted", () => sorted(r => saved(r) * r.weight).map(time(r => r.weight)), 0, " us"]].slice(0, weighted ? 4 : 3);
  if (rivals.length > 2 * ends) shows.unshift([`ratio: best and worst ${ends}`, () => by_ratio.slice(0, ends).concat(by_ratio.slice(-ends)).map(ratio), 1, ""]);
  let now = shows[0];
  const again = picture(box, place => bars(place, now[0], now[1](), now[2], now[3]));
  choice(choices, "show", shows.map(s => s[0]), i => { now = shows[i]; again(); });
  key(box, [["ours", "faster"], ["base", "slower"], ["third", "not told apart"]]);
  if (rivals.length > most) put(box, "p", {}, `The first ${most} of ${rivals.length}; the table has all.`);
  table(box, "The same as a table", ["problem", "us", "TFLOP/s", "ratio", "kernel", "low", "high", "cuBLASLt us", "saved us", "weight", "weighted us", "untuned us", "error u", "its error u", "point"],
    by_ratio.map(r => [named(r), r.us, tflops(r, r.us), r.base / r.us, r.kernel, r.lo, r.hi, r.base, saved(r), String(r.weight), saved(r) * r.weight, r.untuned || "-", r.err, r.base_err || "-", r.point]));
}

/* What a calibration says that products of these types reach at most, in TFLOP/s: mma or wgmma, whichever is faster. */
function peaks(device, rows) {
  const name = r => r.dtype === "f32" ? (r.accuracy === "strict" ? "fma" : "tf32") : r.dtype[0] === "e" ? "f8" : r.dtype;
  return unique(rows.map(name)).map(n => [n, Math.max(device[n] || 0, device["mma_" + n] || 0, device["wgmma_" + n] || 0)])
    .filter(top => top[1] > 0).sort((a, b) => b[1] - a[1]);
}
function draw_roofline(place, device, rows) {
  const xs = rows.map(r => r.flops / r.bytes), ys = rows.flatMap(r => [tflops(r, r.us)].concat(r.base ? [tflops(r, r.base)] : []));
  const tops = peaks(device, rows), low = Math.min(...xs) / 1.5, high = Math.max(...xs) * 1.5, floor = Math.min(...ys) / 1.5;
  const most = Math.max(...ys, ...tops.map(t => t[1])) * 1.3, slope = (device.copy || 0) * 1e-3;
  const view = frame(place, "Roofline", { least: low, most: high, log: true, title: "operations by byte" }, { least: floor, most, log: true, title: "TFLOP/s" }, 420);
  const a = Math.max(low, floor / slope), b = Math.min(high, most / slope);
  if (slope && a < b) {
    line(view, [[a, a * slope], [b, b * slope]], "third dash");
    const low_end = a * (b / a) ** 0.15;
    put(view.svg, "text", { class: "soft", x: view.px(low_end) + 8, y: view.py(low_end * slope) + 12 }, `copy ${short(device.copy)} GB/s`);
  }
  let label = null, before = -100;
  for (const [name, value] of tops) {
    line(view, [[low, value], [high, value]], "third dash");
    if (view.py(value) - before < 14) { label.textContent += `, ${name} ${short(value)}`; continue; }
    before = view.py(value);
    label = put(view.svg, "text", { class: "soft", x: view.left + 6, y: before - 4 }, `${name} ${short(value)}`);
  }
  for (const r of rows) {
    const x = r.flops / r.bytes;
    if (r.base) {
      line(view, [[x, tflops(r, r.us)], [x, tflops(r, r.base)]], "base");
      put(view.svg, "line", { class: "base", x1: view.px(x) - 4, x2: view.px(x) + 4, y1: view.py(tflops(r, r.base)), y2: view.py(tflops(r, r.base)) });
    }
    dot(view, x, tflops(r, r.us), "ours", `${speed(r)}, ${short(x)} operations by byte`);
  }
}
function roofline() {
  const all = data.compared.filter(r => r.flops > 0 && r.bytes > 0);
  if (!all.length) return;
  const device = data.devices.find(d => all.some(r => r.device === d.name)), types = unique(all.map(type));
  const box = section("Roofline", "Operations by byte that has to be moved against speed. A dot is ours; the end of its line is cuBLASLt. "
    + (device ? `Dashed: what the device reached when it was calibrated${device.date && ` (${device.date.slice(0, 10)})`}.` : "`tune doctor --calibrate` measures the device's ceilings, which are missing here."));
  const choices = put(box, "div", { class: "choices" });
  let rows = all;
  const again = picture(box, place => draw_roofline(place, device || {}, rows));
  if (types.length > 1) choice(choices, "type", ["all"].concat(types), i => { rows = i ? all.filter(r => type(r) === types[i - 1]) : all; again(); });
  key(box, [["ours", "gemmtune"], ["base", "cuBLASLt"]].concat(device ? [["third", "ceilings"]] : []));
  table(box, "The same as a table", ["problem", "operations by byte", "TFLOP/s", "cuBLASLt"], all.map(r => [named(r), r.flops / r.bytes, tflops(r, r.us), r.base ? tflops(r, r.base) : "-"]));
  if (device) table(box, "The ceilings", ["figure", "value"], Object.entries(device).filter(([, value]) => typeof value === "number"));
}

function draw_rows(place, rows) {
  const speeds = rows.flatMap(r => [tflops(r, r.us)].concat(r.base ? [tflops(r, r.base)] : []));
  const view = frame(place, "Rows", { least: Math.max(1, rows[0].m) / 1.1, most: rows[rows.length - 1].m * 1.1, log: true, title: "m" }, { least: 0, most: Math.max(...speeds) * 1.1, title: "TFLOP/s" }, 320);
  line(view, rows.map(r => [r.m, tflops(r, r.us)]), "ours");
  const with_base = rows.filter(r => r.base);
  line(view, with_base.map(r => [r.m, tflops(r, r.base)]), "base dash");
  for (const r of rows) dot(view, r.m, tflops(r, r.us), "ours", speed(r));
}
function rows_of_m() {
  const groups = new Map();
  for (const r of data.compared) {
    const name = `n ${r.n}, k ${r.k}, ${type(r)} ${r.layout}` + (r.batch > 1 ? `, batch ${r.batch}` : "") + (r.timing && r.timing !== "cold" ? `, ${r.timing}` : "");
    groups.set(name, (groups.get(name) || []).concat(r));
  }
  const names = [...groups.keys()].filter(name => unique(groups.get(name).map(r => r.m)).length > 2).sort((a, b) => groups.get(b).length - groups.get(a).length);
  if (!names.length) return;
  const box = section("Speed over rows", "TFLOP/s over the number of rows m, n and k fixed: of groups with three or more of them.");
  const choices = put(box, "div", { class: "choices" });
  let i = 0;
  const rows = () => groups.get(names[i]).sort((a, b) => a.m - b.m);
  const draws = [picture(box, place => draw_rows(place, rows()))];
  key(box, [["ours", "gemmtune"], ["base", "cuBLASLt"]]);
  draws.push(picture(box, place => table(place, "The same as a table", ["m", "TFLOP/s", "cuBLASLt"], rows().map(r => [String(r.m), tflops(r, r.us), r.base ? tflops(r, r.base) : "-"]))));
  choice(choices, "group", names, chosen => { i = chosen; draws.forEach(again => again()); });
}
