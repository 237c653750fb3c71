"use strict";
// Sorting, filtering and zooming; without scripts the page shows everything, what cost most first.
(() => {
  const list = document.querySelector("[data-list]");
  const controls = document.querySelector("[data-controls]");
  if (list && controls) {
    const items = [...list.children];
    const sort = controls.querySelector("select[name=sort]");
    const kind = controls.querySelector("select[name=kind]");
    const text = controls.querySelector("input");
    const told = controls.querySelector("output");
    const update = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const key = sort.value;
      const order = key === "place"
        ? (a, b) => a.dataset.place.localeCompare(b.dataset.place, undefined, { numeric: true })
        : (a, b) => Number(b.dataset[key]) - Number(a.dataset[key]);
      let shown = 0;
      for (const item of [...items].sort(order)) {
        const fits = (!kind || !kind.value || item.dataset.kind === kind.value)
          && words.every((word) => item.textContent.toLowerCase().includes(word));
        item.hidden = !fits;
        shown += fits;
        list.append(item);
      }
      told.textContent = `${shown} of ${items.length}`;
    };
    for (const control of [sort, kind, text]) if (control) control.addEventListener("input", update);
    controls.hidden = false;
    update();
  }
  for (const flame of document.querySelectorAll("[data-flame]")) {
    const boxes = [...flame.children];
    const told = document.querySelector("[data-flame-told]");
    const number = (box, name) => Number(box.dataset[name]);
    const zoom = (to) => {
      const left = number(to, "left"), width = number(to, "width"), depth = number(to, "depth");
      for (const box of boxes) {
        const above = number(box, "depth") < depth;
        const from = Math.max((number(box, "left") - left) / width, 0);
        const until = Math.min((number(box, "left") + number(box, "width") - left) / width, 1);
        box.hidden = until - from <= 1e-9;
        box.style.left = `${100 * from}%`;
        box.style.width = `${100 * (until - from)}%`;
        box.classList.toggle("above", above);
      }
      told.textContent = to.title;
    };
    for (const box of boxes) {
      box.addEventListener("click", () => zoom(box));
      box.addEventListener("keydown", (event) => { if (event.key === "Enter") zoom(box); });
    }
  }
})();
