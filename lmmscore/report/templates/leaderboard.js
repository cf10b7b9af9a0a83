"use strict";
// One table at a time, sorted by any column, copied as text.
lmm.leaderboard = (() => {
  const { core, el, options, say, note } = lmm;
  const boards = [...document.querySelectorAll(".board")];
  const tools = document.getElementById("board-tools");
  const chosen = (name, otherwise) =>
    (tools.elements[name] ? tools.elements[name].value : otherwise);

  function distinct(run, key) {
    const found = new Map();
    for (const board of boards) {
      if (board.dataset.run === run) found.set(board.dataset[key], board.dataset[key + "Title"]);
    }
    return [...found];
  }

  function refill() {
    const run = chosen("run", "0");
    for (const key of ["task", "factor"]) {
      options(tools.elements[key], distinct(run, key), tools.elements[key].value);
    }
    show();
  }

  function current() {
    const [run, task, factor] = [chosen("run", "0"), chosen("task"), chosen("factor")];
    return boards.find((board) => board.dataset.run === run && board.dataset.task === task
      && board.dataset.factor === factor) || boards.find((board) => board.dataset.run === run);
  }

  function show() {
    for (const board of boards) board.hidden = board !== current();
    for (const part of document.querySelectorAll(".of-run")) {
      part.hidden = part.dataset.run !== chosen("run", "0");
    }
    lmm.scrollStops();
  }

  function reveal(id) {
    const board = boards.find((each) => each.id === id);
    if (!board) return null;
    if (tools.elements.run) tools.elements.run.value = board.dataset.run;
    for (const key of ["task", "factor"]) {
      options(tools.elements[key], distinct(board.dataset.run, key), board.dataset[key]);
    }
    show();
    return board;
  }

  function sort(table, head) {
    const place = [...head.parentElement.children].indexOf(head);
    const fresh = !head.hasAttribute("aria-sort");
    const down = head.getAttribute("aria-sort") === "ascending"
      || (fresh && !["rank", "method"].includes(head.dataset.sort));
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[place]), row]);
    // What has no figure stays at the end, whichever way the rest is sorted.
    rows.sort(([a], [b]) => {
      if (typeof a === "string") return sign * a.localeCompare(b, undefined, { numeric: true });
      return Number.isNaN(a) - Number.isNaN(b) || sign * (a - b) || 0;
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function key(cell) {
    const { value } = cell.dataset;
    return value === undefined ? cell.textContent : parseFloat(value);
  }

  async function copy(form) {
    const text = core.copies[current().id][form];
    const name = form === "latex" ? "LaTeX" : "Markdown";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { class: "copying", "aria-label": name }, text);
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) { say("This browser does not let a page copy."); return; }
    }
    say("Copied as " + name + ".");
  }

  for (const table of document.querySelectorAll("table.ranking")) {
    for (const head of table.querySelectorAll("th[data-sort]")) {
      const act = () => sort(table, head);
      head.replaceChildren(el("button", { type: "button", click: act }, head.textContent));
    }
    table.querySelector('th[data-sort="rank"]').setAttribute("aria-sort", "ascending");
    lmm.roving(table);
  }
  tools.addEventListener("change", (event) => {
    if (event.target.name === "run") refill();
    else show();
    note("#" + current().id);
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button.dataset.copy));
  }
  refill();
  return { reveal };
})();
