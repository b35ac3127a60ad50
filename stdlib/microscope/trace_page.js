// trace_page.js: the page of a trace. #data holds {title, grid, block: extents, sources: [{name,
// first, lines}], lines: [[source, number]...], threads: [[block, thread]...], panels, events:
// [[kind, line, thread, times(, panel, cell)]...]}, kind 0 a read, 1 a write, 2 a computation. A panel
// is {name, space, block (of shared memory), layout, bytes, rows, cols, row0, col0, wanted (the traced
// cell), outside (cells that are not drawn), row, col, offset, crd: lists by cell}.
// Items have a type, "line", "thread" or "cell", and a key: that of their events.
(() => {
  const READ = 0, WRITE = 1, LISTED = 5;

  const newGroup = () => ({ items: [], current: null });
  const groups = { line: newGroup(), thread: newGroup(), cells: data.panels.map(newGroup) };
  const state = { here: null, kept: null }; // the item pointed at, the one that was clicked

  // {====== Events ======

  const events = data.events.map(([kind, line, thread, times, panel, cell]) =>
    ({ kind, line, thread, times, panel, cell }));
  const keyOf = {
    line: (event) => event.line, thread: (event) => event.thread,
    cell: (event) => event.panel === undefined ? undefined : `${event.panel} ${event.cell}`,
  };
  const eventsOf = { line: new Map(), thread: new Map(), cell: new Map() };
  for (const event of events) {
    for (const type of Object.keys(keyOf)) {
      const key = keyOf[type](event);
      if (key === undefined) continue;
      if (!eventsOf[type].has(key)) eventsOf[type].set(key, []);
      eventsOf[type].get(key).push(event);
    }
  }
  const eventsAt = (item) => eventsOf[item.type].get(item.key) || [];

  // {====== Drawing ======

  function addItem(group, type, key, node, more) {
    const item = makeItem({ type, key, node, group, ...more });
    group.items.push(item);
    nodeOf[type].set(key, node);
  }

  const nodeOf = { line: new Map(), thread: new Map(), cell: new Map() };

  const indexText = (index, extents) => `${index} ${coordinateText(index, extents)}`.trim();

  function noteOf(line) {
    const own = eventsOf.line.get(line);
    const threads = new Set(own.map((event) => event.thread)).size;
    const times = own.reduce((most, event) => Math.max(most, event.kind > WRITE ? event.times : 0), 0);
    return count(threads, "thread") + (times > 1 ? ` \u00b7 ${times}\u00d7` : "");
  }

  function drawSource(source, index) {
    const list = element("ol"), lineAt = new Map();
    data.lines.forEach(([of, number], line) => { if (of === index) lineAt.set(number, line); });
    for (const [number, row] of listSource(list, source, (n) => lineAt.has(n))) {
      const line = lineAt.get(number);
      row.append(element("span", { className: "note", textContent: noteOf(line) }));
      addItem(groups.line, "line", line, row);
    }
    byId("sources").append(element("section", { className: "card source" },
      element("h2", { textContent: source.name }), element("div", { className: "code" }, list)));
  }

  function drawThreads() {
    const warps = new Map();
    data.threads.forEach(([block, thread], index) => {
      const key = `${block} ${Math.floor(thread / WARP)}`;
      if (!warps.has(key)) warps.set(key, []);
      warps.get(key).push({ block, thread, index });
    });
    const order = (a, b) => a[0].block - b[0].block || a[0].thread - b[0].thread;
    const lists = [...warps.values()].map((l) => l.sort((a, b) => a.thread - b.thread)).sort(order);
    const some = new Set(lists.map((list) => list[0].block)).size > 1;
    for (const list of lists) {
      const { block, thread } = list[0];
      const name = `${some ? `block ${block}, ` : ""}warp ${Math.floor(thread / WARP)}`;
      const chips = element("div");
      for (const { thread: t, index } of list) {
        const chip = element("span", { className: "thread", textContent: t });
        chip.setAttribute("role", "button");
        chip.setAttribute("aria-label", `thread ${t}`);
        addItem(groups.thread, "thread", index, chip);
        chips.append(chip);
      }
      byId("warps").append(element("div", { className: "warp" },
        element("span", { textContent: name }), chips));
    }
    byId("threads").hidden = lists.length === 0;
  }

  const glyphs = { read: "r", write: "w", both: "rw" };

  function roleOf(key) {
    const kinds = new Set((eventsOf.cell.get(key) || []).map((event) => event.kind));
    if (kinds.has(READ) && kinds.has(WRITE)) return "both";
    return kinds.has(WRITE) ? "write" : kinds.has(READ) ? "read" : "";
  }

  function makeCell(panel, at, cell) {
    const key = `${at} ${cell}`, role = roleOf(key);
    const td = element("td", { className: `cell ${role}`, textContent: glyphs[role] || "" });
    td.setAttribute("aria-label", `${panel.name}${panel.crd[cell]} ${role}`);
    if (panel.wanted === cell) td.classList.add("wanted");
    addItem(groups.cells[at], "cell", key, td, { panel, cell, row: panel.row[cell], col: panel.col[cell] });
    return td;
  }

  function makeTable(panel, at) {
    const cellAt = new Map();
    panel.row.forEach((row, cell) => cellAt.set(row * panel.cols + panel.col[cell], cell));
    return gridTable(panel, (row, col) => {
      const cell = cellAt.get(row * panel.cols + col);
      return cell === undefined ? element("td", { className: "cell" }) : makeCell(panel, at, cell);
    });
  }

  function drawPanel(panel, at) {
    const where = panel.space === "shared" ? "shared" +
      (data.panels.some((p) => p.name === panel.name && p.block !== panel.block)
        ? `, block ${panel.block}` : "") : "global";
    const title = element("h2", { textContent: panel.name },
      element("small", { textContent: `${where} ${panel.layout}` }));
    const card = element("section", { className: "card" }, title);
    if (panel.outside > 0) {
      card.append(element("p", { textContent: `${count(panel.outside, "more element")} outside` }));
    }
    card.append(element("div", { className: "scroller" }, makeTable(panel, at)));
    byId("panels").append(card);
  }

  // {====== Pointing ======

  const marks = new Marks();

  function show() {
    marks.clear();
    const item = state.here || state.kept;
    document.body.classList.toggle("pointing", item !== null);
    document.body.classList.toggle("kept", state.kept !== null);
    if (item) {
      marks.add(item.node, "here", "lit");
      for (const event of eventsAt(item)) {
        marks.add(nodeOf.line.get(event.line), "lit");
        marks.add(nodeOf.thread.get(event.thread), "lit");
        const cell = nodeOf.cell.get(keyOf.cell(event));
        if (cell) marks.add(cell, "lit", event.kind === WRITE ? "lit-write" : "lit-read");
      }
    }
    showReadout(item);
  }

  function visit(item) {
    if (state.here === item) return;
    state.here = item;
    show();
  }

  function keep(item) {
    state.kept = state.kept === item ? null : item;
    show();
  }

  // {====== Readout ======

  const unique = (list) => [...new Set(list)];

  const byNumber = (a, b) => a - b;
  const listedOrNone = (texts) => listed(texts, LISTED) || "\u2013";

  function threadsText(found) {
    const own = unique(found.map((event) => event.thread)).map((at) => data.threads[at]);
    const blocks = unique(own.map(([block]) => block)).length > 1;
    own.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (own.length === 1) return indexText(own[0][1], data.block);
    return listedOrNone(own.map(([block, thread]) => blocks ? `${block}:${thread}` : String(thread)));
  }

  function linesText(found) {
    return listedOrNone(unique(found.map((event) => data.lines[event.line][1])).sort(byNumber));
  }

  function cellsText(found, kind) {
    const own = unique(found.filter((event) => event.kind === kind).map(keyOf.cell))
      .map((key) => key.split(" ").map(Number));
    const placeOf = ([panel, cell]) =>
      data.panels[panel].row[cell] * data.panels[panel].cols + data.panels[panel].col[cell];
    own.sort((a, b) => a[0] - b[0] || placeOf(a) - placeOf(b));
    return listedOrNone(own.map(([panel, cell]) => data.panels[panel].name + data.panels[panel].crd[cell]));
  }

  const factsOf = {
    line: (item, found) => {
      const [source, number] = data.lines[item.key];
      return [["line", "Line", `${data.sources[source].name}:${number}`],
        ["thread", "Threads", threadsText(found)], ["read", "Reads", cellsText(found, READ)],
        ["write", "Writes", cellsText(found, WRITE)]];
    },
    thread: (item, found) => {
      const [block, thread] = data.threads[item.key];
      return [["thread", "Thread", indexText(thread, data.block)],
        ["block", "Block", indexText(block, data.grid)], ["line", "Lines", linesText(found)],
        ["read", "Reads", cellsText(found, READ)], ["write", "Writes", cellsText(found, WRITE)]];
    },
    cell: (item, found) => {
      const { panel, cell } = item, of = (kind) => found.filter((event) => event.kind === kind);
      const facts = [["element", "Element", panel.name + panel.crd[cell]],
        ["offset", "Offset", panel.offset[cell]]];
      if (panel.space === "shared") facts.push(["bank", "Bank", bankOf(panel.offset[cell], panel.bytes)]);
      for (const [kind, name, title] of [[WRITE, "write", "Written"], [READ, "read", "Read"]]) {
        if (of(kind).length === 0) continue;
        facts.push([name, `${title} by thread`, threadsText(of(kind))]);
        facts.push([`${name}-line`, `${title} at line`, linesText(of(kind))]);
      }
      return facts;
    },
  };

  function showReadout(item) {
    showFacts(item && factsOf[item.type](item, eventsAt(item)), data.events.length > 0
      ? "Point at a line, a thread or an element, or go to it with Tab and the arrow keys."
      : "No thread writes this element.");
  }

  // {====== Keys ======

  // The nearest other one in a direction, near the line through this one.
  function nearest(item, rowStep, colStep) {
    let best = null, least = Infinity;
    for (const other of item.group.items) {
      const rows = other.row - item.row, cols = other.col - item.col;
      const along = rows * rowStep + cols * colStep;
      const aside = Math.abs(rows * colStep) + Math.abs(cols * rowStep);
      if (along > 0 && along + 8 * aside < least) {
        best = other;
        least = along + 8 * aside;
      }
    }
    return best;
  }

  function next(item, { key, ctrlKey }) {
    const { items } = item.group, step = arrows[key];
    if (ctrlKey) return undefined;
    if (key === "Home") return items[0];
    if (key === "End") return items[items.length - 1];
    if (!step) return undefined;
    return item.type === "cell" ? nearest(item, ...step) : items[items.indexOf(item) + step[0] + step[1]] || null;
  }

  function listen() {
    listenToItems(document, { visit, keep, next });
    document.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      state.kept = state.here = null;
      show();
    });
  }

  // {====== The page ======

  const blocks = unique(data.threads.map(([block]) => block)).sort(byNumber);
  byId("summary").textContent = blocks.length === 0 ? "no thread writes it" :
    `${blocks.length === 1 ? `block ${indexText(blocks[0], data.grid)}` : count(blocks.length, "block")}, ` +
    `${count(data.threads.length, "thread")}, ${count(data.lines.length, "line")}`;
  data.sources.forEach(drawSource);
  drawThreads();
  data.panels.forEach(drawPanel);
  for (const { items } of [groups.line, groups.thread, ...groups.cells]) if (items[0]) makeCurrent(items[0]);
  for (const box of document.querySelectorAll(".code")) {
    const first = box.querySelector(".marked");
    if (first) box.scrollTop = Math.max(0, first.offsetTop - box.offsetTop - 60);
  }
  showReadout(null);
  listen();
})();
