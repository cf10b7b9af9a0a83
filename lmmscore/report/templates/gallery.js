"use strict";
// Every item, a page of them at a time; a card is filled when it comes near the window.
lmm.gallery = (() => {
  const { core, el, address, picture, figure, scored, options, words, note } = lmm;
  const tools = document.getElementById("gallery-tools");
  const list = document.getElementById("gallery-list");
  const count = document.getElementById("gallery-count");
  const pagers = [...document.querySelectorAll(".pager")];
  const ON_A_PAGE = 12;
  const HOLD_MS = 220;
  // Up to so many factors are listed on every card; more are folded.
  const FEW = 7;
  const FIELDS = ["run", "task", "method", "against", "factor", "outcome", "sort", "find"];
  const cards = new Map();
  let found = [];
  let page = 0;

  const near = new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) fill(each.target);
  }, { rootMargin: "900px 0px" });

  const field = (name) => tools.elements[name];
  const value = (name) => (field(name) ? field(name).value : "");
  const runNumber = () => Math.max(core.runs.findIndex((run) => run.prefix === value("run")), 0);
  const run = () => core.runs[runNumber()];
  const factor = () => Math.max(run().factors.findIndex((each) => each.slug === value("factor")), 0);
  const methodAt = (name) => run().method_slugs.indexOf(value(name));
  const taskSlug = (item) => run().tasks.find((task) => task.key === item.task).slug;

  function refill() {
    const here = run();
    const methods = here.methods.map((name, k) => [here.method_slugs[k], name]);
    const fill = (name, pairs) => options(field(name), pairs, field(name).value);
    const many = (pairs) => (pairs.length > 1 ? pairs : []);
    fill("task", [["", "all"], ...many(here.tasks.map((task) => [task.slug, task.title]))]);
    fill("method", [["", "all"], ...methods]);
    fill("against", [["", "–"], ...methods]);
    fill("factor", here.factors.map((each) => [each.slug, each.title]));
    fill("outcome", [["", "any"], ...many(here.outcomes.map((name) => [name, name]))]);
    fill("sort", sorts());
  }

  function sorts() {
    const here = run();
    return [
      ["", "task, then order of the run"],
      here.people && here.factors.some((each) => each.alike)
        ? ["people", "disagreement of judge and raters"] : null,
      core.runs.length > 1 ? ["judges", "disagreement between judges"] : null,
      here.repeats > 1 ? ["repeats", "disagreement between repeats"] : null,
      ["difference", "difference between methods"],
      ["high", "highest scores"],
      ["low", "lowest scores"],
      ["name", "name"],
    ].filter(Boolean);
  }

  // The same edit in the other runs, where they have it.
  const byId = core.items.map((items) => new Map(items.map((item) => [item.id, item])));
  function twins(at, item, edit) {
    const method = core.runs[at].method_ids[edit.method];
    const others = [];
    core.runs.forEach((other, k) => {
      const twin = k === at ? null : byId[k].get(item.id);
      const same = twin && twin.edits.find((each) => other.method_ids[each.method] === method);
      if (!same) return;
      const place = (key) => other.factors.findIndex((each) => each.key === key);
      const score = (key) => same.scores[place(key)];
      const scale = (key) => place(key) >= 0 && other.factors[place(key)].scale;
      others.push({ name: other.name, score, scale });
    });
    return others;
  }

  const largest = (numbers) => numbers.reduce((high, each) => Math.max(high, Math.abs(each)), -1);
  const isKnown = (each) => each !== null && each !== undefined;
  const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

  function weight(item, sort) {
    const k = factor();
    const edits = shown(item);
    const scores = edits.map((edit) => edit.scores[k]).filter(isKnown);
    if (sort === "people") return largest(edits.map((edit) => gap(edit, k)).filter(isKnown));
    if (sort === "judges") return largest(edits.flatMap((edit) => twinGaps(item, edit, k)));
    if (sort === "repeats") {
      return largest(edits.map((edit) => edit.spread && edit.spread[k]).filter(isKnown));
    }
    if (!scores.length) return -Infinity;
    if (sort === "difference") return Math.max(...scores) - Math.min(...scores);
    return sort === "low" ? -mean(scores) : mean(scores);
  }

  // In points, which says something only where both are on one scale.
  function gap(edit, k, here = run()) {
    if (!here.factors[k].alike || !edit.people) return null;
    if (!isKnown(edit.people[k]) || !isKnown(edit.scores[k])) return null;
    return edit.scores[k] - edit.people[k];
  }

  function twinGaps(item, edit, k) {
    const { key, scale } = run().factors[k];
    if (!isKnown(edit.scores[k])) return [];
    const onSameScale = (twin) => String(twin.scale(key)) === String(scale);
    return twins(runNumber(), item, edit).filter(onSameScale)
      .map((twin) => twin.score(key)).filter(isKnown)
      .map((score) => score - edit.scores[k]);
  }

  function shown(item) {
    const pair = [methodAt("method"), methodAt("against")].filter((each) => each >= 0);
    return pair.length ? item.edits.filter((edit) => pair.includes(edit.method)) : item.edits;
  }

  function matches(item) {
    const wanted = value("find").trim().toLowerCase();
    return (value("task") === "" || value("task") === taskSlug(item))
      && shown(item).length > 0
      && (value("outcome") === "" || shown(item).some((edit) => edit.outcome === value("outcome")))
      && (wanted === "" || (item.id + " " + item.instruction).toLowerCase().includes(wanted));
  }

  function apply(at = 0) {
    const all = core.items[runNumber()];
    found = all.filter(matches);
    const sort = value("sort");
    const order = new Map(run().tasks.map((task, k) => [task.key, k]));
    if (sort === "") found.sort((a, b) => order.get(a.task) - order.get(b.task));
    else if (sort === "name") found.sort((a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }));
    else {
      const weights = new Map(found.map((item) => [item, weight(item, sort)]));
      found.sort((a, b) => weights.get(b) - weights.get(a));
    }
    page = Math.min(Math.max(at, 0), Math.max(pages() - 1, 0));
    draw(found.slice(page * ON_A_PAGE, (page + 1) * ON_A_PAGE));
    const items = all.length === 1 ? " item" : " items";
    count.textContent = found.length === all.length ? all.length + items
      : found.length + " of " + all.length + items + (found.length ? "" : ": nothing matches");
    drawPagers();
  }

  const pages = () => Math.ceil(found.length / ON_A_PAGE);

  function draw(items) {
    near.disconnect();
    cards.clear();
    const grouped = value("sort") === "";
    const parts = [];
    let task = null;
    for (const item of items) {
      if (grouped && item.task !== task) {
        task = item.task;
        if (run().tasks.length > 1) parts.push(el("h3", { class: "task" }, title(task)));
      }
      parts.push(shell(item));
    }
    list.replaceChildren(...parts);
    for (const card of cards.keys()) near.observe(card);
  }

  function drawPagers() {
    for (const pager of pagers) {
      pager.hidden = pages() < 2;
      const first = page * ON_A_PAGE + 1;
      const last = Math.min(first + ON_A_PAGE - 1, found.length);
      pager.querySelector(".where").textContent = first + "–" + last + " of " + found.length;
      pager.querySelector("[data-turn='-1']").disabled = page === 0;
      pager.querySelector("[data-turn='1']").disabled = page >= pages() - 1;
    }
  }

  function turn(by) {
    const next = page + by;
    if (next < 0 || next >= pages()) return;
    apply(next);
    keep();
    document.getElementById("gallery-tools").scrollIntoView();
  }

  // Filters, order and page are part of the address.
  function keep() {
    const chosen = new URLSearchParams();
    for (const name of FIELDS) {
      const plain = value(name);
      const first = name === "factor" && plain === run().factors[0].slug;
      if (plain && !first) chosen.set(name, plain);
    }
    if (page) chosen.set("page", page + 1);
    const text = chosen.toString();
    note("#gallery" + (text ? "?" + text : ""));
  }

  function restore(parameters) {
    tools.reset();
    if (field("run")) field("run").value = parameters.get("run") || "";
    refill();
    for (const name of ["task", "method", "against", "factor", "outcome", "sort"]) {
      const given = parameters.get(name);
      const known = [...field(name).options].some((each) => each.value === given);
      if (given && known) field(name).value = given;
    }
    field("find").value = parameters.get("find") || "";
    apply(Number(parameters.get("page") || 1) - 1);
  }

  const title = (task) => (run().tasks.find((each) => each.key === task) || { title: task }).title;

  function shell(item) {
    const card = el("article", { class: "item", id: "item-" + item.slug, tabindex: "-1",
      "aria-labelledby": "name-" + item.slug },
    el("header", {},
      el("h4", { id: "name-" + item.slug }, el("a", { href: "#item-" + item.slug }, item.id)),
      el("p", {}, item.instruction),
      value("sort") === "" ? null : el("span", { class: "chip" }, title(item.task))));
    cards.set(card, item);
    return card;
  }

  // Rows of even length: nine pictures stand 5 + 4 or 3 + 3 + 3, never 8 + 1.
  function balanced(pictures, most) {
    return Math.ceil(pictures / Math.ceil(pictures / most));
  }

  function fill(card) {
    const item = cards.get(card);
    if (!item || card.dataset.filled) return;
    card.dataset.filled = "yes";
    near.unobserve(card);
    const k = factor();
    // Best first: where low scores are the good ones, the lowest.
    const sign = run().factors[k].low ? -1 : 1;
    const rank = (edit) => (isKnown(edit.scores[k]) ? sign * edit.scores[k] : -Infinity);
    const edits = [...shown(item)].sort((a, b) => rank(b) - rank(a));
    const source = (item.pictures.find(([kind]) => kind === "source") || [])[1];
    const given = item.pictures.map(([kind, number]) => el("figure", { class: "picture given" },
      picture(number, words(kind) + " of " + item.id), el("figcaption", {}, words(kind))));
    const pictures = el("div", { class: "pictures" },
      given, edits.map((edit) => figureOf(item, edit, source, k)));
    for (const most of [2, 3, 4, 5, 6]) {
      pictures.style.setProperty("--of" + most, balanced(given.length + edits.length, most));
    }
    card.append(pictures);
    if (run().about === "pair") card.append(...verdicts(item, edits));
    else if (item.talks.length) {
      card.append(el("p", { class: "links" }, item.talks.length > 1 ? "Conversations: " : "Conversation: ",
        item.talks.flatMap((id, n) => [n ? " · " : "",
          el("a", { href: "#talk-" + id }, lmm.conversations.label(id))])));
    }
  }

  // Of pairs: who won against whom, each leading to the words that decided it.
  const ENDED = { won: " beat ", tied: " tied with ", split: " tied with ", "no verdict": " against " };
  function verdicts(item, edits) {
    const shownMethods = new Set(edits.map((edit) => edit.method));
    const lines = [];
    for (const edit of edits) {
      for (const [other, result, repeat, showings] of edit.matches) {
        // Each match is told once, by the winner; ties by the method that comes first.
        const untold = result === "won" || (result !== "lost" && edit.method < other);
        if (untold && shownMethods.has(other)) lines.push([edit.method, other, result, repeat, showings]);
      }
    }
    const told = lines.map(([method, other, result, repeat, showings]) => el("li", {},
      el("strong", {}, run().methods[method]), ENDED[result], el("strong", {}, run().methods[other]),
      result === "split" ? " (the two orders disagree)" : result === "no verdict" ? ": no verdict" : "",
      run().repeats > 1 ? ", repeat " + repeat : "", ": ",
      showings.flatMap(([order, id], n) => [n ? " · " : "",
        el("a", { href: "#talk-" + id }, "shown " + order.map((k) => run().methods[k]).join(", "))])));
    if (!told.length) return [];
    const list = el("ul", { class: "verdicts" }, told);
    if (told.length <= 3) return [list];
    return [el("details", { class: "more" }, el("summary", {}, told.length + " comparisons"), list)];
  }

  function tally(edit) {
    const chosen = new Set([methodAt("method"), methodAt("against")]);
    const pair = chosen.size === 2 && !chosen.has(-1);
    const here = edit.matches.filter(([other]) => !pair || chosen.has(other));
    const many = (...ends) => here.filter(([, result]) => ends.includes(result)).length;
    const none = many("no verdict");
    return el("div", { class: "parts" },
      many("won") + " won · " + many("tied", "split") + " tied · " + many("lost") + " lost"
      + (none ? " · " + none + " without a verdict" : ""));
  }

  function figureOf(item, edit, source, k) {
    const here = run();
    const method = here.methods[edit.method];
    const score = edit.scores[k];
    const name = item.slug + "--" + here.method_slugs[edit.method];
    return el("figure", { class: "picture edit", "data-method": method, "data-outcome": edit.outcome },
      opener(item, edit, source, method, name),
      el("figcaption", {},
        el("div", { class: "who" }, el("span", {}, method), el("span", { class: "score" }, scored(here, score, 2))),
        meter(score, here.factors[k].scale),
        edit.matches ? tally(edit) : parts(edit, here, k),
        ratings(edit, here, k),
        twins(runNumber(), item, edit).map((twin) => el("div", { class: "twin" },
          here.name + " " + scored(here, score) + ", " + twin.name + " " + scored(here, twin.score(here.factors[k].key)))),
        edit.spread && !edit.matches && edit.spread[k] ? el("div", {}, "repeats " + figure(edit.spread[k]) + " apart") : null,
        edit.outcome !== "scored" ? el("div", { class: "reason" },
          el("span", { class: "chip bad" }, edit.outcome), " ", edit.reason || "") : null));
  }

  // A click opens the viewer; pressed longer, the source stands in the edit's place.
  function opener(item, edit, source, method, name) {
    const none = edit.outcome === "missing" ? "the method made no edit" : "picture not shown";
    const image = picture(edit.picture, "Edit by " + method, none);
    if (image.tagName !== "IMG") return image;
    const own = image.src;
    const other = address(source);
    let timer = 0;
    let held = false;
    const button = el("button", { type: "button", class: "open", "data-edit": name,
      "aria-label": "Edit by " + method + " of " + item.id + ": open in the viewer" }, image);
    const look = (at) => {
      held = at || held;
      image.src = at && other ? other : own;
      button.classList.toggle("held", at);
    };
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = false;
      timer = setTimeout(() => look(true), HOLD_MS);
    });
    for (const end of ["pointerup", "pointerleave", "pointercancel", "blur"]) {
      button.addEventListener(end, () => { clearTimeout(timer); look(false); });
    }
    button.addEventListener("click", (event) => {
      const wasHeld = held && event.detail > 0;
      held = false;
      if (!wasHeld) location.hash = "#edit-" + name + beside(edit);
    });
    button.addEventListener("contextmenu", (event) => { if (held) event.preventDefault(); });
    return button;
  }

  // Where two methods are compared, the viewer opens with both.
  function beside(edit) {
    const other = [value("method"), value("against")].find((each) =>
      each && each !== run().method_slugs[edit.method]);
    return value("against") && other ? "?with=" + other : "";
  }

  function meter(score, scale) {
    const bar = el("i", {});
    const share = isKnown(score) && scale ? 100 * (score - scale[0]) / (scale[1] - scale[0]) : 0;
    bar.style.setProperty("--share", share + "%");
    return el("div", { class: "meter", "aria-hidden": "true" }, bar);
  }

  function parts(edit, here, k) {
    if (edit.people) return null;
    const listed = el("ul", { class: "parts" }, here.factors.map((each, place) =>
      (place === k ? null : el("li", { title: each.title }, each.key + " " + figure(edit.scores[place])))));
    if (here.factors.length <= FEW) return listed;
    return el("details", { class: "more" },
      el("summary", {}, (here.factors.length - 1) + " other scores"), listed);
  }

  // Judge and raters side by side, factor by factor, in points of the scale.
  function ratings(edit, here, k) {
    if (!edit.people) return null;
    const far = gap(edit, k);
    const rows = here.factors.map((each, place) => el("tr", { class: place === k ? "chosen" : null },
      el("th", { scope: "row", title: each.title }, each.key),
      el("td", {}, figure(edit.scores[place])), el("td", {}, figure(edit.people[place]))));
    const table = el("table", { class: "rated" }, el("thead", {}, el("tr", {}, el("td", {}),
      el("th", { scope: "col" }, "judge"), el("th", { scope: "col" }, "raters"))), el("tbody", {}, rows));
    return [
      isKnown(far) ? el("div", { class: Math.abs(far) >= 2 ? "apart" : null },
        "judge " + figure(edit.scores[k]) + ", raters " + figure(edit.people[k])) : null,
      here.factors.length <= FEW ? table
        : el("details", { class: "more" }, el("summary", {}, "by factor"), table),
    ];
  }

  function reveal(name) {
    const here = () => document.getElementById("item-" + name);
    const turned = () => {
      const at = found.findIndex((item) => item.slug === name);
      if (at < 0) return false;
      if (Math.floor(at / ON_A_PAGE) !== page || !here()) apply(Math.floor(at / ON_A_PAGE));
      return true;
    };
    if (!turned()) {
      // A filter hides it: take all filters away, and turn to the run it belongs to.
      const at = core.items.findIndex((items) => items.some((item) => item.slug === name));
      if (at < 0) return null;
      tools.reset();
      if (field("run")) field("run").value = core.runs[at].prefix;
      refill();
      apply();
      turned();
    }
    fill(here());
    return here();
  }

  function step(by) {
    const all = [...cards.keys()];
    const top = 80;
    const boxes = all.map((card) => card.getBoundingClientRect().top);
    const next = by > 0 ? boxes.findIndex((y) => y > top) : boxes.findLastIndex((y) => y < top - 10);
    if (next >= 0) { all[next].scrollIntoView(); all[next].focus({ preventScroll: true }); }
    else turn(by);
  }

  // Paper cannot be scrolled: every run, all its items as far as that is sensible.
  const PRINTED = 60;
  function printAll() {
    const items = found.slice(0, PRINTED);
    draw(items);
    for (const card of cards.keys()) fill(card);
    for (const image of list.querySelectorAll("img")) image.loading = "eager";
    const rest = found.length - items.length;
    if (rest > 0) list.append(el("p", {}, rest + " further items are not printed; filter to choose others."));
  }
  window.addEventListener("beforeprint", printAll);
  window.addEventListener("afterprint", () => apply(page));

  tools.addEventListener("input", (event) => {
    if (event.target.name === "run") refill();
    apply();
    keep();
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-turn]")) {
    button.addEventListener("click", () => turn(Number(button.dataset.turn)));
  }
  return { reveal, restore, step, turn, twins, gap, start: () => { refill(); apply(); } };
})();
