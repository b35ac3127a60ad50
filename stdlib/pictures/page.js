// page.js: the page of html(x): draws the panels of #data as grids and answers to mouse and keys.
// #data holds {title, derived: [[name, text]...], text_mode, colour, same: [relation...], bytes,
// palette: [colour...], color_by (what the picture's colours mean), legends: {colouring: [[colour,
// text]...]}, n_threads (0: nobody owns cells), thread (isolated at first) or absent, panels}. A panel
// is {title, note, text, axes, rows, cols, row_groups, col_groups: [[at, level]...] (tiles begin
// there), place: [row, col] in a table of panels or absent, spaces: {linear, offset, value}, cells}.
// What counts in spaces of one name is the same when it is equal, such as the index of a composition's
// second operand and the 1-D coordinate of its first. The cells are lists, one entry a cell: row, col,
// crd, linear (the 1-D coordinate), offset (the index: a number, or the text of a coordinate; an empty
// list where there is no memory), color (a number that cells of one colour share, or null) and, where
// there are such, owners: [thread, value, thread, value...], by_all (the value that all threads have
// there, in place of owners), value (an element's, as text), before (the index without the swizzle),
// mark ("unowned", "doubled": an element without a thread, with several; "outside": the operand has no
// such element). A cell is an item whose group is its panel; it knows its place in the lists.
(() => {
  const main = byId("panels");
  const WARP_BYTES = 128;
  const NONE = "\u2013"; // of a fact that a cell has not

  const state = {
    text: data.text_mode, colour: data.colour, bytes: data.bytes,
    same: new Set(data.same), // relations that hover marks
    here: null,               // the cell under the pointer or with the focus
    kept: new Set(),          // keys of what is isolated, as in `relations`
    zoom: 0,                  // a place in ZOOMS
  };
  const panels = data.panels.map((model) => ({ model, cells: [], at: new Map(), current: null }));
  let isTable = panels.length > 0 && panels.every(({ model }) => model.place);

  // {====== What a cell is ======

  // Null where the offset is a coordinate.
  const bankIn = (offset) => typeof offset === "number" ? bankOf(offset, state.bytes) : null;

  function factsOf(cell) {
    const { model } = cell.panel, lists = model.cells, i = cell.i;
    const flat = lists.owners ? lists.owners[i] : [];
    const owners = [];
    for (let k = 0; k < flat.length; k += 2) owners.push({ thread: flat[k], value: flat[k + 1] });
    return {
      crd: lists.crd[i], linear: lists.linear[i], offset: lists.offset[i] ?? null,
      color: lists.color[i], owners, bank: bankIn(lists.offset[i]),
      value: lists.value ? lists.value[i] : null, before: lists.before ? lists.before[i] : null,
      byAll: lists.by_all ? lists.by_all[i] : null,
    };
  }

  const textModes = [
    { name: "offset", title: "Index", of: (f) => f.offset === null ? "" : String(f.offset),
      needs: hasOffsets },
    { name: "crd", title: "Coordinate", of: (f) => f.crd },
    { name: "linear", title: "1-D coordinate", of: (f) => String(f.linear) },
    { name: "thread", title: "Thread, value", of: ownerText, needs: hasOwners },
    { name: "bank", title: "Bank", of: bankText, needs: hasBanks },
    { name: "value", title: "Element", of: (f) => f.value === null ? "" : f.value,
      needs: hasValues },
  ];

  function ownerText({ owners, byAll }) {
    if (byAll !== null) return `all\nV${byAll}`;
    if (owners.length === 0) return "";
    const more = owners.length > 1 ? `+${owners.length - 1}` : "";
    return `T${owners[0].thread}\nV${owners[0].value}${more}`;
  }

  function bankText({ bank }) { return bank === null ? NONE : String(bank); }

  function hasOwners() {
    return panels.some((p) => p.model.cells.owners || p.model.cells.by_all);
  }
  function hasOffsets() { return panels.some((p) => p.model.cells.offset.length > 0); }
  function hasValues() { return panels.some((p) => p.model.cells.value); }
  function hasBanks() {
    return panels.some((p) => p.model.cells.offset.some((o) => typeof o === "number"));
  }

  // What two cells can share: keys under which both are found. Each begins with a space's name.
  const relations = {
    offset: {
      title: "index", needs: hasOffsets,
      keys: (f, spaces) => f.offset === null ? [] : [`${spaces.offset} ${f.offset}`],
    },
    linear: { title: "1-D coordinate", keys: (f, spaces) => [`${spaces.linear} ${f.linear}`] },
    thread: {
      title: "thread", keys: (f) => f.owners.map((o) => `thread ${o.thread}`), needs: hasOwners,
    },
    value: {
      title: "value", needs: hasOwners,
      keys: (f, spaces) => f.owners.map((o) => `value of ${spaces.value} ${o.value}`),
    },
  };
  const keysOf = (name, cell) => relations[name].keys(factsOf(cell), cell.panel.model.spaces);
  const cellsOf = new Map(); // key -> the cells that have it

  // What a click isolates.
  const isolationKeys = (cell) => {
    const keys = ["thread", "offset", "linear"].map((name) => keysOf(name, cell));
    return keys.find((list) => list.length > 0);
  };

  const ZOOMS = [1, 0.85, 0.7, 0.55, 0.4, 0.3];
  const READABLE = 0.55; // from which on cells have texts
  const SMALLEST = 2;    // the zoom that fitting stops at, with texts of 9 pixels
  const WIDE = 24;  // columns from which on a panel is wide
  const SHARED = 3; // panels that can stand in one row of the window if some are wide

  // {====== Drawing ======

  function makeCell(panel, i) {
    const { row, col, mark } = panel.model.cells;
    const node = element("td", { className: "cell" });
    node.setAttribute("role", "gridcell");
    if (mark && mark[i]) node.classList.add(mark[i]);
    return makeItem({ node, panel, group: panel, i, place: row[i] * panel.model.cols + col[i] });
  }

  // Lines between cells: the more nested modes begin anew, the thicker.
  function drawLine(td, side, level) {
    if (level === undefined) return;
    td.classList.add(`tile-${side}`);
    td.style.setProperty(`--${side}`, `${1 + Math.min(level, 3)}px`);
  }

  function makeTable(panel, labelledBy) {
    const { model } = panel;
    const rowLevels = new Map(model.row_groups), colLevels = new Map(model.col_groups);
    panel.table = gridTable(model, (row, col) => {
      const cell = panel.at.get(row * model.cols + col);
      const td = cell ? cell.node : element("td", { className: "cell hole" });
      drawLine(td, "top", rowLevels.get(row));
      drawLine(td, "left", colLevels.get(col));
      return td;
    });
    panel.table.setAttribute("aria-labelledby", labelledBy);
    for (const th of panel.table.querySelectorAll("th")) th.append(element("span", { className: "degree" }));
    return panel.table;
  }

  function drawPanel(panel, n) {
    const { model } = panel, lists = model.cells, id = `panel-${n}`;
    lists.row.forEach((_, i) => {
      const cell = makeCell(panel, i);
      panel.cells.push(cell);
      panel.at.set(cell.place, cell);
      for (const key of Object.keys(relations).flatMap((name) => keysOf(name, cell))) {
        if (!cellsOf.has(key)) cellsOf.set(key, []);
        cellsOf.get(key).push(cell);
      }
    });
    const title = element("h2", { id, textContent: model.title });
    if (model.note) title.append(element("small", { textContent: model.note }));
    const section = element("section", { className: "panel" }, title,
      element("p", {}, element("code", { textContent: model.text })),
      element("p", { className: "axes", textContent: model.axes }),
      element("div", { className: "scroller" }, makeTable(panel, id)));
    section.setAttribute("aria-labelledby", id);
    section.classList.toggle("wide", model.cols >= WIDE);
    if (model.place) section.style.gridArea = model.place.join(" / ");
    main.append(section);
    if (panel.cells.length > 0) makeCurrent(panel.cells[0]);
  }

  function showTexts() {
    const mode = textModes.find((m) => m.name === state.text);
    let width = 2;
    for (const panel of panels) {
      if (!isTable) width = 2; // else all cells have one width, so that columns stand in line
      for (const cell of panel.cells) {
        const text = mode.of(factsOf(cell));
        cell.node.textContent = text;
        for (const line of text.split("\n")) width = Math.max(width, line.length);
      }
      panel.table.style.setProperty("--w", widthFor(width));
    }
    if (isTable) panels.forEach(({ table }) => table.style.setProperty("--w", widthFor(width)));
    showLegend();
  }

  const widthFor = (characters) => `${Math.max(2.3, characters * 0.5 + 0.9)}rem`;

  // {====== Colours ======

  const offsetsOf = (model) => model.cells.offset.filter((o) => typeof o === "number");

  const hue = (degrees) => `oklch(.86 .085 ${degrees.toFixed(1)})`;
  const fromPalette = (n) => data.palette[n % data.palette.length];

  // Each gives a function from a cell's facts to a colour, or null for none.
  const colourings = {
    picture: {
      title: "Picture",
      fills: () => (f) => f.color === null ? null : fromPalette(f.color),
    },
    thread: {
      title: "Thread", needs: hasOwners,
      fills: () => (f) => f.owners.length > 0 ? fromPalette(f.owners[0].thread) : null,
    },
    offset: {
      title: "Index", needs: hasBanks,
      fills: () => {
        const all = panels.flatMap((p) => offsetsOf(p.model));
        const low = all.reduce((a, b) => Math.min(a, b), Infinity);
        const span = Math.max(1, all.reduce((a, b) => Math.max(a, b), -Infinity) - low);
        const hueOf = (offset) => hue(265 - 250 * (offset - low) / span); // from blue to red
        return (f) => typeof f.offset === "number" ? hueOf(f.offset) : null;
      },
    },
    bank: {
      title: "Bank", needs: hasBanks,
      fills: () => (f) => f.bank === null ? null : hue(360 * f.bank / BANKS),
    },
    none: { title: "None", fills: () => () => null },
  };

  function showColours() {
    const fillOf = colourings[state.colour].fills();
    for (const panel of panels) {
      for (const cell of panel.cells) {
        const fill = fillOf(factsOf(cell));
        cell.node.classList.toggle("plain", fill === null);
        if (fill !== null) cell.node.style.setProperty("--fill", fill);
      }
      showConflicts(panel);
    }
    main.classList.toggle("banks", state.colour === "bank");
    showLegend();
  }

  // {====== Legend: what colours and +1 mean ======

  const colouredByThread = () => state.colour === "thread" ||
    state.colour === "picture" && data.color_by === "thread";

  function legendEntry([colour, text]) {
    const swatch = element("i", { className: "colour" });
    swatch.style.setProperty("--fill", fromPalette(colour));
    return element("span", {}, swatch, text);
  }

  function showLegend() {
    const parts = [], step = data.palette.length;
    if (colouredByThread() && data.n_threads > step) {
      parts.push(element("span", { textContent: `Colour: thread mod ${step}` }));
    }
    for (const entry of data.legends[state.colour] || []) parts.push(legendEntry(entry));
    const shared = panels.some((p) => (p.model.cells.owners || []).some((o) => o.length > 2));
    if (shared && state.text === "thread") {
      parts.push(element("span", { textContent:
        "T0 V0+1: one more thread has this element; point at it to see which" }));
    }
    byId("legend").hidden = parts.length === 0;
    byId("legend").replaceChildren(...parts);
  }

  // {====== Zoom ======

  function showZoom() {
    main.style.setProperty("--zoom", ZOOMS[state.zoom]);
    main.classList.toggle("overview", ZOOMS[state.zoom] < READABLE);
    byId("scale").textContent = `${Math.round(100 * ZOOMS[state.zoom])} %`;
  }

  function zoom(step) {
    state.zoom = Math.max(0, Math.min(ZOOMS.length - 1, state.zoom + step));
    showZoom();
  }

  // A table of panels begins as small as the window asks for. If it does not fit where texts can still be
  // read, the panels stand one by one in full size, and each scrolls by itself.
  function fitWindow() {
    const isTooWide = () => main.scrollWidth > main.clientWidth;
    while (isTooWide() && state.zoom < SMALLEST) zoom(1);
    if (!isTooWide()) return;
    isTable = false;
    main.classList.remove("table");
    showTexts();
    zoom(-SMALLEST);
  }

  // Requests that shared memory needs when the lanes of a warp access these offsets in order: 128
  // bytes are served at a time, lanes that want the same word share it.
  function conflictDegree(offsets) {
    const lanes = Math.min(WARP, WARP_BYTES / state.bytes);
    let worst = 1;
    for (let first = 0; first < offsets.length; first += lanes) {
      const banks = wordsByBank(offsets.slice(first, first + lanes).map((offset) => offset * state.bytes), state.bytes);
      worst = Math.max(worst, ...banks.map((words) => words.size));
    }
    return worst;
  }

  function showConflicts(panel) {
    const { model, table } = panel;
    const shown = state.colour === "bank" && offsetsOf(model).length === panel.cells.length;
    const line = (th, isRow, at) => {
      const degree = th.querySelector(".degree");
      degree.textContent = "";
      th.title = "";
      if (!shown) return;
      const offsets = [];
      for (let k = 0; k < (isRow ? model.cols : model.rows); k++) {
        const cell = panel.at.get(isRow ? at * model.cols + k : k * model.cols + at);
        if (cell) offsets.push(model.cells.offset[cell.i]);
      }
      const n = conflictDegree(offsets);
      degree.textContent = n > 1 ? `${n}\u00d7` : "";
      const along = isRow ? "row" : "column";
      th.title = n > 1 ? `lanes along this ${along}: ${n} requests instead of 1` : "";
    };
    table.querySelectorAll("thead th").forEach((th, col) => line(th, false, col));
    table.querySelectorAll("tbody th").forEach((th, row) => line(th, true, row));
  }

  // {====== Hover and focus ======

  const marks = new Marks();

  function markSame(cell) {
    for (const name of state.same) {
      for (const key of keysOf(name, cell)) {
        for (const other of cellsOf.get(key)) marks.add(other.node, `same-${name}`);
      }
    }
  }

  function markHeads({ panel, i }) {
    const { row, col } = panel.model.cells;
    marks.add(panel.table.tHead.rows[0].cells[col[i] + 1], "crossing");
    marks.add(panel.table.tBodies[0].rows[row[i]].cells[0], "crossing");
  }

  function visit(cell) {
    if (!cell || state.here === cell) return; // beside the cells the last one stays
    state.here = cell;
    show();
  }

  function show() {
    marks.clear();
    const cell = state.here;
    if (cell) {
      marks.add(cell.node, "here");
      markSame(cell);
      markHeads(cell);
    }
    showReadout(cell);
  }

  // All the banks of an element.
  function banksText({ bank }) {
    const n = state.bytes / BANK_BYTES;
    return bank === null || n <= 1 ? bankText({ bank }) : `${bank}\u2013${(bank + n - 1) % BANKS}`;
  }

  const valuesOf = (owners, name) => {
    const shown = [...new Set(owners.map((o) => o[name]))];
    if (shown.length === 0) return NONE;
    return shown.slice(0, 6).join(", ") + (shown.length > 6 ? ", \u2026" : "");
  };

  function showReadout(cell) {
    showFacts(cell && rowsOf(cell), "Point at a cell, or go to it with Tab and the arrow keys. A click isolates.");
  }

  function rowsOf(cell) {
    const facts = factsOf(cell);
    const rows = [["panel", "Panel", cell.panel.model.title], ["crd", "Coordinate", facts.crd],
      ["linear", "1-D coordinate", facts.linear]];
    if (facts.offset !== null) rows.push(["offset", "Index", facts.offset]);
    if (facts.before !== null) rows.push(["before", "Before the swizzle", facts.before]);
    if (cell.panel.model.cells.owners) {
      rows.push(["thread", "Thread", valuesOf(facts.owners, "thread")]);
      rows.push(["value", "Value", valuesOf(facts.owners, "value")]);
    } else if (facts.byAll !== null) {
      rows.push(["thread", "Thread", "all"], ["value", "Value", facts.byAll]);
    }
    if (hasOffsets()) rows.push(["bank", "Bank", banksText(facts)]);
    if (facts.value !== null) rows.push(["element", "Element", facts.value]);
    return rows;
  }

  // {====== Isolating ======

  function showKept() {
    const threads = keptThreads().length > 0; // all threads own what is by_all
    main.classList.toggle("isolating", state.kept.size > 0);
    for (const panel of panels) {
      for (const cell of panel.cells) {
        const kept = threads && factsOf(cell).byAll !== null ||
          isolationKeys(cell).some((key) => state.kept.has(key));
        cell.node.classList.toggle("kept", kept && state.kept.size > 0);
      }
    }
  }

  const threadOf = (key) => key.startsWith("thread ") ? Number(key.slice(7)) : NaN;
  const keptThreads = () => [...state.kept].map(threadOf).filter((thread) => !isNaN(thread));

  function isolate(keys) {
    state.kept = new Set(keys);
    byId("isolate").value = keptThreads().sort((a, b) => a - b).join(", ");
    showKept();
  }

  // Scrolls a panel, not the page, so that the cell is seen.
  function reveal({ node, panel }) {
    const scroller = panel.table.parentElement;
    const box = node.getBoundingClientRect(), frame = scroller.getBoundingClientRect();
    const within = (low, high, from, to) => low >= from && high <= to;
    if (!within(box.left, box.right, frame.left, frame.right)) {
      scroller.scrollLeft += box.left - frame.left - frame.width / 2;
    }
    if (!within(box.top, box.bottom, frame.top, frame.bottom)) {
      scroller.scrollTop += box.top - frame.top - frame.height / 2;
    }
  }

  // The first isolated cell of every other panel.
  function revealKept(here) {
    for (const panel of panels) {
      const kept = panel !== here && panel.cells.find((cell) => cell.node.matches(".kept"));
      if (kept) reveal(kept);
    }
  }

  // A second click on what is isolated releases it; with shift it joins or leaves the rest.
  function toggleIsolated(cell, adding) {
    const keys = isolationKeys(cell);
    const all = keys.every((key) => state.kept.has(key));
    if (!adding) {
      isolate(all && state.kept.size === keys.length ? [] : keys);
    } else if (all) {
      isolate([...state.kept].filter((key) => !keys.includes(key)));
    } else {
      isolate([...state.kept, ...keys]);
    }
    revealKept(cell.panel);
  }

  // "0, 4-7" -> the keys of threads 0, 4, 5, 6, 7, as far as they exist
  function readThreads(text) {
    const keys = [];
    for (const [, first, last] of text.matchAll(/(\d+)(?:\s*-\s*(\d+))?/g)) {
      for (const key of cellsOf.keys()) {
        const thread = threadOf(key);
        if (thread >= Number(first) && thread <= Number(last || first)) keys.push(key);
      }
    }
    return keys;
  }

  // {====== Controls ======

  function addChoices(id, choices, now, choose) {
    const box = byId(id).querySelector(".choices");
    for (const { name, title, needs } of choices) {
      const disabled = needs !== undefined && !needs();
      const input = element("input", {
        type: "radio", name: id, value: name, checked: name === now, disabled,
      });
      box.append(element("label", { hidden: disabled }, input, title));
    }
    box.addEventListener("change", (event) => choose(event.target.value));
  }

  const choose = {
    text: (name) => { state.text = name; showTexts(); },
    colour: (name) => { state.colour = name; showColours(); },
  };

  // The same as a click on the choice, for keys.
  function press(id, at) {
    const inputs = [...byId(id).querySelectorAll("input")];
    const input = inputs[at];
    if (!input || input.disabled) return;
    input.checked = true;
    choose[id](input.value);
  }

  function pressNext(id) {
    const inputs = [...byId(id).querySelectorAll("input")];
    const now = inputs.findIndex((input) => input.checked);
    for (let step = 1; step < inputs.length; step++) {
      const at = (now + step) % inputs.length;
      if (!inputs[at].disabled) return press(id, at);
    }
  }

  function addRelations() {
    for (const [name, relation] of Object.entries(relations)) {
      if (relation.needs && !relation.needs()) continue;
      const input = element("input", {
        type: "checkbox", value: name, checked: state.same.has(name),
      });
      byId("same").append(element("label", {}, input,
        element("span", { className: `swatch ${name}` }), relation.title));
    }
    byId("same").addEventListener("change", ({ target }) => {
      state.same[target.checked ? "add" : "delete"](target.value);
      show();
    });
  }

  // {====== Events ======

  function stepFrom(cell, [rowStep, colStep]) {
    const { model, at } = cell.panel, { row, col } = model.cells;
    const clamp = (n, n_all) => Math.max(0, Math.min(n_all - 1, n));
    return at.get(clamp(row[cell.i] + rowStep, model.rows) * model.cols + clamp(col[cell.i] + colStep, model.cols))
      || null;
  }

  const PAGE = 8;
  const moves = {
    ...arrows, PageUp: [-PAGE, 0], PageDown: [PAGE, 0], Home: [0, -Infinity], End: [0, Infinity],
  };
  const corners = { Home: [-Infinity, -Infinity], End: [Infinity, Infinity] }; // with Ctrl

  function next(cell, { key, ctrlKey }) {
    const move = ctrlKey ? corners[key] : moves[key];
    return move && stepFrom(cell, move);
  }

  function onPageKey(event) {
    if (event.key === "Escape") isolate([]);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input[type=text], select")) return;
    if (event.key === "c") pressNext("colour");
    if (event.key === "-") zoom(1);
    if (event.key === "+") zoom(-1);
    if (Number(event.key) >= 1) press("text", Number(event.key) - 1);
  }

  function listen() {
    listenToItems(main, { visit, keep: toggleIsolated, next });
    document.addEventListener("keydown", onPageKey);
    byId("copy").addEventListener("click", () => copyText(byId("copy"), data.title,
      () => getSelection().selectAllChildren(byId("title"))));
    byId("smaller").addEventListener("click", () => zoom(1));
    byId("larger").addEventListener("click", () => zoom(-1));
    byId("bytes").addEventListener("change", ({ target }) => {
      state.bytes = Number(target.value);
      showTexts();
      showColours();
      show();
    });
    byId("isolate").addEventListener("input", ({ target }) => {
      state.kept = new Set(readThreads(target.value));
      showKept();
    });
    document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  }

  // {====== The page ======

  // Open where there is room, and as the reader leaves them elsewhere.
  function addFolds() {
    const roomy = matchMedia("(min-width: 60rem) and (min-height: 36rem)"); // as in page.css
    const fold = () => {
      for (const details of document.querySelectorAll(".fold")) details.open = roomy.matches;
    };
    byId("how").hidden = data.derived.length === 0;
    roomy.addEventListener("change", fold);
    fold();
  }

  byId("copy").hidden = false;
  for (const [name, text] of data.derived) {
    byId("derived").append(element("dt", { textContent: name }),
      element("dd", {}, element("code", { textContent: text })));
  }
  addFolds();
  panels.forEach(drawPanel);
  main.classList.toggle("table", isTable);
  main.classList.toggle("shared", !isTable && panels.length <= SHARED &&
    panels.some((p) => p.model.cols >= WIDE));
  addChoices("text", textModes, state.text, choose.text);
  addChoices("colour", Object.entries(colourings).map(([name, c]) => ({ name, ...c })),
    state.colour, choose.colour);
  addRelations();
  byId("bytes").value = String(state.bytes);
  byId("element").hidden = !hasBanks();
  byId("threads").hidden = !hasOwners();
  showTexts();
  showColours();
  showReadout(null);
  showZoom();
  if (isTable) fitWindow();
  if (data.thread !== undefined) isolate([`thread ${data.thread}`]);
  listen();
})();
