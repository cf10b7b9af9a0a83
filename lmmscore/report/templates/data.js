"use strict";
// The page's data, unpacked when first asked for, and the one way in which elements are made: text stays text.
const lmm = (() => {
  const unpacked = new Map();

  function data(name) {
    if (!unpacked.has(name)) {
      unpacked.set(name, JSON.parse(document.getElementById("data-" + name).textContent));
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
    made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  }

  const core = data("core");

  function address(number) {
    if (number === null || number === undefined) return "";
    const found = data("pictures-" + Math.floor(number / core.bundle))[number % core.bundle];
    return found && (core.assets ? found : "data:image/webp;base64," + found);
  }

  function picture(number, alt) {
    const src = address(number);
    if (!src) return el("span", { class: "gone", role: "img", "aria-label": alt + ": not found" }, "picture not found");
    return el("img", { src, alt, loading: "lazy", decoding: "async", draggable: "false" });
  }

  function figure(value, digits) {
    if (value === null || value === undefined) return "–";
    return digits === undefined ? String(Math.round(value * 100) / 100) : value.toFixed(digits);
  }

  function options(select, pairs, chosen) {
    select.replaceChildren(...pairs.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  }

  let fading = 0;
  function say(text) {
    document.getElementById("status").textContent = text;
    clearTimeout(fading);
    fading = setTimeout(() => { document.getElementById("status").textContent = ""; }, 4000);
  }

  document.documentElement.classList.add("scripted");
  return { core, data, el, address, picture, figure, options, say };
})();
