"use strict";
// The page's data, unpacked when first asked for, and the one way in which elements are made:
// text stays text.
const lmm = (() => {
  const unpacked = new Map();

  function data(name) {
    if (!unpacked.has(name)) {
      const holder = document.getElementById("data-" + name);
      unpacked.set(name, holder ? JSON.parse(holder.textContent) : null);
    }
    return unpacked.get(name);
  }

  function el(tag, props, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(name, value);
      else made.setAttribute(name, value === true ? "" : String(value));
    }
    const absent = [null, undefined, false, ""];
    made.append(...children.flat(2).filter((child) => !absent.includes(child)));
    return made;
  }

  // The judge's words arrive as a tree; only elements named here are ever made of it.
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const math = new Set(("math mrow mi mn mo mtext mspace msup msub msubsup mfrac msqrt mroot mover "
    + "munder munderover mtable mtr mtd mstyle mpadded").split(" "));
  const prose = new Set(("p h5 ul ol li blockquote table thead tbody tr th td strong em s pre code "
    + "br hr mark span").split(" "));
  const allowed = new Set(["class", "title", "start", "display", "mathvariant", "stretchy",
    "fence", "separator", "accent"]);

  function tree(node) {
    if (typeof node === "string") return document.createTextNode(node);
    const [tag, attributes, ...children] = node;
    if (!math.has(tag) && !prose.has(tag)) return document.createTextNode("");
    const made = math.has(tag) ? document.createElementNS(MATHML, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (allowed.has(name)) made.setAttribute(name, String(value));
    }
    made.append(...children.map(tree));
    if (tag !== "table") return made;
    return el("div", { class: "scroll" }, made);
  }

  const core = data("core");

  function address(number) {
    if (number === null || number === undefined) return "";
    const bundle = data("pictures-" + Math.floor(number / core.bundle));
    const found = bundle && bundle[number % core.bundle];
    return found && (core.assets ? found : "data:image/webp;base64," + found);
  }

  function fullAddress(number) {
    if (number === null || number === undefined || !core.full) return "";
    return core.assets ? data("full")[number] : data("full-" + number);
  }

  function picture(number, alt, gone) {
    const src = address(number);
    if (!src) {
      const words = gone || "picture not shown";
      return el("span", { class: "gone", role: "img", "aria-label": alt + ": " + words }, words);
    }
    return el("img", { src, alt, loading: "lazy", decoding: "async", draggable: "false" });
  }

  // As the tables round: halves away from zero, by the decimals that a reader sees and not by the
  // nearest binary fraction, so that one number is never shown as two.
  function rounded(value, digits) {
    const whole = Math.round(Number(Math.abs(value).toFixed(12) + "e" + digits));
    return Math.sign(value) * Number(whole + "e-" + digits) || 0;
  }

  function figure(value, digits) {
    if (value === null || value === undefined) return "–";
    const text = digits === undefined
      ? String(rounded(value, 2)) : rounded(value, digits).toFixed(digits);
    return text.replace("-", "−");
  }

  // A score as its run gives it: of pairs, the share of matches won, to the tenth as in tables.
  function scored(run, value, digits) {
    if (run.about !== "pair" || value === null || value === undefined) return figure(value, digits);
    return rounded(100 * value, 1) + "%";
  }

  function options(select, pairs, chosen) {
    select.replaceChildren(...pairs.map(([value, text]) =>
      el("option", { value, selected: value === chosen }, text)));
    // Nothing to choose: one option is no question.
    if (select.parentElement.tagName === "LABEL") select.parentElement.hidden = pairs.length < 2;
  }

  let fading = 0;
  function say(text) {
    document.getElementById("status").textContent = text;
    clearTimeout(fading);
    fading = setTimeout(() => { document.getElementById("status").textContent = ""; }, 4000);
  }

  const isEdit = (kind) => ["edit", "first", "second"].includes(kind);
  const words = (kind) => kind[0].toUpperCase() + kind.slice(1);

  // The address says what is shown; replacing it neither scrolls nor adds a step to go back.
  function note(hash) {
    history.replaceState(history.state, "", hash);
  }

  document.documentElement.classList.add("scripted");
  return { core, data, el, tree, address, fullAddress, picture, figure, scored, options, say, words, isEdit, note };
})();
