/* draw.js - the charts of documents, made of the shapes of charts.js; tools/draw puts it behind them.  `data` is what the
 * function of the chart's name in tools/draw returns.  The file's picture is the svg with the id out. */
const data = JSON.parse(document.getElementById("data").textContent), box = document.getElementById("page");
function begin(width, height) {
  const out = put(document.body, "svg", { id: "out", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  put(out, "title", {}, data.title);
  put(out, "rect", { class: "back", width, height, rx: 8 });
  put(out, "text", { class: "strong", x: 16, y: 26 }, data.title);
  put(out, "text", { class: "soft", x: 16, y: 44 }, data.about);
  return out;
}
/* Moves the picture that was drawn last into the file's; what a point tells becomes its title. */
function take(out, x, y) {
  const drawn = box.querySelector("svg"), group = put(out, "g", { transform: `translate(${x} ${y})` });
  group.append(...drawn.childNodes);
  drawn.remove();
  for (const node of group.querySelectorAll("[aria-label]")) {
    put(node, "title", {}, node.getAttribute("aria-label"));
    for (const name of ["aria-label", "tabindex", "role"]) node.removeAttribute(name);
  }
}
function draw_ratios() {
  const out = begin(920, 104 + data.groups.length * 50);
  strips(box, "Ratios", data.groups, "times as fast as cuBLASLt (logarithmic)", 888);
  take(out, 16, 54);
}
function draw_curves() {
  const out = begin(920, 560), hue = i => data.names[i] === "random" ? "stroke:#888;stroke-dasharray:5 4" : `stroke:hsl(${Math.round(i * 330 / data.names.length)} 60% 50%)`;
  const panel = (x, title, axis, least, columns, at, rings) => {
    const view = frame(box, title, axis, { least, most: 1, title }, 360, 440);
    data.names.forEach((name, i) => {
      line(view, columns[i].map((y, j) => [at[j], Math.max(least, y)]), "plain");
      view.svg.lastChild.setAttribute("style", hue(i) + (i ? "" : ";stroke-width:3.5"));
    });
    for (const [at_x, at_y, text] of rings) dot(view, at_x, at_y, "ring", text, 3);
    take(out, x, 54);
  };
  panel(10, "share of the optimum", { least: 1, most: 400, log: true, title: "evaluations (logarithmic)" }, 0.6, data.share, data.evaluations, data.published);
  panel(466, "score: 0 is random search, 1 the optimum", { least: 50, most: 95, title: "% of the way from the median to the optimum" }, -0.4, data.score, data.way, []);
  data.names.concat("published, others' spaces").forEach((name, i) => {
    const x = 24 + 300 * (i % 3), y = 440 + 24 * Math.floor(i / 3);
    if (i < data.names.length) put(out, "line", { style: `${hue(i)};stroke-width:4`, x1: x, x2: x + 22, y1: y - 4, y2: y - 4 });
    else put(out, "circle", { class: "ring", cx: x + 11, cy: y - 4, r: 4 });
    put(out, "text", { x: x + 30, y }, name);
  });
}
/* The chart of the page's section, of page_energy.js. */
function draw_power() {
  const out = begin(920, 500);
  power_chart(box, pairs_of(by_problem()), 888);
  take(out, 16, 54);
  [["ours", "gemmtune"], ["base", "cuBLASLt's best answer"]].forEach(([kind, name], i) => {
    put(out, "circle", { class: kind, cx: 30 + 200 * i, cy: 480, r: 5 });
    put(out, "text", { x: 44 + 200 * i, y: 484 }, name);
  });
}
