"use strict";
// One edit in full: beside its source, wiped, blinking or subtracted, zoomed and moved in step.
lmm.viewer = (() => {
  const { core, el, address, fullAddress, picture, figure, options, words, note } = lmm;
  const dialog = document.getElementById("viewer");
  const stage = dialog.querySelector(".stage");
  const [left, right] = stage.querySelectorAll(".pane");
  const part = (name) => document.getElementById("viewer-" + name);
  const MODES = ["side", "wipe", "blink", "difference"];
  const BLINK_MS = 700;
  const state = { run: 0, item: null, edit: null, mode: "side", zoom: 1, x: 0, y: 0, timer: 0 };
  let opened = false;

  const runOf = () => core.runs[state.run];
  const nameOf = (edit) => runOf().methods[edit.method];
  const link = (item, edit) => "#edit-" + item.slug + "--" + runOf().method_slugs[edit.method];

  function find(name) {
    for (let run = 0; run < core.items.length; run += 1) {
      for (const item of core.items[run]) {
        if (!name.startsWith(item.slug + "--")) continue;
        const method = core.runs[run].method_slugs.indexOf(name.slice(item.slug.length + 2));
        const edit = item.edits.find((each) => each.method === method);
        if (edit) return { run, item, edit };
      }
    }
    return null;
  }

  function open(name, parameters) {
    const found = find(name);
    if (!found) return false;
    Object.assign(state, found);
    if (!opened) Object.assign(state, { zoom: 1, x: 0, y: 0 });
    const mode = parameters.get("mode");
    if (MODES.includes(mode)) state.mode = mode;
    draw();
    if (!dialog.open) {
      dialog.showModal();
      opened = true;
    }
    return true;
  }

  function close() {
    stopBlinking();
    opened = false;
    dialog.close();
  }

  dialog.addEventListener("close", () => {
    opened = false;
    stopBlinking();
    if (!state.item) return;
    lmm.gallery.reveal(state.item.slug);
    note("#item-" + state.item.slug);
    const opener = document.querySelector(
      '[data-edit="' + state.item.slug + "--" + runOf().method_slugs[state.edit.method] + '"]');
    if (opener) opener.focus();
  });

  function image(number, alt, gone) {
    const made = picture(number, alt, gone);
    const full = fullAddress(number);
    if (full && made.tagName === "IMG") made.src = full;
    return made;
  }

  function draw() {
    const { item, edit } = state;
    const method = nameOf(edit);
    part("title").textContent = item.id;
    part("instruction").textContent = item.instruction;
    const given = item.pictures.map(([kind, number]) => ["g" + number, words(kind)]);
    const others = item.edits.filter((each) => each !== edit && each.picture !== null)
      .map((each) => ["g" + each.picture, "Edit by " + nameOf(each)]);
    const before = part("other").value;
    const known = [...given, ...others];
    const kept = known.some(([value]) => value === before) ? before : (known[0] || [""])[0];
    options(part("other"), known, kept);
    drawStage(method);
    drawStrip();
    drawScores();
    drawWords();
    fit();
  }

  function drawStage(method) {
    const select = part("other");
    const value = select.value;
    const name = value ? select.selectedOptions[0].text : "No source";
    const other = value ? image(Number(value.slice(1)), name) : picture(null, name, "no source");
    const none = state.edit.outcome === "missing" ? "the method made no edit" : "";
    const own = image(state.edit.picture, "Edit by " + method, none);
    left.replaceChildren(other, el("span", { class: "tag" }, name));
    right.replaceChildren(own, el("span", { class: "tag" }, method));
    stage.dataset.mode = state.mode;
    stage.classList.remove("swapped");
    for (const button of part("modes").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === state.mode));
    }
    part("wipe-label").hidden = state.mode !== "wipe";
    stopBlinking();
    if (state.mode === "blink") {
      state.timer = setInterval(() => stage.classList.toggle("swapped"), BLINK_MS);
    }
  }

  function stopBlinking() {
    clearInterval(state.timer);
    stage.classList.remove("swapped");
  }

  function drawStrip() {
    part("strip").replaceChildren(...state.item.edits.map((edit) => el("a", {
      href: link(state.item, edit), "aria-current": edit === state.edit ? "true" : null,
      title: nameOf(edit),
    }, picture(edit.picture, nameOf(edit), "no edit"), el("span", {}, nameOf(edit)))));
  }

  function drawScores() {
    const run = runOf();
    const { item, edit } = state;
    const rated = edit.people;
    const twins = lmm.gallery.twins(state.run, item, edit);
    const heads = ["Factor", run.people ? "Judge" : "Score", ...(rated ? ["Raters", "Judge − raters"] : []),
      ...twins.map((twin) => twin.name)];
    const rows = run.factors.map((factor, k) => {
      const gap = rated && rated[k] !== null && edit.scores[k] !== null
        ? edit.scores[k] - rated[k] : null;
      return el("tr", { class: k === 0 ? "whole" : null },
        el("th", { scope: "row" }, factor.title),
        el("td", { class: "num" }, figure(edit.scores[k], 2)),
        rated ? [el("td", { class: "num" }, figure(rated[k], 2)),
          el("td", { class: "num" }, gap === null ? "–" : (gap > 0 ? "+" : "") + figure(gap, 2))] : null,
        twins.map((twin) => el("td", { class: "num" }, figure(twin.score(factor.key), 2))));
    });
    part("scores").replaceChildren(
      el("h3", {}, nameOf(edit)),
      edit.outcome === "scored" ? "" : el("p", { class: "reason" }, edit.outcome + ": " + edit.reason),
      el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head, n) =>
        el("th", { scope: "col", class: n ? "num" : null }, head)))), el("tbody", {}, rows))));
  }

  function drawWords() {
    const seen = state.edit.seen;
    const holder = part("words");
    if (!seen.length) {
      holder.replaceChildren(el("p", { class: "caption" }, "No conversation about this edit is on record."));
      return;
    }
    holder.replaceChildren(...seen.map(([repeat, position, id], n) => {
      const turn = lmm.conversations.turn(id);
      const head = "The judge’s words" + (seen.length > 1 ? ", repeat " + repeat : "")
        + (runOf().about === "item" ? " (it saw “Image " + position + "”)" : "");
      return el("details", { open: n === 0 },
        el("summary", {}, head),
        el("div", { class: "prose" }, turn ? turn.reply.map(lmm.tree) : "not in the ledger"),
        el("p", { class: "caption" }, el("a", { href: "#turn-" + id }, "Open the conversation here")));
    }));
  }

  // Zoom and place are shared by both panes, in shares of a pane, so that they move in step.
  function fit() {
    stage.style.setProperty("--zoom", state.zoom);
    stage.style.setProperty("--x", state.x * 100 + "%");
    stage.style.setProperty("--y", state.y * 100 + "%");
    stage.classList.toggle("zoomed", state.zoom > 1);
    part("zoom").textContent = Math.round(state.zoom * 100) + "%";
  }

  function zoom(by, centre = { x: 0, y: 0 }) {
    const before = state.zoom;
    state.zoom = Math.min(Math.max(before * by, 1), 16);
    const ratio = state.zoom / before;
    move(centre.x * (1 - ratio) + state.x * (ratio - 1), centre.y * (1 - ratio) + state.y * (ratio - 1));
  }

  function move(dx, dy) {
    const most = (state.zoom - 1) / 2;
    state.x = Math.min(Math.max(state.x + dx, -most), most);
    state.y = Math.min(Math.max(state.y + dy, -most), most);
    fit();
  }

  function inPane(event) {
    const pane = event.target.closest(".pane") || right;
    const box = pane.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width - 0.5, y: (event.clientY - box.top) / box.height - 0.5, box };
  }

  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, inPane(event));
  }, { passive: false });

  const fingers = new Map();
  stage.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const box = right.getBoundingClientRect();
    if (fingers.size === 1) {
      move((event.clientX - before.clientX) / box.width, (event.clientY - before.clientY) / box.height);
    } else {
      const [other] = [...fingers.values()].filter((each) => each.pointerId !== event.pointerId);
      const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY) || 1;
      zoom(apart(event) / apart(before));
    }
    fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, (event) => fingers.delete(event.pointerId));
  }
  stage.addEventListener("dblclick", () => {
    if (state.zoom > 1) Object.assign(state, { zoom: 1, x: 0, y: 0 });
    else state.zoom = 3;
    move(0, 0);
  });

  function go(edit, item = state.item) {
    history.replaceState(history.state, "", link(item, edit) + "?mode=" + state.mode);
    Object.assign(state, { item, edit });
    draw();
  }

  function stepMethod(by) {
    const all = state.item.edits;
    go(all[(all.indexOf(state.edit) + by + all.length) % all.length]);
  }

  function stepItem(by) {
    const all = core.items[state.run];
    const item = all[(all.indexOf(state.item) + by + all.length) % all.length];
    const edit = item.edits.find((each) => each.method === state.edit.method) || item.edits[0];
    if (edit) go(edit, item);
  }

  function setMode(mode) {
    state.mode = mode;
    note(link(state.item, state.edit) + "?mode=" + mode);
    drawStage(nameOf(state.edit));
    fit();
  }

  part("modes").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) setMode(button.value);
  });
  part("other").addEventListener("change", () => { drawStage(nameOf(state.edit)); fit(); });
  part("wipe").addEventListener("input", () => stage.style.setProperty("--wipe", part("wipe").value + "%"));
  part("in").addEventListener("click", () => zoom(1.5));
  part("out").addEventListener("click", () => zoom(1 / 1.5));
  part("close").addEventListener("click", close);
  part("previous").addEventListener("click", () => stepMethod(-1));
  part("next").addEventListener("click", () => stepMethod(1));
  part("strip").addEventListener("click", (event) => {
    const chosen = event.target.closest("a");
    if (!chosen) return;
    event.preventDefault();
    go(state.item.edits[[...part("strip").children].indexOf(chosen)]);
  });
  dialog.addEventListener("click", (event) => {
    const inside = event.target.closest('a[href^="#turn-"]');
    if (inside) { state.item = null; dialog.close(); }
  });

  const hold = (at) => stage.classList.toggle("held", at);
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest("select") || (event.target.type === "range" && event.key.startsWith("Arrow"))) return;
    const acts = {
      ArrowLeft: () => stepMethod(-1), ArrowRight: () => stepMethod(1),
      ArrowUp: () => stepItem(-1), ArrowDown: () => stepItem(1),
      "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5),
      0: () => { Object.assign(state, { zoom: 1, x: 0, y: 0 }); fit(); },
      1: () => setMode("side"), 2: () => setMode("wipe"), 3: () => setMode("blink"), 4: () => setMode("difference"),
    };
    if (event.key === " " && !event.target.closest("button, summary, a")) {
      event.preventDefault();
      hold(true);
    } else if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  });
  dialog.addEventListener("keyup", (event) => { if (event.key === " ") hold(false); });

  return { open, close, link, isOpen: () => dialog.open };
})();
