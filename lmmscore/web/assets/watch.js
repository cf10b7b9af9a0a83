import { startTheme } from "./theme.js";

const find = (id) => document.getElementById(id);
const trouble = ["refused", "filtered", "truncated", "unreadable", "failed"];
const letters = { refused: "R", filtered: "F", truncated: "T", unreadable: "?", failed: "!" };
const known = {};

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function drawn(tag, properties) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  return made;
}

const WHISKER_PX = 110;

// As the tables round: halves away from zero, by the decimals that a reader sees and not by the
// nearest binary fraction, so that one number is never shown as two.
function fixed(number, digits) {
  const whole = Math.round(Number(`${Math.abs(number).toFixed(12)}e${digits}`));
  return (Math.sign(number) * Number(`${whole}e-${digits}`) || 0).toFixed(digits);
}

const decimal = (number) => fixed(number, 2).replace("-", "−");
const whole = (number) => Math.round(number).toLocaleString("en");

function dollars(number) {
  if (number > 0 && number < 0.01) return "under $0.01";
  return `$${number.toFixed(number < 10 ? 2 : 0)}`;
}

function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function drawHead() {
  find("trouble").hidden = !known.trouble;
  find("trouble").textContent = known.trouble || "";
  if (!known.run) return;
  document.title = `${known.run}: lmmscore`;
  find("name").textContent = known.run;
  find("about").textContent = `Benchmark ${known.benchmark}, dialog ${known.dialog}, judged by ${known.judge}`;
  find("caution").textContent = known.caution ? `Caution: ${known.caution}` : "";
  const state = find("state");
  const [word] = known.state.split(":");
  state.textContent = word === "waiting" && known.waiting ? `waiting for ${known.waiting}` : known.state;
  state.className = `state ${word}`;
  drawOver();
}

const isLive = () => ["running", "waiting"].includes(known.state);

function drawOver() {
  find("over").hidden = isLive();
  find("board-title").textContent = known.state === "finished" ? "Leaderboard" : "Provisional leaderboard";
  if (isLive()) return;
  const said = known.state === "finished" ? "The run has ended. " : "The run was stopped. ";
  const link = element("a", { href: "report", target: "_blank", rel: "noopener" }, "Open the report");
  find("over").replaceChildren(said, ...(known.report ? [link] : []));
}

function fact(name, value, more = "", kind = "") {
  const told = element("dd", {}, value);
  if (more) told.append(element("small", {}, more));
  return element("div", { class: kind }, element("dt", {}, name), told);
}

function drawTotals(totals) {
  const done = totals.done + totals.failed;
  find("bar").max = Math.max(1, totals.sessions);
  find("bar").value = done;
  const facts = [
    fact("Sessions done", `${whole(totals.done)} of ${whole(totals.sessions)}`,
      totals.running ? `${whole(totals.running)} running` : ""),
    fact("Failed", whole(totals.failed), `${whole(totals.repairs)} repair turns`,
      totals.failed ? "bad" : ""),
    fact("Calls", whole(totals.calls), totals.calls_left ? `about ${whole(totals.calls_left)} to go` : ""),
    spending(totals),
  ];
  // A judge that measures pixels uses no tokens; a run that is over has no last minute.
  if (totals.prompt_tokens + totals.completion_tokens) facts.splice(3, 0, tokens(totals));
  if (isLive()) facts.push(limits(totals));
  if (known.state === "running") {
    const left = totals.seconds_left ? `about ${duration(totals.seconds_left)}` : "not known yet";
    facts.push(fact("Time left", left));
  } else if (totals.started && totals.finished) {
    const took = (Date.parse(totals.finished) - Date.parse(totals.started)) / 1000;
    facts.push(fact("Took", duration(took)));
  }
  find("totals").replaceChildren(...facts);
}

function tokens(totals) {
  const cached = totals.cached_tokens ? ` (${whole(totals.cached_tokens)} cached)` : "";
  return fact("Tokens", whole(totals.prompt_tokens + totals.completion_tokens),
    `${whole(totals.prompt_tokens)} in${cached}, ${whole(totals.completion_tokens)} out`);
}

function spending(totals) {
  const parts = [];
  if (totals.budget_usd !== null) parts.push(`budget ${dollars(totals.budget_usd)}`);
  if (isLive() && totals.projected_usd) parts.push(`projected ${dollars(totals.projected_usd)}`);
  const over = totals.budget_usd !== null && totals.projected_usd > totals.budget_usd;
  const unpriced = totals.spent_usd === null;
  if (unpriced) parts.push("no price for this model");
  const spent = unpriced ? "unknown" : totals.spent_usd ? dollars(totals.spent_usd) : "nothing";
  return fact("Spent", spent, parts.join(", "), isLive() && over ? "bad" : "");
}

function limits(totals) {
  const calls = totals.rpm ? ` of ${whole(totals.rpm)}` : "";
  const tokens = totals.tpm ? ` of ${whole(totals.tpm)}` : "";
  return fact("Last minute", `${whole(totals.calls_minute)}${calls} calls`,
    `${whole(totals.tokens_minute)}${tokens} tokens`);
}

function drawBoard(board) {
  find("board").hidden = !board;
  if (!board) return;
  find("board-measure").textContent = board.measure;
  find("board-counted").textContent = board.counted;
  find("board-note").textContent =
    `${board.items} of ${board.of} items; ${board.note}.` +
    (board.items < board.of ? " It will change as more items are judged." : "");
  const ends = board.rows.flatMap((row) => row.interval || (row.mean === null ? [] : [row.mean, row.mean]));
  const low = Math.min(...ends);
  const high = Math.max(...ends);
  const at = (value) => 6 + (high > low ? (value - low) / (high - low) : 0.5) * (WHISKER_PX - 12);
  const rows = board.rows.map((row) =>
    element("tr", {},
      element("td", { class: "num" }, row.rank ?? "–"),
      element("th", { scope: "row" }, row.method),
      element("td", { class: "num" }, row.mean === null ? "–" : decimal(row.mean)),
      element("td", {}, ...interval(row, at)),
      element("td", { class: "num" }, ranks(row.ranks)),
      element("td", { class: "num" }, row.n),
    ),
  );
  find("board").tBodies[0].replaceChildren(...rows);
}

function ranks(interval) {
  if (!interval) return "–";
  const [best, worst] = interval;
  return best === worst ? String(best) : `${best}–${worst}`;
}

function interval(row, at) {
  if (!row.interval || row.mean === null) return ["–"];
  const [low, high] = row.interval;
  const picture = drawn("svg", { class: "whisker", width: WHISKER_PX, height: 16, "aria-hidden": "true" });
  picture.append(
    drawn("line", { class: "axis", x1: 0, x2: WHISKER_PX, y1: 8, y2: 8 }),
    drawn("line", { x1: at(low), x2: at(high), y1: 8, y2: 8 }),
    drawn("circle", { cx: at(row.mean), cy: 8, r: 4 }),
  );
  const between = low < 0 || high < 0 ? " to " : "–";
  return [picture, element("span", { class: "figures" }, `${decimal(low)}${between}${decimal(high)}`)];
}

function drawTalk(talk) {
  find("talk-note").hidden = Boolean(talk);
  if (!talk) return;
  const list = find("talk");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const turns = talk.turns.map((turn) => {
    const place = turn.position ? `, edit ${turn.position}` : "";
    return element("li", {},
      element("span", { class: "who" }, `${turn.turn}${place}`),
      element("p", { class: "asked" }, turn.question),
      element("span", { class: "who" }, "judge"),
      element("p", { class: "said" }, turn.reply),
    );
  });
  list.replaceChildren(...turns);
  find("talk-title").textContent = `Newest conversation: ${talk.item}`;
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function gridCell([outcome, score, share, repaired], item, method) {
  const cell = element("td", {});
  let said = outcome;
  if (outcome === "scored") {
    cell.className = "scored";
    cell.style.setProperty("--share", share);
    cell.textContent = fixed(score, 2);
    said = fixed(score, 2);
  } else if (outcome === "compared") {
    cell.className = "scored";
    cell.style.setProperty("--share", share);
    cell.textContent = score;
    said = `${score} comparisons`;
  } else if (trouble.includes(outcome)) {
    cell.className = "trouble";
    cell.textContent = letters[outcome];
  } else {
    cell.className = outcome;
    cell.textContent = outcome === "missing" ? "–" : "";
  }
  if (repaired) {
    cell.classList.add("repaired");
    said += ", after a repair turn";
  }
  cell.title = `${item}, ${method}: ${said}`;
  if (!cell.textContent) cell.append(element("span", { class: "unseen" }, said));
  return cell;
}

function gridRow(row, methods) {
  const cells = row.cells.map((cell, place) => gridCell(cell, row.item, methods[place]));
  return element("tr", {}, element("th", { scope: "row", title: row.task }, row.item), ...cells);
}

function drawGrid(grid) {
  const table = find("grid");
  // Which factor stands for an edit, and so the scale, is known with the first scores.
  drawLegend(grid);
  if (grid.items) {
    const heads = grid.methods.map((method) => element("th", { scope: "col" }, method));
    table.tHead.replaceChildren(element("tr", {}, element("th", { scope: "col" }, "Item"), ...heads));
    table.tBodies[0].replaceChildren(...grid.items.map((row) => gridRow(row, grid.methods)));
    return;
  }
  for (const [place, row] of Object.entries(grid.changed)) {
    table.tBodies[0].rows[place].replaceWith(gridRow(row, grid.methods));
  }
}

function drawLegend(grid) {
  const entry = (kind, words) => element("span", {}, element("i", { class: kind }), words);
  const factor = grid.factor === "overall" ? "overall score" : grid.factor;
  find("legend").replaceChildren(
    entry("scored", known.pairs ? "comparisons done" : `${factor}, ${grid.low} to ${grid.high}`),
    entry("running", "being judged"),
    entry("repaired", "read after a repair turn"),
    entry("trouble", "no score: R refused, F filtered, T truncated, ? unreadable, ! failed"),
  );
}

function take(told) {
  Object.assign(known, told);
  drawHead();
  if (known.totals && (told.totals || told.state)) drawTotals(known.totals);
  if (told.grid) drawGrid(told.grid);
  if ("board" in told) drawBoard(told.board);
  if ("talk" in told) drawTalk(told.talk);
}

function listen() {
  const events = new EventSource("events");
  events.onmessage = (event) => take(JSON.parse(event.data));
  // The browser connects again by itself, also after a restart of either side.
  events.onerror = () => {
    find("state").textContent = "connection lost; trying again …";
    find("state").className = "state lost";
  };
}

startTheme(find("theme"));
listen();
