"use strict";
// One edit in full: beside its source, wiped, blinking or subtracted, zoomed and moved in step.
lmm.viewer = (() => {
  const { core, el, fullAddress, picture, figure, scored, options, words, note } = lmm;
  const dialog = document.getElementById("viewer");
  const stage = dialog.querySelector(".stage");
  const [left, right] = stage.querySelectorAll(".pane");
  const part = (name) => document.getElementById("viewer-" + name);
  const MODES = ["side", "wipe", "blink", "difference"];
  const BLINK_MS = 700;
  const state = {
    run: 0, item: null, edit: null, mode: "side", other: "source", zoom: 1, x: 0, y: 0, timer: 0,
  };
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
    if (parameters.get("with")) state.other = parameters.get("with");
    else if (!opened) state.other = "";
    draw();
    if (!dialog.open) {
      dialog.showModal();
      opened = true;
    }
    showCurrent();
    return true;
  }

  // On a narrow screen, the method in question may lie outside the strip.
  function showCurrent() {
    const current = part("strip").querySelector("[aria-current]");
    if (current) current.scrollIntoView({ block: "nearest", inline: "nearest" });
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
    const given = item.pictures.map(([kind]) => [kind, words(kind)]);
    const others = item.edits.filter((each) => each !== edit && each.picture !== null)
      .map((each) => [runOf().method_slugs[each.method], "Edit by " + nameOf(each)]);
    const known = [...given, ...others];
    const kept = known.some(([value]) => value === state.other) ? state.other : (known[0] || [""])[0];
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
    const other = value ? image(numberOf(value), name) : picture(null, name, "no source");
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

  // The picture to compare with, by its kind or by the method that made it.
  function numberOf(name) {
    const given = state.item.pictures.find(([kind]) => kind === name);
    if (given) return given[1];
    return editBy(name).picture;
  }

  const editBy = (slug) => state.item.edits.find((each) => runOf().method_slugs[each.method] === slug);

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
    if (edit.matches) { drawMatches(); return; }
    const rated = edit.people;
    const twins = lmm.gallery.twins(state.run, item, edit);
    const heads = ["Factor", run.people ? "Judge" : twins.length ? run.name : "Score", ...(rated ? ["Raters", "Judge − raters"] : []),
      ...twins.map((twin) => twin.name)];
    const rows = run.factors.map((factor, k) => {
      const gap = lmm.gallery.gap(edit, k, run);
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

  // Of pairs: how this edit fared against each other one; a click puts the two side by side.
  function drawMatches() {
    const { edit } = state;
    const rows = edit.matches.map(([other, result, repeat]) => {
      const slug = runOf().method_slugs[other];
      const rival = editBy(slug);
      const name = rival && rival.picture !== null ? el("button", { type: "button", class: "quiet-button",
        click: () => choose(slug) }, runOf().methods[other]) : runOf().methods[other];
      return el("tr", { class: slug === part("other").value ? "whole" : null },
        el("th", { scope: "row" }, name),
        el("td", {}, result === "split" ? "tied (the orders disagree)" : result),
        runOf().repeats > 1 ? el("td", { class: "num" }, repeat) : null);
    });
    const heads = ["Against", "Result", ...(runOf().repeats > 1 ? ["Repeat"] : [])];
    part("scores").replaceChildren(
      el("h3", {}, nameOf(edit) + ": " + scored(runOf(), edit.scores[0]) + " of its matches here"),
      edit.outcome === "scored" ? "" : el("p", { class: "reason" }, edit.outcome + ": " + edit.reason),
      el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) =>
        el("th", { scope: "col" }, head)))), el("tbody", {}, rows))));
  }

  function drawVerdicts(holder) {
    const rival = state.item.edits.find((each) => runOf().method_slugs[each.method] === part("other").value);
    const chosen = state.edit.matches.filter(([other]) => !rival || other === rival.method);
    const parts = chosen.flatMap(([other, , , showings]) => showings.map(([order, id]) => {
      const talk = lmm.conversations.talk(id);
      const turns = talk.turns.filter((turn) => turn.scored);
      const first = order[0] === state.edit.method;
      return el("details", { open: Boolean(rival) },
        el("summary", {}, "Against " + runOf().methods[other] + ", shown " + (first ? "first" : "second")
          + ": " + talk.verdict),
        (turns.length ? turns : talk.turns.slice(-1)).map((turn) =>
          el("div", { class: "prose" }, turn.reply.map(lmm.tree))),
        el("p", { class: "caption" }, el("a", { href: "#talk-" + id }, "Open the conversation here")));
    }));
    holder.replaceChildren(...(parts.length ? parts
      : [el("p", { class: "caption" }, "No conversation about this edit is on record.")]));
  }

  function drawWords() {
    const seen = state.edit.seen;
    const holder = part("words");
    if (state.edit.matches) { drawVerdicts(holder); return; }
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
    Object.assign(state, { item, edit });
    draw();
    showCurrent();
    remember();
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

  // The address names what is seen, so that it can be sent to someone.
  function remember() {
    const query = new URLSearchParams();
    if (state.mode !== "side") query.set("mode", state.mode);
    if (state.other && state.other !== "source") query.set("with", state.other);
    const text = query.toString();
    note(link(state.item, state.edit) + (text ? "?" + text : ""));
  }

  function choose(other) {
    state.other = other;
    draw();
    remember();
  }

  function setMode(mode) {
    state.mode = mode;
    remember();
    drawStage(nameOf(state.edit));
    fit();
  }

  part("modes").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) setMode(button.value);
  });
  part("other").addEventListener("change", () => choose(part("other").value));
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
    const inside = event.target.closest('a[href^="#turn-"], a[href^="#talk-"]');
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
