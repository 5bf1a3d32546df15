"use strict";
/* charts.js - the shapes of which page.js, compare.js and tools/pictures make pictures.  Foreign texts only become text
 * nodes.  Lengths are CSS pixels. */
const SVG = "http://www.w3.org/2000/svg";
const NARROW = 560; /* below it, names stand above their bars */
const PIECE = 25; /* bars in a picture: pages of paper end between pictures */
function put(parent, name, attributes, text) {
  const inside = parent.namespaceURI === SVG || name === "svg";
  const node = inside ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
const geometric = list => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);
const unique = list => [...new Set(list)];
/* About how many pixels a text of a picture is wide. */
const breadth = text => [...text].reduce((sum, c) => sum + (/[A-Z_%]/.test(c) ? 8.6 : 7.1), 0);
const tflops = (row, us) => row.flops / us * 1e-6;
const pixel = x => Math.round(x * 10) / 10;
function short(x) {
  if (!isFinite(x)) return "-";
  const size = Math.abs(x);
  if (size >= 1e5 || (size && size < 1e-3)) return x.toExponential(2);
  return size >= 100 ? x.toFixed(0) : size >= 10 ? x.toFixed(1) : x.toFixed(2);
}

/* Pictures are drawn for the width that there is, and again when it changes; paper is narrower than most windows. */
const drawn = [];
let width_of_paper = 0, width_before = 0;
const wide = () => Math.max(280, Math.min(1100, width_of_paper || document.getElementById("page").clientWidth || 900));
function picture(box, draw) {
  const place = put(box, "div");
  const again = () => { place.textContent = ""; draw(place); };
  drawn.push(again);
  again();
  return again;
}
function redraw(paper) {
  width_of_paper = paper;
  if (wide() === width_before) return;
  width_before = wide();
  for (const again of drawn) again();
}
addEventListener("resize", () => redraw(0));
addEventListener("beforeprint", () => redraw(690));
addEventListener("afterprint", () => redraw(0));

/* A point tells its values to the mouse, to the keyboard and to screen readers.  A picture is one stop of the Tab key;
 * arrows, Home and End go from point to point, Escape hides what a point tells. */
function tells(node, text) {
  const tip = document.getElementById("tip");
  const show = () => { tip.textContent = text; tip.hidden = false; };
  const hide = () => { tip.hidden = true; };
  node.setAttribute("tabindex", node.ownerSVGElement.querySelector("[tabindex]") ? "-1" : "0");
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", text);
  node.addEventListener("mouseenter", show);
  node.addEventListener("focus", show);
  node.addEventListener("mouseleave", hide);
  node.addEventListener("blur", hide);
  node.addEventListener("keydown", go);
}
function go(event) {
  const points = [...event.currentTarget.ownerSVGElement.querySelectorAll("[tabindex]")], at = points.indexOf(event.currentTarget);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: points.length - 1 }[event.key];
  if (event.key === "Escape") document.getElementById("tip").hidden = true;
  if (to === undefined) return;
  event.preventDefault();
  if (!points[to]) return;
  points[at].setAttribute("tabindex", "-1");
  points[to].setAttribute("tabindex", "0");
  points[to].focus();
}
/* A paragraph; what stands between backquotes is a command, which is never broken. */
function says(box, text) {
  const paragraph = put(box, "p");
  text.split("`").forEach((piece, i) => i % 2 ? put(paragraph, "code", {}, piece) : paragraph.appendChild(document.createTextNode(piece)));
}
/* Where sections are put: the page, or what `fold` has begun. */
let home = document.getElementById("page");
/* A part of the page that is closed at first: what follows is put into it.  Links to its sections and paper open it. */
function fold(title) {
  const details = put(document.getElementById("page"), "details", { class: "fold" });
  put(details, "summary", {}, title);
  home = put(details, "div");
  const open = () => { details.open = true; };
  addEventListener("beforeprint", open);
  addEventListener("hashchange", () => { if (details.querySelector(":target")) { open(); details.querySelector(":target").scrollIntoView(); } });
}
function section(title, about) {
  const name = title.toLowerCase().replace(/[^a-z]+/g, "-");
  const box = put(home, "section", { id: name });
  put(box, "h2", {}, title);
  if (about) says(box, about);
  put(document.getElementById("contents"), "a", { href: "#" + name }, title);
  return box;
}
function key(box, entries) {
  const list = put(box, "div", { class: "key" });
  for (const [color, text] of entries) {
    const item = put(list, "span");
    put(item, "i", { style: "background:var(--" + color + ")" });
    item.appendChild(document.createTextNode(text));
  }
}
function table(box, title, heads, rows, open) {
  const details = put(box, "details", open ? { open: "" } : {});
  put(details, "summary", {}, `${title} (${rows.length} row${rows.length === 1 ? "" : "s"})`);
  const grid = put(put(details, "div", { class: "wide", tabindex: "0", role: "region", "aria-label": title }), "table");
  const head = put(put(grid, "thead"), "tr");
  for (const text of heads) put(head, "th", { scope: "col" }, text);
  const body = put(grid, "tbody");
  for (const row of rows) {
    const line = put(body, "tr");
    for (const cell of row) put(line, "td", {}, typeof cell === "number" ? short(cell) : cell);
  }
}
function choice(box, title, texts, changed) {
  const select = put(put(box, "label", {}, title), "select", { "aria-label": title });
  texts.forEach((text, i) => put(select, "option", { value: i }, text));
  select.addEventListener("change", () => changed(Number(select.value)));
  return select;
}

/* Ticks of an axis: 1, 2, 5 and their tens; on a logarithmic one whole powers, with others between them if they are few;
 * even steps where a logarithmic axis is too short for three of those. */
function ticks(least, most, log) {
  let list = [];
  if (log) {
    const decades = Math.log10(most / least);
    for (let e = Math.floor(Math.log10(least)); e <= Math.ceil(Math.log10(most)); e++)
      for (const f of decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 3, 5, 7]) list.push(Number((f * 10 ** e).toPrecision(12)));
    list = list.filter(x => x >= least * 0.999 && x <= most * 1.001);
    if (list.length > 2) return list;
    list = [];
  }
  const rough = (most - least) / 5 || 1, ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * ten).find(s => s >= rough * 0.999);
  for (let i = Math.ceil(least / step - 1e-6); i * step <= most + step * 1e-6; i++) list.push(Number((i * step).toPrecision(12)));
  return list;
}
const tick_name = x => Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? x.toExponential(0) : String(Number(x.toPrecision(4)));
/* The place of a value on an axis {least, most, log}: 0 at its beginning, 1 at its end. */
const part = (axis, value) => axis.most === axis.least ? 0.5 : axis.log
  ? Math.log(value / axis.least) / Math.log(axis.most / axis.least)
  : (value - axis.least) / (axis.most - axis.least);

/* Ticks below a picture: `from` and `to` are the ends of the axis in pixels, y its lower edge, top that of its lines.
 * axis: {least, most, log, title}; at: the ticks, if they are chosen; name(tick); mark: the tick that is drawn strong. */
function axis_below(svg, axis, from, to, top, y) {
  let last = -100;
  for (const tick of axis.at || ticks(axis.least, axis.most, axis.log)) {
    const x = pixel(from + part(axis, tick) * (to - from)), name = axis.name ? axis.name(tick) : tick_name(tick);
    put(svg, "line", { class: tick === axis.mark ? "mark" : "axis", x1: x, x2: x, y1: top, y2: y });
    if (x - last < 14 + 7 * name.length || x + 3.6 * name.length > to + 14) continue;
    last = x;
    put(svg, "text", { x, y: y + 16, "text-anchor": "middle" }, name);
  }
  put(svg, "text", { class: "soft", x: pixel((from + to) / 2), y: y + 34, "text-anchor": "middle" }, axis.title);
}
/* A frame with two axes.  x, y: {least, most, log, title, name}; px(x), py(y) give a place in pixels. */
function frame(box, title, x, y, height, width = wide()) {
  const left = 52, bottom = 42, top = 26, right = 14;
  const svg = put(box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title });
  const px = value => pixel(left + part(x, value) * (width - left - right));
  const py = value => pixel(height - bottom - part(y, value) * (height - bottom - top));
  for (const tick of ticks(y.least, y.most, y.log)) {
    put(svg, "line", { class: "axis", x1: left, x2: width - right, y1: py(tick), y2: py(tick) });
    put(svg, "text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end" }, y.name ? y.name(tick) : tick_name(tick));
  }
  axis_below(svg, x, left, width - right, top, height - bottom);
  put(svg, "text", { class: "soft", x: 4, y: 14 }, y.title);
  return { svg, px, py, width, height, left, bottom, top, right };
}
function dot(view, x, y, kind, text, size) {
  tells(put(view.svg, "circle", { class: kind, cx: view.px(x), cy: view.py(y), r: size || 4 }), text);
}
function line(view, points, kind) {
  put(view.svg, "polyline", { class: kind + " path", points: points.map(p => view.px(p[0]) + "," + view.py(p[1])).join(" ") });
}
/* A text on a ground of its own, so that no line of the picture runs through its letters. */
function label_above(svg, y, text) {
  put(svg, "rect", { class: "ground", x: 2, y: y - 12, width: pixel(breadth(text) + 6), height: 15 });
  put(svg, "text", { x: 4, y }, text);
}
/* Horizontal bars: rows of {name, value, lo, hi, kind, text}.  They begin at 0, or with `mark` (a ratio that says nothing)
 * at the mark on a logarithmic axis, to the left of it where the value is less. */
function bars(box, title, rows, mark, unit) {
  const width = wide(), narrow = width < NARROW, lead = narrow ? 16 : 0, step = 20 + lead;
  const from = narrow ? 4 : Math.min(width * 0.42, Math.max(60, Math.max(...rows.map(row => breadth(row.name))) + 14));
  const ends = rows.flatMap(row => [row.value, row.lo || row.value, row.hi || row.value]);
  const axis = { log: mark > 0, least: mark ? Math.min(mark / 1.05, ...ends) : 0, most: Math.max(mark * 1.05, ...ends) || 1 };
  const px = value => pixel(from + part(axis, value) * (width - from - 62)), zero = px(mark || 0);
  let svg;
  rows.forEach((row, place) => {
    const i = place % PIECE;
    if (!i) {
      const height = Math.min(PIECE, rows.length - place) * step;
      svg = put(box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title });
      if (mark) put(svg, "line", { class: "mark", x1: zero, x2: zero, y1: 0, y2: height });
    }
    const y = i * step + 4 + lead, x = px(row.value);
    let label = row.name;
    const room = narrow ? width - 8 : from - 10;
    if (breadth(label) > room) {
      while (breadth(label) > room - 8) label = label.slice(0, -1);
      label += "…";
    }
    if (narrow) label_above(svg, y - 4, label);
    else put(svg, "text", { x: from - 8, y: y + 12, "text-anchor": "end" }, label);
    tells(put(svg, "rect", { class: row.kind, x: Math.min(x, zero), y, width: pixel(Math.max(1, Math.abs(x - zero))), height: 14 }), row.text);
    if (row.hi) put(svg, "line", { class: "whisker", x1: px(row.lo), x2: px(row.hi), y1: y + 7, y2: y + 7 });
    put(svg, "text", { x: Math.max(zero, px(row.hi || row.value), x) + 5, y: y + 12 }, (mark ? row.value.toFixed(3) : Number.isInteger(row.value) ? row.value : short(row.value)) + (unit || ""));
  });
}
/* Strips: a row of dots for each group {name, points: [{value, text}]} on a logarithmic axis, with their geometric mean.
 * Dots lie on five lines in turn, so that equal values do not hide each other. */
function strips(box, title, groups, axis_title, width = wide()) {
  const narrow = width < NARROW, step = narrow ? 66 : 50, from = narrow ? 10 : 260, to = width - 20, top = 8, bottom = top + groups.length * step;
  const all = groups.flatMap(group => group.points.map(point => point.value));
  const axis = { log: true, mark: 1, least: Math.min(0.9, ...all) / 1.03, most: Math.max(1.2, ...all) * 1.03, title: axis_title };
  const svg = put(box, "svg", { viewBox: `0 0 ${width} ${bottom + 42}`, role: "group", "aria-label": title });
  const px = value => pixel(from + part(axis, value) * (to - from));
  axis_below(svg, axis, from, to, top, bottom);
  groups.forEach((group, row) => {
    const mean = geometric(group.points.map(point => point.value)), y = top + row * step + (narrow ? 44 : 25);
    const count = `${group.points.length} problem${group.points.length === 1 ? "" : "s"}`;
    if (narrow) {
      label_above(svg, y - 26, `${group.name}: ${count}`);
      put(svg, "rect", { class: "ground", x: width - 44, y: y - 38, width: 42, height: 15 });
    } else {
      put(svg, "text", { x: 4, y: y - 1 }, group.name);
      put(svg, "text", { class: "soft", x: 4, y: y + 15 }, count);
    }
    put(svg, "text", { class: "strong", x: narrow ? width - 4 : from - 12, y: narrow ? y - 26 : y + 5, "text-anchor": "end" }, mean.toFixed(3));
    put(svg, "line", { class: "base mean", x1: px(mean), x2: px(mean), y1: y - 18, y2: y + 18 });
    group.points.forEach((point, i) => tells(put(svg, "circle", { class: "ours half", cx: px(point.value), cy: y + (i * 2 % 5 - 2) * 6, r: 4 }), point.text));
  });
}
