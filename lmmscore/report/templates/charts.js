"use strict";
// A dot in a chart says what it stands for, and leads to it.
(() => {
  const { core, el, figure } = lmm;
  const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  const NEAR = 9;

  function nearest(svg, points, event) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    let best = null;
    let least = NEAR * NEAR;
    for (const point of points) {
      const far = (point[0] - x) ** 2 + (point[1] - y) ** 2;
      if (far < least) { least = far; best = point; }
    }
    return best;
  }

  function link(chart, point) {
    const run = core.runs[chart.run];
    const item = core.items[chart.run].find((each) => each.id === point[4]);
    if (!item) return "";
    const place = Math.max(run.method_ids.indexOf(point[5]), 0);
    return "#edit-" + item.slug + "--" + run.method_slugs[place];
  }

  function describe(chart, point) {
    const run = core.runs[chart.run];
    const method = run.methods[run.method_ids.indexOf(point[5])] || point[5];
    const [x, y] = chart.labels;
    return [el("strong", {}, point[4] + (method ? " · " + method : "")), el("br"),
      x + " " + figure(point[2]) + ", " + y + " " + figure(point[3])];
  }

  function place(event) {
    const room = document.documentElement.clientWidth - tip.offsetWidth - 12;
    tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + "px";
    tip.style.top = event.clientY + 16 + "px";
  }

  for (const holder of document.querySelectorAll("[data-chart]")) {
    const chart = core.charts[holder.dataset.chart];
    if (!chart) continue;
    const svg = holder.querySelector("svg");
    svg.classList.add("live");
    svg.addEventListener("pointermove", (event) => {
      const point = nearest(svg, chart.points, event);
      tip.hidden = !point;
      svg.classList.toggle("over", Boolean(point));
      if (!point) return;
      tip.replaceChildren(...describe(chart, point));
      place(event);
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.addEventListener("click", (event) => {
      const point = nearest(svg, chart.points, event);
      const to = point && link(chart, point);
      if (to) { tip.hidden = true; location.hash = to; }
    });
  }
})();
