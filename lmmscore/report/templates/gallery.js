"use strict";
// Every item; a card is filled when it comes near the window, and drawn only while it is in it.
lmm.gallery = (() => {
  const { core, el, picture, figure, options, hold } = lmm;
  const tools = document.getElementById("gallery-tools");
  const list = document.getElementById("gallery-list");
  const count = document.getElementById("gallery-count");
  const cards = new Map();
  const near = new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) fill(each.target);
  }, { rootMargin: "900px 0px" });

  const runNumber = () => Number(tools.elements.run ? tools.elements.run.value : 0);
  const run = () => core.runs[runNumber()];
  const value = (name) => tools.elements[name].value;
  const factor = () => Number(value("factor"));

  function refill() {
    const here = run();
    const keep = (name) => tools.elements[name].value;
    options(tools.elements.task, [["", "all"], ...here.tasks.map((task) => ["=" + task.key, task.title])], keep("task"));
    options(tools.elements.method, [["", "all"], ...here.methods.map((name, k) => [String(k), name])], keep("method"));
    options(tools.elements.factor, here.factors.map((each, k) => [String(k), each.title]), keep("factor"));
    options(tools.elements.outcome, [["", "any"], ...here.outcomes.map((name) => [name, name])], keep("outcome"));
    options(tools.elements.sort, sorts().map(([key, text]) => [key, text]), keep("sort"));
    apply();
  }

  function sorts() {
    const here = run();
    return [
      ["order", "order of the run"],
      ...(here.people ? [["people", "disagreement between judge and people"]] : []),
      ...(here.repeats > 1 ? [["repeats", "disagreement between repeats"]] : []),
      ["spread", "difference between methods"],
      ["high", "highest scores"],
      ["low", "lowest scores"],
      ["name", "name"],
    ];
  }

  const most = (numbers) => numbers.reduce((high, each) => Math.max(high, Math.abs(each)), -1);
  const known = (item, key, k) => shown(item).map((edit) => edit[key] && edit[key][k]).filter((each) => each !== null && each !== undefined);
  const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

  function weight(item, sort) {
    const k = factor();
    const scores = known(item, "scores", k);
    if (sort === "people") return most(known(item, "gap", k));
    if (sort === "repeats") return most(known(item, "spread", k));
    if (!scores.length) return -Infinity;
    if (sort === "spread") return Math.max(...scores) - Math.min(...scores);
    return sort === "low" ? -mean(scores) : mean(scores);
  }

  function shown(item) {
    const method = value("method");
    return method === "" ? item.edits : item.edits.filter((edit) => edit.method === Number(method));
  }

  function matches(item) {
    const words = value("find").trim().toLowerCase();
    return (value("task") === "" || value("task") === "=" + item.task)
      && shown(item).length > 0
      && (value("outcome") === "" || shown(item).some((edit) => edit.outcome === value("outcome")))
      && (words === "" || (item.id + " " + item.instruction).toLowerCase().includes(words));
  }

  function apply() {
    const all = core.items[runNumber()];
    const found = all.filter(matches);
    const sort = value("sort") || "order";
    if (sort === "name") found.sort((a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }));
    else if (sort !== "order") {
      const weights = new Map(found.map((item) => [item, weight(item, sort)]));
      found.sort((a, b) => weights.get(b) - weights.get(a));
    }
    near.disconnect();
    cards.clear();
    list.replaceChildren(...found.map(shell));
    for (const card of list.children) near.observe(card);
    count.textContent = found.length === all.length
      ? all.length + (all.length === 1 ? " item" : " items") : found.length + " of " + all.length + " items" + (found.length ? "" : ": nothing matches");
  }

  function shell(item) {
    const card = el("article", { class: "item", id: "item-" + item.slug, "aria-labelledby": "name-" + item.slug },
      el("header", {},
        el("h3", { id: "name-" + item.slug }, item.id),
        el("p", {}, item.instruction),
        el("span", { class: "chip" }, title(item.task))));
    cards.set(card, item);
    return card;
  }

  const title = (task) => (run().tasks.find((each) => each.key === task) || { title: task }).title;

  function fill(card) {
    const item = cards.get(card);
    if (!item || card.dataset.filled) return;
    card.dataset.filled = "yes";
    near.unobserve(card);
    const k = factor();
    const rank = (edit) => (edit.scores[k] === null ? -Infinity : edit.scores[k]);
    const edits = [...shown(item)].sort((a, b) => rank(b) - rank(a));
    const source = (item.pictures.find(([kind]) => kind === "source") || [])[1];
    card.append(el("div", { class: "pictures" },
      el("div", { class: "given" }, item.pictures.map(([kind, number]) => el("figure", { class: "picture" },
        picture(number, words(kind) + " of " + item.id), el("figcaption", {}, words(kind))))),
      el("div", { class: "edits" }, edits.map((edit) => figureOf(item, edit, source, k)))));
    if (item.talks.length) {
      card.append(el("p", { class: "links" }, "Conversations: ", item.talks.flatMap((id, n) => [
        n ? " · " : "", el("a", { href: "#talk-" + id }, lmm.talkLabel(id))])));
    }
  }

  const words = (kind) => ({ source: "Source", reference: "Reference", marked: "Marked" })[kind] || kind;

  function figureOf(item, edit, source, k) {
    const here = run();
    const method = here.methods[edit.method];
    const score = edit.scores[k];
    const seen = edit.seen[0];
    return el("figure", { class: "picture", "data-method": method, "data-outcome": edit.outcome },
      hold(edit.picture, source, method),
      el("figcaption", {},
        el("div", { class: "who" }, el("span", {}, method), el("span", { class: "score" }, figure(score, 2))),
        share(score, here.factors[k].scale),
        parts(edit, here, k),
        edit.people && edit.people[k] !== null ? people(edit, k) : null,
        edit.spread && edit.spread[k] ? el("div", {}, "repeats " + figure(edit.spread[k]) + " apart") : null,
        edit.outcome !== "scored" ? el("div", { class: "reason" }, el("span", { class: "chip bad" }, edit.outcome), " ", edit.reason || "") : null,
        el("div", { class: "acts" },
          edit.picture !== null ? el("button", { type: "button", "aria-label": "Compare the edit by " + method + " of " + item.id, click: () => lmm.compare(item, here.methods, edit.picture) }, "Compare") : null,
          seen ? el("a", { href: "#turn-" + seen[2], "aria-label": "What the judge said of the edit by " + method + " of " + item.id }, here.about === "edit" ? "Said of it" : "Image " + seen[1]) : null)));
  }

  function share(score, scale) {
    const bar = el("i", {});
    if (score !== null && scale) bar.style.setProperty("--share", 100 * (score - scale[0]) / (scale[1] - scale[0]) + "%");
    else bar.style.setProperty("--share", "0%");
    return el("div", { class: "share", "aria-hidden": "true" }, bar);
  }

  function parts(edit, here, k) {
    const listed = el("ul", { class: "parts" }, here.factors.map((each, place) => {
      if (place === k) return null;
      return el("li", { title: each.title }, each.key + " " + figure(edit.scores[place]));
    }));
    if (here.factors.length <= 7) return listed;
    return el("details", { class: "more" }, el("summary", {}, (here.factors.length - 1) + " other scores"), listed);
  }

  function people(edit, k) {
    const gap = edit.gap[k];
    const far = Math.abs(gap) >= 0.25;
    const said = "people " + figure(edit.people[k]);
    const places = Math.round(Math.abs(gap) * 100);
    return el("div", { class: far ? "apart" : null },
      far ? said + ": the judge places it " + places + "% " + (gap > 0 ? "higher" : "lower") : said);
  }

  function reveal(name) {
    let card = document.getElementById("item-" + name);
    if (!card) {
      // A filter hides it: take all filters away, and turn to the run it belongs to.
      const at = core.items.findIndex((items) => items.some((item) => item.slug === name));
      if (at < 0) return null;
      tools.reset();
      if (tools.elements.run) tools.elements.run.value = String(at);
      refill();
      card = document.getElementById("item-" + name);
    }
    fill(card);
    return card;
  }

  tools.addEventListener("input", (event) => (event.target.name === "run" ? refill() : apply()));
  tools.addEventListener("submit", (event) => event.preventDefault());
  return { reveal, start: refill };
})();
