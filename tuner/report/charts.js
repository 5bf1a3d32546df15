"use strict";
/* charts.js - the shapes of which page.js makes its pictures.  Foreign texts only become text nodes. */
const SVG = "http://www.w3.org/2000/svg";
function put(parent, name, attributes, text) {
  const inside = parent.namespaceURI === SVG || name === "svg";
  const node = inside ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
const wide = () => Math.max(300, Math.min(1100, document.getElementById("page").clientWidth || 900));
const geometric = list => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);
const unique = list => [...new Set(list)];
function short(x) {
  if (!isFinite(x)) return "-";
  const size = Math.abs(x);
  if (size >= 1e5 || (size && size < 1e-3)) return x.toExponential(2);
  return size >= 100 ? x.toFixed(0) : size >= 10 ? x.toFixed(1) : x.toFixed(2);
}
/* A point tells its values to the mouse, to the keyboard and to screen readers. */
function tells(node, text) {
  const tip = document.getElementById("tip");
  const show = () => { tip.textContent = text; tip.hidden = false; };
  const hide = () => { tip.hidden = true; };
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", text);
  node.addEventListener("mouseenter", show);
  node.addEventListener("focus", show);
  node.addEventListener("mouseleave", hide);
  node.addEventListener("blur", hide);
}
function section(title, about) {
  const box = put(document.getElementById("page"), "section", { id: title.toLowerCase().replace(/[^a-z]+/g, "-") });
  put(box, "h2", {}, title);
  if (about) put(box, "p", {}, about);
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
function table(box, title, heads, rows) {
  const details = put(box, "details");
  put(details, "summary", {}, title + " (" + rows.length + " rows)");
  const grid = put(put(details, "div", { class: "wide" }), "table");
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
/* Ticks of an axis: 1, 2, 5 and their tens; on a logarithmic one whole powers, with 2 and 5 if few. */
function ticks(least, most, log) {
  const list = [];
  if (log) {
    const decades = Math.log10(most / least);
    for (let e = Math.floor(Math.log10(least)); e <= Math.ceil(Math.log10(most)); e++)
      for (const f of decades > 3 ? [1] : [1, 2, 5]) list.push(f * 10 ** e);
  } else {
    const rough = (most - least) / 5 || 1, ten = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(f => f * ten).find(s => s >= rough);
    for (let x = Math.ceil(least / step) * step; x <= most + step * 1e-6; x += step) list.push(x);
  }
  return list.filter(x => x >= least * (log ? 0.999 : 1) - 1e-12 && x <= most * 1.001 + 1e-12);
}
/* A frame with two axes.  x, y: {least, most, log, title, name}; at(x, y) gives a place in pixels. */
function frame(box, title, x, y, height) {
  const width = wide(), left = 62, bottom = 42, top = 12, right = 14;
  const svg = put(box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title });
  const part = (axis, value) => axis.most === axis.least ? 0.5 : axis.log
    ? Math.log(value / axis.least) / Math.log(axis.most / axis.least)
    : (value - axis.least) / (axis.most - axis.least);
  const px = value => left + part(x, value) * (width - left - right);
  const py = value => height - bottom - part(y, value) * (height - bottom - top);
  let last = -100;
  for (const tick of ticks(x.least, x.most, x.log)) {
    put(svg, "line", { class: "axis", x1: px(tick), x2: px(tick), y1: top, y2: height - bottom });
    if (px(tick) - last < 38) continue;
    last = px(tick);
    put(svg, "text", { x: px(tick), y: height - bottom + 16, "text-anchor": "middle" }, x.name ? x.name(tick) : short(tick));
  }
  for (const tick of ticks(y.least, y.most, y.log)) {
    put(svg, "line", { class: "axis", x1: left, x2: width - right, y1: py(tick), y2: py(tick) });
    put(svg, "text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end" }, short(tick));
  }
  put(svg, "text", { class: "soft", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x.title);
  put(svg, "text", { class: "soft", x: 4, y: top + 2, "text-anchor": "start", transform: `rotate(-90 12 ${height / 2}) translate(-60 ${height / 2 - top})` }, y.title);
  return { svg, px, py, width, height, left, bottom, top, right };
}
function dot(view, x, y, kind, text, size) {
  tells(put(view.svg, "circle", { class: kind, cx: view.px(x), cy: view.py(y), r: size || 4 }), text);
}
function line(view, points, kind) {
  put(view.svg, "polyline", { class: kind + " path", style: "fill:none", points: points.map(p => view.px(p[0]) + "," + view.py(p[1])).join(" ") });
}
/* Horizontal bars: rows of {name, value, lo, hi, kind, text}; with a mark at `mark`. */
function bars(box, title, rows, mark, unit) {
  const width = wide(), name = Math.min(width * 0.42, 330), step = 20, height = rows.length * step + 26;
  const most = Math.max(...rows.map(row => row.hi || row.value), mark || 0) * 1.06 || 1;
  const svg = put(box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title });
  const px = value => name + value / most * (width - name - 46);
  rows.forEach((row, i) => {
    const y = i * step + 4;
    const fit = Math.floor(name / 7.1), label = row.name.length > fit ? row.name.slice(0, fit - 1) + "…" : row.name;
    put(svg, "text", { x: name - 6, y: y + 12, "text-anchor": "end" }, label);
    tells(put(svg, "rect", { class: row.kind, x: name, y, width: Math.max(1, px(row.value) - name), height: step - 6 }), row.text);
    if (row.hi) put(svg, "line", { stroke: "var(--text)", x1: px(row.lo), x2: px(row.hi), y1: y + 7, y2: y + 7 });
    put(svg, "text", { x: px(row.hi || row.value) + 4, y: y + 12 }, (Number.isInteger(row.value) ? row.value : short(row.value)) + (unit || ""));
  });
  if (mark) put(svg, "line", { class: "base dash", x1: px(mark), x2: px(mark), y1: 0, y2: height - 20 });
  return svg;
}
