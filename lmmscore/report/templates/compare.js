"use strict";
// An edit over its source: pressed in place, or laid over each other with a slider.
lmm.hold = (edit, source, method) => {
  const { el, address, picture } = lmm;
  const image = picture(edit, "Edit by " + method);
  const other = address(source);
  if (image.tagName !== "IMG" || !other) return image;
  const own = image.src;
  const button = el("button", {
    type: "button", class: "hold", "aria-pressed": "false",
    "aria-label": "Edit by " + method + ": hold to see the source instead",
  }, image);
  const look = (at) => {
    image.src = at ? other : own;
    button.setAttribute("aria-pressed", String(at));
  };
  button.addEventListener("pointerdown", (event) => { if (event.button === 0) look(true); });
  for (const end of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(end, () => look(false));
  button.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    look(true);
  });
  button.addEventListener("keyup", () => look(false));
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  return button;
};

lmm.compare = (() => {
  const { address, options } = lmm;
  const dialog = document.getElementById("compare");
  const stage = dialog.querySelector(".stage");
  const [under, over] = stage.querySelectorAll("img");
  const wipe = document.getElementById("compare-wipe");
  const edit = document.getElementById("compare-edit");
  const other = document.getElementById("compare-other");

  function draw() {
    stage.style.setProperty("--wipe", wipe.value + "%");
    under.src = address(Number(edit.value));
    over.src = address(Number(other.value));
    under.alt = edit.selectedOptions[0].text;
    over.alt = other.selectedOptions[0].text;
  }

  for (const control of [wipe, edit, other]) control.addEventListener("input", draw);

  return (item, methods, number) => {
    const shown = (value) => value !== null && value !== undefined && address(value);
    const edits = item.edits.filter((each) => shown(each.picture)).map((each) => [String(each.picture), methods[each.method]]);
    const given = item.pictures.filter(([, value]) => shown(value)).map(([kind, value]) => [String(value), kind]);
    options(edit, edits, String(number));
    options(other, [...given, ...edits.map(([value, name]) => [value, "edit by " + name])]);
    document.getElementById("compare-title").textContent = "Compare: " + item.id;
    wipe.value = 50;
    draw();
    dialog.showModal();
    wipe.focus();
  };
})();
