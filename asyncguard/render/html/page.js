"use strict";
// The theme, the table's order and filter, the flame graph. Without scripts the page shows all.
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

{ // The theme; a page in a frame without an origin has no storage to remember it in.
  const choice = one("[data-theme-choice]"), select = one("select", choice), key = "asyncguard-theme";
  const show = (theme) => { document.documentElement.dataset.theme = select.value = theme; };
  const stored = (use) => { try { return use(localStorage); } catch { return null; } };
  show(stored((storage) => storage.getItem(key)) || "");
  select.addEventListener("change", () => {
    show(select.value);
    stored((storage) => storage.setItem(key, select.value));
  });
  choice.hidden = false;
}
for (const element of all("[data-scripted]")) element.hidden = false;

for (const table of all("[data-sites]")) {
  const bodies = [...table.tBodies], heads = all("thead th", table);
  const controls = one("[data-controls]"), told = one("output", controls);
  const [filter, kind] = [one("input", controls), one("select", controls)];
  const texts = new Map(bodies.map((body) => [body, body.textContent.toLowerCase()]));
  const value = (body, column) => Number(body.rows[0].cells[column].dataset.value);
  const name = (body) => body.rows[0].cells[0].textContent;
  const compare = (a, b, column) => column ? value(a, column) - value(b, column)
    : name(a).localeCompare(name(b), undefined, { numeric: true });
  const sort = (column) => {
    const head = heads[column], before = head.getAttribute("aria-sort");
    const rising = before ? before === "descending" : column === 0;
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    bodies.sort((a, b) => (rising ? 1 : -1) * compare(a, b, column));
    table.append(...bodies);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
  });
  const update = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const body of bodies) {
      body.hidden = !(!kind || !kind.value || body.dataset.kind === kind.value)
        || !words.every((word) => texts.get(body).includes(word));
    }
    const shown = bodies.filter((body) => !body.hidden).length;
    told.textContent = `${shown} of ${bodies.length} site${bodies.length === 1 ? "" : "s"}`;
  };
  for (const control of [filter, kind]) control?.addEventListener("input", update);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  update();
}

for (const flame of all("[data-flame]")) {
  const told = one("[data-flame-told]");
  const boxes = all("button", flame).map((button) => {
    const [left, width, depth] = button.dataset.box.split(" ").map(Number);
    return { button, left, width, right: left + width, depth };
  });
  const seen = (test) => boxes.filter((box) => !box.button.hidden && test(box));
  const height = boxes[0].button.offsetHeight;
  flame.classList.add("drawn");
  flame.style.height = `${height * (1 + Math.max(...boxes.map((box) => box.depth)))}px`;
  const zoom = (to) => {
    for (const { button, left, right, depth } of boxes) {
      const from = Math.max((left - to.left) / to.width, 0);
      const until = Math.min((right - to.left) / to.width, 1);
      button.hidden = until - from <= 1e-6;
      Object.assign(button.style, {
        left: `${100 * from}%`, width: `${100 * (until - from)}%`, top: `${height * depth}px`,
      });
    }
  };
  const enter = (box) => {
    for (const each of boxes) each.button.tabIndex = each === box ? 0 : -1;
    told.textContent = box.button.title;
  };
  const reach = {
    ArrowDown: (at) => seen((box) => box.depth === at.depth + 1
      && box.left >= at.left - 1e-4 && box.right <= at.right + 1e-4)[0],
    ArrowUp: (at) => seen((box) => box.depth === at.depth - 1
      && box.left <= at.left + 1e-4 && box.right >= at.right - 1e-4)[0],
    ArrowRight: (at) => seen((box) => box.depth === at.depth && box.left > at.left)[0],
    ArrowLeft: (at) => seen((box) => box.depth === at.depth && box.left < at.left).at(-1),
    Home: () => boxes[0],
  };
  for (const box of boxes) {
    box.button.addEventListener("click", () => zoom(box));
    box.button.addEventListener("focus", () => enter(box));
    box.button.addEventListener("keydown", (event) => {
      if (event.key === "Escape") zoom(boxes[0]);
      else if (!(event.key in reach)) return;
      reach[event.key]?.(box)?.button.focus();
      event.preventDefault();
    });
  }
  zoom(boxes[0]);
  enter(boxes[0]);
}
