// drawing.js: the page of drawings (drawing.lua), as SVG. #data holds {title, drawings: [{title, width,
// height, items}...]}, where an item is [kind, ...]: what the functions in `draw` take. A rectangle with a
// tip is an item of page_parts.js: its tip is the readout, and all that share its key are marked with it.
(() => {
  const marks = new Marks(), sameKey = new Map();
  const state = { here: null, kept: null }; // the item pointed at, the one that was clicked

  // {====== Drawing ======

  function node(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function addItem(group, rect, tip, key) {
    const item = makeItem({ group, node: rect, tip, key });
    rect.setAttribute("role", "img");
    rect.setAttribute("aria-label", tip);
    rect.append(node("title", {}, tip));
    group.items.push(item);
    if (!sameKey.has(key)) sameKey.set(key, []);
    sameKey.get(key).push(item);
  }

  const MIDDLE = 0.36; // of digits and capitals, above the line that they stand on, per size
  const draw = {
    rect(group, x, y, width, height, fill, tip, key) {
      const rect = node("rect", { x, y, width, height, fill });
      if (tip) addItem(group, rect, tip, key);
      return rect;
    },
    line: (_, x1, y1, x2, y2, width, stroke) => node("line", { x1, y1, x2, y2, stroke, "stroke-width": width }),
    text: (_, x, y, text, size, anchor, fill, isBold, isTurned) => node("text", {
      x, y, dy: MIDDLE * size, fill, "font-size": size, "text-anchor": anchor,
      ...isBold && { "font-weight": "bold" }, ...isTurned && { transform: `rotate(-90 ${x} ${y})` } }, text),
  };

  function drawingOf({ title, width, height, items }) {
    const group = { items: [], current: null };
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title },
      ...items.map(([kind, ...rest]) => draw[kind](group, ...rest)));
    svg.style.minWidth = `${0.8 * width}px`; // in a smaller window it scrolls, as texts would be too small
    if (group.items.length > 0) makeCurrent(group.items[0]);
    return element("div", { className: "scroller" }, svg);
  }

  // {====== Pointing and keys ======

  function show() {
    const item = state.here || state.kept;
    marks.clear();
    if (item) {
      for (const { node: other } of sameKey.get(item.key)) marks.add(other, "same");
      marks.add(item.node, "here");
    }
    byId("readout").replaceChildren(...(item ? item.tip : "Point at a bar, or go to it with Tab and the arrow keys.")
      .split("\n").map((textContent) => element("p", { textContent })));
  }

  function visit(item) {
    state.here = item;
    show();
  }

  function keep(item) {
    state.kept = state.kept === item ? null : item;
    show();
  }

  const at = ({ node: rect }, name) => Number(rect.getAttribute(name));
  const middle = (item) => at(item, "x") + at(item, "width") / 2;

  // The nearest item to the left or right in a row, or in the next row above or below.
  function nearest(item, [down, right]) {
    const y = at(item, "y"), { items } = item.group;
    const ahead = items.filter((other) => down ? (at(other, "y") - y) * down > 0
      : at(other, "y") === y && (at(other, "x") - at(item, "x")) * right > 0);
    const distance = (other) => 1e6 * Math.abs(at(other, "y") - y) + Math.abs(middle(other) - middle(item));
    return ahead.reduce((best, other) => best && distance(best) <= distance(other) ? best : other, null);
  }

  const next = (item, { key }) => arrows[key] && nearest(item, arrows[key]);

  byId("drawings").append(...data.drawings.map(drawingOf));
  listenToItems(document, { visit, keep, next });
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    state.kept = state.here = null;
    show();
  });
  show();
})();
