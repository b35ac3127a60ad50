// page_parts.js: what the scripts of all pages use, before the page's own: its data, elements, grids of cells,
// sources, and things that one points at, walks over by keys and keeps.
"use strict";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

function element(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

// {====== Texts ======

const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// "3, 4, 5 and 7 more"
function listed(texts, most) {
  const more = texts.length - most;
  return texts.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

// "(1,0)" of index 1 among extents, with as many numbers as there are extents beyond 1.
function coordinateText(index, [x, y, z]) {
  if (y === 1 && z === 1) return "";
  const crd = [index % x, Math.floor(index / x) % y, Math.floor(index / (x * y))];
  return `(${crd.slice(0, z > 1 ? 3 : 2).join(",")})`;
}

// The readout: rows [name, title, value], or a hint where rows are null.
function showFacts(rows, hint) {
  const list = element("dl");
  for (const [name, title, value] of rows || []) {
    const dd = element("dd", { textContent: value });
    dd.dataset.fact = name;
    list.append(element("div", {}, element("dt", { textContent: title }), dd));
  }
  byId("readout").replaceChildren(rows ? list : element("p", { className: "hint", textContent: hint }));
}

// The button says for a while that it has copied; `otherwise` runs where the clipboard is out of reach.
async function copyText(button, text, otherwise) {
  const name = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    otherwise();
  }
  setTimeout(() => { button.textContent = name; }, 1500);
}

// {====== Sources ======

const KEYWORDS = "and break do else elseif end false for function goto if in local nil not or " +
  "repeat return then true until while";
const TOKENS = new RegExp("(?<comment>--.*)|" +
  `(?<string>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')|` +
  `(?<keyword>\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b)`, "g");

// A line of Lua, its comments, texts and keywords in spans.
function highlighted(text) {
  const span = element("span", { className: "text" });
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    span.append(text.slice(at, match.index), element("span",
      { className: kind, textContent: match[0] }));
    at = match.index + match[0].length;
  }
  span.append(text.slice(at));
  return span;
}

// Puts the lines of a source {first, lines} into a list. Returns the rows that isMarked(number) marks, by number.
function listSource(list, { first, lines }, isMarked) {
  const marked = new Map();
  lines.forEach((text, i) => {
    const row = element("li", {}, element("span", { className: "number", textContent: first + i }),
      highlighted(text));
    if (isMarked(first + i)) {
      row.className = "marked";
      marked.set(first + i, row);
    }
    list.append(row);
  });
  return marked;
}

// {====== Grids ======

// A table with numbers beside its rows and above its columns, from row0 and col0 on. cellAt(row, col) gives
// the td of a place.
function gridTable({ rows, cols, row0 = 0, col0 = 0 }, cellAt) {
  const head = element("tr", {}, element("td")), body = element("tbody");
  for (let col = 0; col < cols; col++) {
    head.append(element("th", { scope: "col", textContent: col0 + col }));
  }
  for (let row = 0; row < rows; row++) {
    const tr = element("tr", {}, element("th", { scope: "row", textContent: row0 + row }));
    for (let col = 0; col < cols; col++) tr.append(cellAt(row, col));
    body.append(tr);
  }
  const table = element("table", {}, element("thead", {}, head), body);
  table.setAttribute("role", "grid");
  return table;
}

const BANKS = 32, BANK_BYTES = 4, WARP = 32;

// The bank of shared memory of an element's first byte.
const bankOf = (offset, bytes) => (Math.floor(offset * bytes / BANK_BYTES) % BANKS + BANKS) % BANKS;

// For each bank the words that accesses touch: word -> their places in the list of addresses. Each access has
// as many bytes.
function wordsByBank(addresses, bytes) {
  const banks = Array.from({ length: BANKS }, () => new Map());
  addresses.forEach((address, i) => {
    for (let word = Math.floor(address / BANK_BYTES); word * BANK_BYTES < address + bytes; word++) {
      const words = banks[(word % BANKS + BANKS) % BANKS];
      words.set(word, [...words.get(word) || [], i]);
    }
  });
  return banks;
}

// {====== Items: what one points at, walks over and keeps ======

// An item has a `node`, which knows it, and a `group`: Tab goes to its `current` item, arrows go on from there.
function makeItem(item) {
  item.node.item = item;
  item.node.tabIndex = -1;
  return item;
}

function makeCurrent(item) {
  if (item.group.current) item.group.current.node.tabIndex = -1;
  item.node.tabIndex = 0;
  item.group.current = item;
}

const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// visit(item or null): the pointer or the focus is there. keep(item, isAdding): a click, Enter or the space bar.
// next(item, event): where a key leads, null where it leads nowhere, undefined if the key means nothing.
function listenToItems(root, { visit, keep, next }) {
  const itemOf = ({ target }) => target.closest("[tabindex]")?.item || null;
  root.addEventListener("mouseover", (event) => visit(itemOf(event)));
  root.addEventListener("focusin", (event) => {
    const item = itemOf(event);
    if (item) {
      makeCurrent(item);
      visit(item);
    }
  });
  root.addEventListener("click", (event) => {
    const item = itemOf(event);
    if (item) keep(item, event.shiftKey);
  });
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return; // those are the browser's, such as Alt and an arrow
    const item = itemOf(event), isKept = event.key === "Enter" || event.key === " ";
    const other = item && !isKept ? next(item, event) : undefined;
    if (!item || !isKept && other === undefined) return;
    if (isKept) keep(item, event.shiftKey);
    else if (other) other.node.focus();
    event.preventDefault();
  });
}

// Classes of nodes that come and go together.
class Marks {
  constructor() { this.list = []; }

  add(node, ...names) {
    node.classList.add(...names);
    this.list.push([node, names]);
  }

  clear() {
    for (const [node, names] of this.list) node.classList.remove(...names);
    this.list = [];
  }
}

// {====== Every page: its title, and light or dark ======

// Without the button the system decides.
function addTheme(button) {
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === "dark" : systemDark.matches;
  }

  function show() {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
  }

  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  systemDark.addEventListener("change", show);
  show();
}

byId("title").textContent = data.title;
addTheme(byId("theme"));
