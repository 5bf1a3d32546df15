/* compare.js - the sections of a comparison of two databases. */
const data = JSON.parse(document.getElementById("data").textContent);
const both = data.pairs.filter(p => p.ratio > 0);
const kinds = { faster: "ours", slower: "base", same: "third", ambiguous: "third" };

(function () {
  const box = section("Summary", `A is ${data.a}, B is ${data.b}. A ratio is A's time over B's: above 1, B is faster. Times that differ by less than ${short(100 * (data.noise - 1))} % count as the same.`);
  const grid = put(box, "div", { class: "facts" });
  for (const [name, count] of Object.entries(data.verdicts)) {
    const fact = put(grid, "div");
    put(fact, "b", {}, String(count));
    put(fact, "span", {}, name);
  }
  if (data.geometric_mean) {
    const fact = put(grid, "div");
    put(fact, "b", {}, data.geometric_mean.toFixed(3));
    put(fact, "span", {}, "geometric mean of " + both.length + " ratios");
  }
})();
(function () {
  const box = section("Ratios", "The line across a bar is the interval of the ratio, from the ends of both intervals.");
  const rows = [...both].sort((x, y) => x.ratio - y.ratio).slice(0, 200);
  if (rows.length) bars(box, "Ratios", rows.map(p => ({ name: p.problem, value: p.ratio, lo: p.lo, hi: p.hi, kind: kinds[p.verdict],
    text: `${p.problem} on ${p.device || "any device"}: ${p.verdict}, ${short(p.a.us)} us of ${p.a.kernel} against ${short(p.b.us)} us of ${p.b.kernel}` })), 1, "");
  key(box, [["ours", "faster"], ["base", "slower"], ["third", "same or ambiguous"]]);
  const side = s => s ? [s.us, s.kernel, s.point, String(s.driver), String(s.nvrtc)] : ["-", "-", "-", "-", "-"];
  table(box, "All of them as a table", ["problem", "device", "verdict", "ratio", "low", "high", "A us", "A kernel", "A point", "A driver", "A nvrtc", "B us", "B kernel", "B point", "B driver", "B nvrtc", "kernel's text"],
    data.pairs.map(p => [p.problem, p.device, p.verdict, p.ratio || "-", p.lo || "-", p.hi || "-", ...side(p.a), ...side(p.b),
      p.a && p.b && p.a.kernel === p.b.kernel ? (p.a.signature === p.b.signature ? "the same" : "another") : "-"]));
})();
document.body.dataset.ready = String(document.querySelectorAll("section").length);
