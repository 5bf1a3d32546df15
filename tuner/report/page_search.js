/* page_search.js - the sections of the page about searches: their course, parameters, distribution, failures, margins over
 * dates; and the call of them all.  The data and the sections about problems are those of page.js. */

/* What a turn's seconds went to; `work` has, for equal parts of the search, seconds of the GPU and of the compilers that
 * the trials took which ended in it. */
function draw_work(place, turn) {
  const end = turn.race, length = end / turn.work.length, most = Math.max(1, ...turn.work.flat().map(x => x / length)) * 1.05;
  const view = frame(place, "Work", { least: 0, most: end, title: "seconds" }, { least: 0, most, title: "at work, on average" }, 170);
  turn.work.forEach((pair, i) => pair.forEach((seconds, which) => {
    const at = seconds / length, left = view.px(i * length), step = view.px((i + 1) * length) - left, name = which ? "compilers" : "GPU";
    tells(put(view.svg, "rect", { class: which ? "third" : "ours", x: pixel(left + which * step / 2 + 0.5), y: view.py(at), width: pixel(Math.max(1, step / 2 - 1)), height: pixel(view.py(0) - view.py(at)) }),
      `${name}: ${short(seconds)} s of the ${short(length)} s after second ${short(i * length)}`);
  }));
}
function draw_course(place, turn) {
  const end = Math.max(turn.race, turn.steps[turn.steps.length - 1][0]) || 1, times = turn.steps.map(s => s[1]);
  const base = turn.base && turn.base <= Math.max(...times) * 1.5 ? [turn.base] : [], all = times.concat(base);
  const view = frame(place, "Course", { least: 0, most: end, title: "seconds" }, { least: Math.min(...all) * 0.95, most: Math.max(...all) * 1.05, log: true, title: "best so far, us" }, 300);
  const points = turn.steps.flatMap((s, j) => j ? [[s[0], turn.steps[j - 1][1]], [s[0], s[1]]] : [[s[0], s[1]]]);
  line(view, points.concat([[end, times[times.length - 1]]]), "ours");
  for (const us of base) line(view, [[0, us], [end, us]], "base dash");
  for (const s of turn.steps) dot(view, s[0], s[1], "ours", `${short(s[1])} us after ${short(s[0])} s and ${s[2]} trials`, 3);
  const spent = [["GPU at work", turn.busy, "ours"], ["GPU waiting for compilers", turn.race - turn.busy, "third"], ["finals", turn.seconds - turn.race, "base"]];
  /* Finalists have no part in it: it is only shown where the others are most of the work. */
  const known = (turn.work || []).reduce((sum, pair) => sum + pair[0], 0) > turn.busy / 2;
  if (known) draw_work(place, turn);
  if (turn.race) bars(place, "What the time went to", spent.map(([name, value, of]) => ({ name, value: Math.max(0, value), kind: of, text: `${name}: ${short(value)} of ${short(turn.seconds)} s` })), 0, " s");
  key(place, [["ours", "gemmtune; GPU"], ["third", "compilers; waiting for them"], ["base", "cuBLASLt; finals"]]);
  table(place, "Best so far as a table", ["seconds", "us", "trials"], turn.steps.map(s => [s[0], s[1], String(s[2])]));
  const work = (known ? turn.work : []).map((pair, i) => [`from ${short(i * turn.race / turn.work.length)} s`, ...pair]);
  if (turn.race) table(place, "What the time went to as a table", ["", "GPU s", "compilers s"], work.concat(spent.map(([name, value]) => [name, value, "-"])));
}
function course() {
  const turns = data.turns.filter(t => t.steps.length);
  if (!turns.length) return;
  const box = section("Course of a search", "The best time so far, over the seconds of a turn; the dashed line is cuBLASLt in its final. Below, how busy the GPU and the compilers were with the trials that ended meanwhile (without the finalists), where enough of it is known; then what the seconds went to.");
  const choices = put(box, "div", { class: "choices" });
  let turn = turns[0];
  const again = picture(box, place => draw_course(place, turn));
  choice(choices, "turn", turns.map(t => `${named(t)}, ${t.date.slice(0, 16).replace("T", " ")}, ${t.kernels}`), i => { turn = turns[i]; again(); });
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
/* Numbers by their size, words by their letters. */
const ascending = (x, y) => typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
const percent = x => x < 0.1 ? "< 0.1" : short(x);
/* The best time at each pair of values of two parameters {name, p}, p their place among the names. */
function heat(place, rows, a, b) {
  const values = w => unique(rows.map(r => r[w.p + 2])).sort(ascending), xs = values(a), ys = values(b);
  const left = Math.max(52, 12 + Math.max(...ys.concat(b.name).map(y => breadth(String(y))))), width = wide();
  const step = Math.min(76, (width - left - 4) / xs.length), high = 28, top = 22, cells = [];
  const bests = ys.map(y => xs.map(x => Math.min(...rows.filter(r => r[a.p + 2] === x && r[b.p + 2] === y).map(r => r[1]))));
  const known = bests.flat().filter(isFinite), least = Math.min(...known), most = Math.max(...known);
  const shade = us => (0.6 - 0.52 * (most > least ? Math.log(us / least) / Math.log(most / least) : 0)).toFixed(2);
  put(place, "p", {}, `The best time, in us, with ${a.name} to the right and ${b.name} downwards: the darkest is the best of these, the lightest the worst. What is empty was not tried, or never came to a time.`);
  const svg = put(place, "svg", { viewBox: `0 0 ${width} ${top + ys.length * high + 40}`, role: "group", "aria-label": "Heat map" });
  put(svg, "text", { class: "soft", x: left - 8, y: 14, "text-anchor": "end" }, b.name);
  ys.forEach((y, j) => {
    put(svg, "text", { x: left - 8, y: top + j * high + 18, "text-anchor": "end" }, String(y));
    xs.forEach((x, i) => {
      const best = bests[j][i], at = pixel(left + i * step), of = rows.filter(r => r[a.p + 2] === x && r[b.p + 2] === y);
      if (!of.length) return;
      cells.push([String(x), String(y), best, String(of.length)]);
      tells(put(svg, "rect", { class: "ours cell", x: at, y: top + j * high, width: pixel(step - 2), height: high - 2, "fill-opacity": shade(best) }),
        `${a.name} ${x}, ${b.name} ${y}: best ${short(best)} us of ${of.length} trial${of.length === 1 ? "" : "s"}`);
      if (step >= 44) put(svg, "text", { class: "under", x: pixel(at + step / 2 - 1), y: top + j * high + 18, "text-anchor": "middle" }, short(best));
    });
  });
  const every = Math.ceil(Math.max(...xs.map(x => 7 * String(x).length + 8)) / step);
  xs.forEach((x, i) => i % every || put(svg, "text", { x: pixel(left + i * step + step / 2 - 1), y: top + ys.length * high + 14, "text-anchor": "middle" }, String(x)));
  put(svg, "text", { class: "soft", x: pixel(left + xs.length * step / 2), y: top + ys.length * high + 32, "text-anchor": "middle" }, a.name);
  table(place, "The heat map as a table", [a.name, b.name, "best us", "trials"], cells);
}
function draw_slice(place, rows, a) {
  const values = [...a.values].sort(ascending).map(v => {
    const of = rows.filter(t => t[a.p + 2] === v).map(t => t[1]);
    return { v, best: Math.min(...of), trials: of.length };
  });
  bars(place, "Slice", values.map(s => ({ name: `${a.name} = ${s.v}`, value: s.best, kind: "ours", text: `${a.name} = ${s.v}: best ${short(s.best)} us of ${s.trials} trials` })), 0, " us");
  table(place, "The best times as a table", [a.name, "best us", "trials"], values.map(s => [String(s.v), s.best, String(s.trials)]));
}
const space_name = s => `${named(s)}, ${s.kernel}` + (devices.length > 1 ? `, ${s.device}` : "") + (s.provenance && s.provenance !== "measured" ? ` (${s.provenance})` : "");
function parameters() {
  const spaces = data.spaces.map(s => ({ ...s, ok: s.trials.filter(t => t[0] === OK && t[1] > 0) })).filter(s => s.ok.length > 5);
  for (const s of spaces)
    s.weights = s.names.map((name, p) => ({ name, p, value: importance(s.ok, p + 2), values: unique(s.ok.map(t => t[p + 2])) }))
      .filter(w => w.values.length > 1).sort((x, y) => y.value - x.value);
  const varied = spaces.filter(s => s.weights.length).sort((x, y) => y.ok.length - x.ok.length);
  if (!varied.length) return;
  const box = section("Parameters", "How much of the spread of (logarithmic) times each parameter explains by itself, the best time at each of its values, and any two of them against each other. Only what was tried is known.");
  const choices = put(box, "div", { class: "choices" });
  let s = varied[0], a = 0, b = 1;
  const first = picture(box, place => {
    bars(place, "Importance", s.weights.map(w => ({ name: w.name, value: 100 * w.value, kind: "third", text: `${w.name}: ${percent(100 * w.value)} % of the spread, ${w.values.length} values tried` })), 0, " %");
    table(place, "The importance as a table", ["parameter", "% of the spread", "values tried"], s.weights.map(w => [w.name, percent(100 * w.value), String(w.values.length)]));
  });
  const picks = put(box, "div");
  const second = picture(box, place => {
    draw_slice(place, s.ok, s.weights[a]);
    if (s.weights[b] && a !== b) heat(place, s.ok, s.weights[a], s.weights[b]);
    else if (s.weights.length > 1) put(place, "p", {}, "Choose two different parameters for a heat map.");
  });
  const offer = () => {
    const row = put(picks, "div", { class: "choices" }), names = s.weights.map(w => w.name);
    choice(row, "parameter", names, i => { a = i; second(); });
    if (names.length > 1) choice(row, "against", names, i => { b = i; second(); }).value = b;
  };
  offer();
  choice(choices, "space", varied.map(v => `${space_name(v)}: ${v.ok.length} times`), i => {
    [s, a, b] = [varied[i], 0, 1];
    picks.textContent = "";
    offer();
    first();
    second();
  });
}

function distribution() {
  const best = new Map(), slow = [], of = s => [s.problem, s.device, s.provenance, s.timing].join("\n");
  const times = data.spaces.flatMap(s => s.trials.filter(t => t[0] === OK && t[1] > 0).map(t => [of(s), t[1]]));
  for (const [name, us] of times) best.set(name, Math.min(best.get(name) || Infinity, us));
  for (const [name, us] of times) slow.push(us / best.get(name));
  if (slow.length < 10) return;
  const box = section("Distribution", "All trials that came to a time, by how many times as long they take as the best of their problem.");
  const edges = [1, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, Infinity];
  const rows = edges.slice(0, -1).map((e, i) => ({ name: edges[i + 1] === Infinity ? `${e} and more` : `${e} to ${edges[i + 1]}`, value: slow.filter(x => x >= e && x < edges[i + 1]).length, kind: "third" }));
  for (const r of rows) r.text = `${r.name} times the best: ${r.value} of ${slow.length} trials`;
  picture(box, place => bars(place, "Distribution", rows, 0, ""));
  table(box, "The same as a table", ["times the best", "trials"], rows.map(r => [r.name, String(r.value)]));
}

function failures() {
  const count = by => {
    const sums = new Map();
    for (const s of data.spaces) for (const t of s.trials) if (t[0] !== OK) sums.set(by(s, t), (sums.get(by(s, t)) || 0) + 1);
    return [...sums].sort((a, b) => b[1] - a[1]);
  };
  const ways = [count((s, t) => data.statuses[t[0]]), count((s, t) => s.kernel + ": " + data.statuses[t[0]])];
  if (!ways[0].length) return;
  const box = section("Failed trials", "Trials by status: a failure is a result, too, and its cause stands in the database (`tune export --all --format json`).");
  const choices = put(box, "div", { class: "choices" });
  let rows = ways[0];
  const again = picture(box, place => {
    bars(place, "Failures", rows.slice(0, 60).map(([name, value]) => ({ name, value, kind: "base", text: `${name}: ${value} trials` })), 0, "");
    table(place, "The same as a table", ["status", "trials"], rows.map(([name, value]) => [name, String(value)]));
  });
  choice(choices, "by", ["status", "kernel and status"], i => { rows = ways[i]; again(); });
}

/* Steps of a time axis, in milliseconds: the first one that makes at most six ticks. */
function time_axis(dates) {
  const minute = 6e4, hour = 60 * minute, day = 24 * hour, pad = 1000 + 0.02 * (Math.max(...dates) - Math.min(...dates)), least = Math.min(...dates) - pad, most = Math.max(...dates) + pad;
  const step = [1e3, 5e3, 1e4, 3e4, minute, 2 * minute, 5 * minute, 15 * minute, hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 30 * day, 90 * day, 365 * day]
    .find(s => (most - least) / s <= (wide() < NARROW ? 4 : 8)) || 3650 * day, at = [];
  for (let x = Math.ceil(least / step) * step; x <= most; x += step) at.push(x);
  const iso = x => new Date(x).toISOString();
  return { least, most, at, title: "UTC" + (step < day ? ", from " + iso(least).slice(0, 10) : ""), name: x => step < minute ? iso(x).slice(11, 19) : step < day ? iso(x).slice(11, 16) : iso(x).slice(0, 10) };
}
function margins() {
  const turns = data.turns.filter(t => t.us > 0 && t.base > 0);
  if (turns.length < 2) return;
  const box = section("Margins over dates", "cuBLASLt's time over the winner's, in the finals of each turn, by the date on which it ended.");
  const dates = turns.map(t => Date.parse(t.date)), all = turns.map(t => t.base / t.us);
  picture(box, place => {
    const view = frame(place, "Margins", time_axis(dates), { least: Math.min(...all, 1) / 1.05, most: Math.max(...all, 1) * 1.05, log: true, title: "ratio (logarithmic)" }, 280);
    put(view.svg, "line", { class: "mark", x1: view.left, x2: view.width - view.right, y1: view.py(1), y2: view.py(1) });
    turns.forEach((t, i) => dot(view, dates[i], all[i], "ours", `${named(t)}: ${short(all[i])} at ${t.date}`, 3));
  });
  table(box, "The same as a table", ["problem", "date", "ratio", "us", "cuBLASLt us"], turns.map((t, i) => [named(t), t.date, all[i], t.us, t.base]));
}

/* Files of tune recheck: how much slower the best other of each winner is, by the date. */
function rechecks() {
  const files = data.rechecks || [], rows = files.flatMap(f => f.winners.filter(w => w.margin !== undefined).map(w => ({ ...w, date: f.date, at: Date.parse(f.date) })));
  if (!rows.length) return;
  const box = section("Rechecks", "Stored winners timed again beside the best others of their problems: how much slower the best other was. Below 0 it was faster; a winner that lost by more than the tolerance is marked.");
  picture(box, place => {
    const all = rows.flatMap(w => [100 * w.margin]), view = frame(place, "Rechecks", time_axis(rows.map(w => w.at)), { least: Math.min(-1, ...all) * 1.1, most: Math.max(1, ...all) * 1.1, title: "margin, %" }, 280);
    put(view.svg, "line", { class: "mark", x1: view.left, x2: view.width - view.right, y1: view.py(0), y2: view.py(0) });
    for (const w of rows) dot(view, w.at, 100 * w.margin, w.verdict === "lost" ? "base" : "ours", `${w.problem}: ${w.verdict}, ${short(100 * w.margin)} % [${short(100 * w.margin_lo)}, ${short(100 * w.margin_hi)}] at ${w.date}`, 3);
  });
  key(box, [["ours", "held"], ["base", "lost"]]);
  table(box, "The same as a table", ["problem", "date", "verdict", "margin %", "low %", "high %", "us", "stored us"], rows.map(w => [w.problem, w.date, w.verdict, 100 * w.margin, 100 * w.margin_lo, 100 * w.margin_hi, w.us || "-", w.stored_us]));
}

if (data.compared.length || data.spaces.length)
  for (const draw of [facts, winners, ratios, rows_of_m, fronts, speed_and_power, rechecks, () => fold("How it was found"), roofline, course, parameters, distribution, failures, margins]) draw();
else put(document.getElementById("page"), "p", {}, "The database has no trial yet.");
document.body.dataset.ready = String(document.querySelectorAll("section").length);
