/* page.js - the sections of the page, from the data that tune put into it.  Times are microseconds. */
const data = JSON.parse(document.getElementById("data").textContent);
const tflops = (row, us) => row.flops / us * 1e-6;
const OK = data.statuses.indexOf("ok");
const type = row => row.dtype + (row.accuracy && row.accuracy !== "strict" ? ", accuracy " + row.accuracy : "");
const rivals = data.compared.filter(row => row.base > 0);

function facts() {
  const box = section("Summary");
  const grid = put(box, "div", { class: "facts" });
  const fact = (value, text) => { const d = put(grid, "div"); put(d, "b", {}, value); put(d, "span", {}, text); };
  fact(String(data.compared.length), "problems with a measured time");
  fact(String(data.spaces.reduce((sum, s) => sum + s.trials.length, 0)), "trials");
  if (rivals.length) fact(short(geometric(rivals.map(r => r.base / r.us))) + " ×", "as fast as cuBLASLt, geometric mean of " + rivals.length);
  fact(short(data.turns.reduce((sum, t) => sum + t.seconds, 0) / 60) + " min", "of tuning");
  const race = data.turns.reduce((sum, t) => sum + t.race, 0);
  if (race) fact(short(100 * data.turns.reduce((sum, t) => sum + t.busy, 0) / race) + " %", "of the searches' time the GPU was at work");
  put(box, "p", {}, unique(data.compared.concat(data.spaces).map(r => r.device)).join(", ") + "; made " + new Date(data.made).toISOString().slice(0, 16).replace("T", " ") + " UTC");
  const guessed = data.spaces.filter(s => s.provenance !== "measured").reduce((sum, s) => sum + s.trials.length, 0);
  if (guessed) put(box, "p", {}, guessed + " of these trials were predicted or replayed, not measured: they count in no comparison, and their spaces say so.");
  const rows = unique(rivals.map(type)).map(t => {
    const of = rivals.filter(r => type(r) === t), ratios = of.map(r => r.base / r.us);
    return [t, of.length, geometric(ratios), Math.min(...ratios), Math.max(...ratios), ratios.filter(x => x < 1).length];
  });
  if (rows.length) table(box, "By type", ["type", "problems", "geometric mean", "least", "most", "below 1"], rows);
}

function ratios() {
  if (!rivals.length) return;
  const box = section("Ratios to cuBLASLt", "cuBLASLt's time over ours: right of the dashed line ours is faster. The line across a bar is the 95 % interval of our time.");
  const choices = put(box, "div", { class: "choices" });
  const place = put(box, "div");
  const saved = r => (r.base - r.us) * r.weight, weighted = rivals.some(r => r.weight !== 1);
  const orders = [["ratio", r => r.base / r.us], ["time saved by a call", r => r.base - r.us], ["weighted time saved", saved], ["name", null]];
  const draw = i => {
    place.textContent = "";
    const by = orders[i][1];
    const rows = [...rivals].sort((a, b) => by ? by(b) - by(a) : a.problem.localeCompare(b.problem)).slice(0, 150);
    bars(place, "Ratios", rows.map(r => ({ name: r.problem, value: r.base / r.us, lo: r.hi ? r.base / r.hi : 0, hi: r.lo ? r.base / r.lo : 0,
      kind: r.base >= r.us ? "ours" : "base",
      text: `${r.problem}: ${short(r.us)} us [${short(r.lo)}, ${short(r.hi)}] against ${short(r.base)}, ${short(tflops(r, r.us))} TFLOP/s, ${r.kernel} ${r.point}` })), 1, "");
  };
  choice(choices, "sorted by", orders.map(o => o[0]), draw).value = 0;
  draw(0);
  table(box, "The same as a table", ["problem", "us", "low", "high", "cuBLASLt us", "ratio", "saved us", weighted ? "weighted" : "weight", "untuned us", "error u", "its error u", "kernel", "point"],
    rivals.map(r => [r.problem, r.us, r.lo, r.hi, r.base, r.base / r.us, r.base - r.us, weighted ? saved(r) : r.weight, r.untuned || "-", r.err, r.base_err || "-", r.kernel, r.point]));
}

function roofline() {
  const rows = data.compared.filter(r => r.flops > 0 && r.bytes > 0);
  if (!rows.length) return;
  const box = section("Roofline", "Work by byte that has to be moved against speed. A dot is ours; the end of its line is cuBLASLt. The lines are what the device reached when it was calibrated (tune doctor --calibrate).");
  const device = data.devices.find(d => rows.some(r => r.device === d.name)) || {};
  const xs = rows.map(r => r.flops / r.bytes), ys = rows.flatMap(r => [tflops(r, r.us)].concat(r.base ? [tflops(r, r.base)] : []));
  const peaks = ["fma", "mma_tf32", "wgmma_tf32", "mma_bf16", "wgmma_bf16", "mma_f16", "wgmma_f16"].filter(p => device[p]);
  const used = peaks.filter(p => rows.some(r => r.dtype === p.split("_")[1] || (p === "fma" && r.dtype === "f32")));
  const most = Math.max(...ys, ...used.map(p => device[p])) * 1.3;
  const view = frame(box, "Roofline", { least: Math.min(...xs) / 1.5, most: Math.max(...xs) * 1.5, log: true, title: "flops a byte" },
    { least: Math.min(...ys) / 1.5, most, log: true, title: "TFLOP/s" }, 420);
  const low = Math.min(...xs) / 1.5, high = Math.max(...xs) * 1.5, floor = Math.min(...ys) / 1.5;
  if (device.copy) {
    const slope = device.copy * 1e-3, a = Math.max(low, floor / slope), b = Math.min(high, most / slope);
    if (a < b) line(view, [[a, a * slope], [b, b * slope]], "third dash");
  }
  for (const p of used) {
    line(view, [[low, device[p]], [high, device[p]]], "third dash");
    put(view.svg, "text", { class: "soft", x: view.width - view.right - 4, y: view.py(device[p]) - 4, "text-anchor": "end" }, p + " " + short(device[p]));
  }
  for (const r of rows) {
    const x = r.flops / r.bytes;
    if (r.base) {
      line(view, [[x, tflops(r, r.us)], [x, tflops(r, r.base)]], "base");
      put(view.svg, "line", { class: "base", x1: view.px(x) - 4, x2: view.px(x) + 4, y1: view.py(tflops(r, r.base)), y2: view.py(tflops(r, r.base)) });
    }
    dot(view, x, tflops(r, r.us), "ours", `${r.problem}: ${short(tflops(r, r.us))} TFLOP/s` + (r.base ? `, cuBLASLt ${short(tflops(r, r.base))}` : "") + `, ${short(x)} flops a byte`);
  }
  key(box, [["ours", "gemmtune"], ["base", "cuBLASLt"]].concat(device.copy || used.length ? [["third", "ceilings"]] : []));
  table(box, "The same as a table", ["problem", "flops a byte", "TFLOP/s", "cuBLASLt"], rows.map(r => [r.problem, r.flops / r.bytes, tflops(r, r.us), r.base ? tflops(r, r.base) : "-"]));
}

function rows_of_m() {
  const groups = new Map();
  for (const r of data.compared) {
    const name = `n ${r.n}, k ${r.k}, ${type(r)} ${r.layout}` + (r.batch > 1 ? `, batch ${r.batch}` : "");
    groups.set(name, (groups.get(name) || []).concat(r));
  }
  const names = [...groups.keys()].filter(name => unique(groups.get(name).map(r => r.m)).length > 2);
  if (!names.length) return;
  const box = section("Rows", "Speed over the number of rows m, n and k fixed: of groups with three or more of them.");
  const place = put(box, "div");
  const choices = put(box, "div", { class: "choices" });
  box.insertBefore(choices, place);
  const draw = i => {
    place.textContent = "";
    const rows = groups.get(names[i]).sort((a, b) => a.m - b.m), speeds = rows.flatMap(r => [tflops(r, r.us)].concat(r.base ? [tflops(r, r.base)] : []));
    const view = frame(place, "Rows", { least: Math.max(1, rows[0].m), most: rows[rows.length - 1].m, log: true, title: "m" }, { least: 0, most: Math.max(...speeds) * 1.1, title: "TFLOP/s" }, 320);
    line(view, rows.map(r => [r.m, tflops(r, r.us)]), "ours");
    if (rows.every(r => r.base)) line(view, rows.map(r => [r.m, tflops(r, r.base)]), "base dash");
    for (const r of rows) dot(view, r.m, tflops(r, r.us), "ours", `${r.problem}: ${short(tflops(r, r.us))} TFLOP/s` + (r.base ? `, cuBLASLt ${short(tflops(r, r.base))}` : ""));
    key(place, [["ours", "gemmtune"], ["base", "cuBLASLt"]]);
    table(place, "The same as a table", ["m", "TFLOP/s", "cuBLASLt"], rows.map(r => [String(r.m), tflops(r, r.us), r.base ? tflops(r, r.base) : "-"]));
  };
  choice(choices, "group", names, draw);
  draw(0);
}

function course() {
  const turns = data.turns.filter(t => t.steps.length);
  if (!turns.length) return;
  const box = section("Course of a search", "The best time so far, over the seconds of a turn. Below, what part of the search the GPU was at work; the rest it waited for compilers.");
  const choices = put(box, "div", { class: "choices" }), place = put(box, "div");
  const draw = i => {
    place.textContent = "";
    const t = turns[i], end = Math.max(t.race, t.steps[t.steps.length - 1][0]) || 1, times = t.steps.map(s => s[1]);
    const low = Math.min(...times, t.base || Infinity), view = frame(place, "Course", { least: 0, most: end, title: "seconds" }, { least: low * 0.95, most: Math.max(...times) * 1.05, log: true, title: "us" }, 300);
    const points = t.steps.flatMap((s, j) => j ? [[s[0], t.steps[j - 1][1]], [s[0], s[1]]] : [[s[0], s[1]]]);
    line(view, points.concat([[end, times[times.length - 1]]]), "ours");
    if (t.base && t.base <= Math.max(...times) * 1.05) line(view, [[0, t.base], [end, t.base]], "base dash");
    for (const s of t.steps) dot(view, s[0], s[1], "ours", `${short(s[1])} us after ${short(s[0])} s and ${s[2]} trials`, 3);
    if (t.race) bars(place, "What the time went to", [{ name: "GPU at work", value: 100 * t.busy / t.race, kind: "ours", text: `${short(t.busy)} of ${short(t.race)} s` },
      { name: "GPU waiting", value: 100 - 100 * t.busy / t.race, kind: "third", text: `${short(t.race - t.busy)} s, for candidates to be compiled` },
      { name: "finals", value: 100 * (t.seconds - t.race) / t.race, kind: "base", text: `${short(t.seconds - t.race)} s after the search` }], 0, " %");
    table(place, "The same as a table", ["seconds", "us", "trials"], t.steps.map(s => [s[0], s[1], String(s[2])]));
  };
  choice(choices, "turn", turns.map(t => `${t.problem}, ${t.kernels}, ${t.date}`), draw);
  draw(0);
}

/* The part of the spread of log times that the means over a parameter's values explain. */
function importance(rows, at) {
  const all = rows.map(r => Math.log(r[1])), mean = all.reduce((s, x) => s + x, 0) / all.length;
  const total = all.reduce((s, x) => s + (x - mean) ** 2, 0), by = new Map();
  rows.forEach((r, i) => by.set(r[at], (by.get(r[at]) || []).concat(all[i])));
  let between = 0;
  for (const list of by.values()) between += list.length * (list.reduce((s, x) => s + x, 0) / list.length - mean) ** 2;
  return total > 0 ? between / total : 0;
}
function heat(box, rows, names, a, b) {
  const xs = unique(rows.map(r => r[a + 2])).sort((x, y) => x - y), ys = unique(rows.map(r => r[b + 2])).sort((x, y) => x - y);
  const width = wide(), left = 62, step = Math.min(64, (width - left - 10) / xs.length), high = 26, least = Math.min(...rows.map(r => r[1]));
  const svg = put(box, "svg", { viewBox: `0 0 ${width} ${ys.length * high + 44}`, role: "group", "aria-label": "Heat map" });
  ys.forEach((y, j) => {
    put(svg, "text", { x: left - 6, y: j * high + 17, "text-anchor": "end" }, String(y));
    xs.forEach((x, i) => {
      const of = rows.filter(r => r[a + 2] === x && r[b + 2] === y).map(r => r[1]), best = Math.min(...of);
      if (!of.length) return;
      const cell = put(svg, "rect", { x: left + i * step, y: j * high, width: step - 2, height: high - 2, fill: "var(--ours)", "fill-opacity": Math.max(0.06, Math.min(1, 2 - best / least)) });
      tells(cell, `${names[a]} ${x}, ${names[b]} ${y}: best ${short(best)} us of ${of.length} trials`);
    });
  });
  xs.forEach((x, i) => put(svg, "text", { x: left + i * step + step / 2, y: ys.length * high + 14, "text-anchor": "middle" }, String(x)));
  put(svg, "text", { class: "soft", x: left, y: ys.length * high + 36 }, `${names[a]} to the right, ${names[b]} downwards; the darker, the closer to the best`);
}
function parameters() {
  const spaces = data.spaces.map(s => ({ ...s, ok: s.trials.filter(t => t[0] === OK && t[1] > 0) })).filter(s => s.ok.length > 5);
  if (!spaces.length) return;
  const box = section("Parameters", "How much of the spread of (logarithmic) times each parameter explains by itself, the best time at each of its values, and any two of them against each other. Only what was tried is known.");
  const choices = put(box, "div", { class: "choices" }), place = put(box, "div");
  const draw = i => {
    place.textContent = "";
    const s = spaces[i], weights = s.names.map((name, p) => ({ name, p, value: importance(s.ok, p + 2), values: unique(s.ok.map(t => t[p + 2])) }))
      .filter(w => w.values.length > 1).sort((x, y) => y.value - x.value);
    if (!weights.length) return;
    bars(place, "Importance", weights.map(w => ({ name: w.name, value: 100 * w.value, kind: "third", text: `${w.name}: ${short(100 * w.value)} % of the spread, ${w.values.length} values tried` })), 0, " %");
    const pick = put(place, "div", { class: "choices" }), slice = put(place, "div"), map = put(place, "div");
    let a = 0, b = Math.min(1, weights.length - 1);
    const again = () => {
      slice.textContent = map.textContent = "";
      const w = weights[a], values = [...w.values].sort((x, y) => x - y);
      const best = values.map(v => Math.min(...s.ok.filter(t => t[w.p + 2] === v).map(t => t[1])));
      bars(slice, "Slice", values.map((v, j) => ({ name: `${w.name} = ${v}`, value: best[j], kind: "ours", text: `${w.name} = ${v}: best ${short(best[j])} us` })), 0, " us");
      table(slice, "The same as a table", [w.name, "best us"], values.map((v, j) => [String(v), best[j]]));
      if (a !== b) heat(map, s.ok, s.names, w.p, weights[b].p);
    };
    choice(pick, "parameter", weights.map(w => w.name), v => { a = v; again(); });
    choice(pick, "against", weights.map(w => w.name), v => { b = v; again(); }).value = b;
    again();
  };
  choice(choices, "space", spaces.map(s => `${s.problem}, ${s.kernel} (${s.ok.length}${s.provenance === "measured" ? "" : ", " + s.provenance})`), draw);
  draw(0);
}

function distribution() {
  const best = new Map(), slow = [];
  for (const s of data.spaces) for (const t of s.trials) if (t[0] === OK && t[1] > 0) best.set(s.problem + s.device, Math.min(best.get(s.problem + s.device) || Infinity, t[1]));
  for (const s of data.spaces) for (const t of s.trials) if (t[0] === OK && t[1] > 0) slow.push(t[1] / best.get(s.problem + s.device));
  if (slow.length < 10) return;
  const box = section("Distribution", "All right trials, by how much slower they are than the best of their problem.");
  const edges = [1, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, Infinity];
  const rows = edges.slice(0, -1).map((e, i) => ({ name: edges[i + 1] === Infinity ? `${e} and more` : `${e} to ${edges[i + 1]}`, value: slow.filter(x => x >= e && x < edges[i + 1]).length, kind: "third" }));
  for (const r of rows) r.text = `${r.name} times the best: ${r.value} of ${slow.length} trials`;
  bars(box, "Distribution", rows, 0, "");
  table(box, "The same as a table", ["times the best", "trials"], rows.map(r => [r.name, String(r.value)]));
}

function failures() {
  const count = new Map();
  for (const s of data.spaces) for (const t of s.trials) if (t[0] !== OK) { const name = s.kernel + ": " + data.statuses[t[0]]; count.set(name, (count.get(name) || 0) + 1); }
  if (!count.size) return;
  const box = section("What did not become a time", "Trials by kernel and status: a failure is a result, too, and its cause stands in the database (tune export --all).");
  const rows = [...count].sort((a, b) => b[1] - a[1]).slice(0, 60).map(([name, value]) => ({ name, value, kind: "base", text: `${name}: ${value} trials` }));
  bars(box, "Failures", rows, 0, "");
  table(box, "The same as a table", ["kernel: status", "trials"], rows.map(r => [r.name, String(r.value)]));
}

function margins() {
  const turns = data.turns.filter(t => t.us > 0 && t.base > 0);
  if (turns.length < 2) return;
  const box = section("Margins over time", "cuBLASLt's time over the winner's, in the finals of each turn, by the date on which it ended.");
  const dates = turns.map(t => Date.parse(t.date)), all = turns.map(t => t.base / t.us), span = Math.max(...dates) - Math.min(...dates);
  const view = frame(box, "Margins", { least: Math.min(...dates), most: Math.max(...dates) + 1, title: "UTC", name: x => new Date(x).toISOString().slice(...(span > 2e8 ? [5, 10] : [11, 16])) },
    { least: Math.min(...all, 1) * 0.97, most: Math.max(...all, 1) * 1.03, title: "ratio" }, 280);
  line(view, [[Math.min(...dates), 1], [Math.max(...dates) + 1, 1]], "base dash");
  turns.forEach((t, i) => dot(view, dates[i], all[i], "ours", `${t.problem}: ${short(all[i])} at ${t.date}`, 3));
  table(box, "The same as a table", ["problem", "date", "ratio", "us", "cuBLASLt us"], turns.map((t, i) => [t.problem, t.date, all[i], t.us, t.base]));
}

if (data.compared.length || data.spaces.length)
  for (const draw of [facts, ratios, roofline, rows_of_m, course, parameters, distribution, failures, margins]) draw();
else put(document.getElementById("page"), "p", {}, "The database has no trial yet.");
document.body.dataset.ready = String(document.querySelectorAll("section").length);
