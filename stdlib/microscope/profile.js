// profile.js: the page of a Profile. Data: {title, kernels}: as docs/debugging.md says of JSON, each
// kernel also with `verdict` and `summary` (texts), `units` ([{name, ms, text}], the slowest first),
// `listing` ([{line, source, figures}], figures an index in `lines` or false), of each line `texts`
// {products, flops, cost, by} and of each access `texts` {width, each, efficiency}.
(() => {
const SVG = "http://www.w3.org/2000/svg";
const LANES = WARP, SECTOR = 32;

function make(tag, text, attributes) {
  const e = element(tag, { textContent: text ?? "" });
  for (const name in attributes || {}) e.setAttribute(name, attributes[name]);
  return e;
}
function draw(parent, tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const name in attributes) e.setAttribute(name, attributes[name]);
  if (text !== undefined) e.textContent = text;
  parent.appendChild(e);
  return e;
}
function short(n) {
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) { n /= 1000; i++; }
  return i === 0 ? String(Number(n.toPrecision(3))) : n.toPrecision(3) + units[i];
}
// 66.9 Tflop/s
const quantity = (n, unit) => short(n).replace(/[kMGTP]?$/, " $&") + unit;
const colour = (lane) => `hsl(${(lane * 360) / LANES} 65% 55%)`;

// {====== What a request touches ======

const elementBytes = (access) => access.bits / 8 / access.vec;

// Phases of a request on shared memory: lists of lanes. The rules are those of runtime/simt/simt_banks.h.
function phasesOf(access, pattern) {
  const bytes = access.bits / 8, at = pattern.offsets;
  const same = (by) => at.every((o, i) => o === false || at[i ^ by] === false || o === at[i ^ by]);
  let n = bytes > 8 ? 4 : bytes > BANK_BYTES ? 2 : 1;
  if (n > 1 && access.op === "load" && (same(1) || same(2))) n /= 2;
  const lanes = [...Array(LANES).keys()];
  return [...Array(n).keys()]
    .map((i) => lanes.slice((i * LANES) / n, ((i + 1) * LANES) / n).filter((l) => at[l] !== false))
    .filter((list) => list.length > 0);
}

function sectorsOf(access, offset) {
  const first = offset * elementBytes(access);
  const last = first + access.bits / 8 - 1;
  const out = [];
  for (let s = Math.floor(first / SECTOR); s <= Math.floor(last / SECTOR); s++) out.push(s);
  return out;
}

// {====== The picture: lanes above, banks or sectors below ======

const CELL = 17, LEFT = 4, GAP = 60;

function drawLanes(svg, pattern, y) {
  for (let lane = 0; lane < LANES; lane++) {
    const on = pattern.offsets[lane] !== false, x = LEFT + lane * CELL;
    const g = draw(svg, "g", { "data-lane": lane, class: on ? "lane" : "lane off" });
    draw(g, "rect", { x, y, width: CELL - 2, height: 15, rx: 2, fill: on ? colour(lane) : "none" });
    draw(g, "text", { x: x + CELL / 2 - 1, y: y + 11 }, String(lane));
    draw(g, "title", {}, on ? `lane ${lane}: element ${pattern.offsets[lane]}` : `lane ${lane}: idle`);
  }
}
function link(svg, lane, y, x2, y2) {
  const x = LEFT + lane * CELL + CELL / 2 - 1;
  draw(svg, "path", { d: `M${x} ${y} C${x} ${y + 25} ${x2} ${y2 - 25} ${x2} ${y2}`, stroke: colour(lane) });
}

function drawBanks(svg, access, pattern) {
  let y = 18;
  for (const lanes of phasesOf(access, pattern)) {
    const words = wordsByBank(lanes.map((lane) => pattern.offsets[lane] * elementBytes(access)), access.bits / 8);
    const most = Math.max(...words.map((m) => m.size));
    draw(svg, "text", { x: LEFT, y: y - 5, class: "label" },
      `lanes ${lanes[0]} to ${lanes[lanes.length - 1]}: ${count(most, "wavefront")}`);
    drawLanes(svg, { offsets: pattern.offsets.map((o, i) => (lanes.includes(i) ? o : false)) }, y);
    const below = y + 15 + GAP;
    words.forEach((map, bank) => {
      const x = LEFT + bank * CELL;
      draw(svg, "rect", { x, y: below, width: CELL - 2, height: 15, rx: 2, class: "empty" });
      draw(svg, "text", { x: x + CELL / 2 - 1, y: below + 11 }, String(bank));
      let at = below + 17;
      for (const [w, places] of map) {
        const users = places.map((i) => lanes[i]);
        const g = draw(svg, "g", {});
        draw(g, "rect", { x, y: at, width: CELL - 2, height: 9, rx: 1, fill: colour(users[0]), class: "word" });
        draw(g, "title", {}, `bank ${bank}, word ${w}: lanes ${users.join(", ")}`);
        at += 10;
      }
      for (const i of [...map.values()].flat()) link(svg, lanes[i], y + 15, x + CELL / 2 - 1, below);
    });
    y = below + 17 + most * 10 + 26;
  }
  return y - 12;
}

function drawSectors(svg, access, pattern) {
  const users = new Map();
  pattern.offsets.forEach((o, lane) => {
    if (o === false) return;
    for (const s of sectorsOf(access, o)) users.set(s, (users.get(s) || []).concat(lane));
  });
  const sectors = [...users.keys()].sort((a, b) => a - b);
  const wide = Math.max(1, Math.min(4, Math.floor(LANES / Math.max(sectors.length, 1))));
  const y = 18, below = y + 15 + GAP;
  draw(svg, "text", { x: LEFT, y: y - 5, class: "label" },
    `${count(sectors.length, "sector")} of 32 bytes`);
  drawLanes(svg, pattern, y);
  sectors.forEach((s, i) => {
    const width = wide * CELL - 2, row = Math.floor((i * wide) / LANES);
    const x = LEFT + ((i * wide) % LANES) * CELL, top = below + row * 34;
    const g = draw(svg, "g", { class: "sector" });
    draw(g, "rect", { x, y: top, width, height: 15, rx: 2, class: "empty" });
    for (const lane of users.get(s)) {
      const first = pattern.offsets[lane] * elementBytes(access) - s * SECTOR;
      const from = Math.max(first, 0), to = Math.min(first + access.bits / 8, SECTOR);
      draw(g, "rect", { x: x + (from / SECTOR) * width, y: top, width: ((to - from) / SECTOR) * width,
        height: 15, fill: colour(lane), stroke: "none" });
      link(svg, lane, y + 15, x + width / 2, top);
    }
    draw(g, "title", {}, `sector ${s}: lanes ${users.get(s).join(", ")}`);
    if (wide > 1 || sectors.length <= 4) {
      draw(g, "text", { x: x + width / 2, y: top + 27 }, String(s));
    }
  });
  return below + (Math.ceil((sectors.length * wide) / LANES) || 1) * 34 + 4;
}

function picture(access, pattern) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("role", "img");
  const what = access.space === "shared" ? "banks" : "sectors";
  svg.setAttribute("aria-label", `32 lanes onto ${what}: ${pattern.cost} of them at best ${pattern.ideal}`);
  const height = (access.space === "shared" ? drawBanks : drawSectors)(svg, access, pattern);
  svg.setAttribute("viewBox", `0 0 ${2 * LEFT + LANES * CELL} ${height}`);
  return svg;
}

// {====== The roofline: what memory and each unit of arithmetic allow ======

const WIDE = 460, HIGH = 190, EDGE = 8, FIRST = -1, LAST = 4; // powers of ten of flops a byte

function drawRoofline({ roofline: r, totals, launches, predicted }) {
  const top = Math.log10(r.peak_tensor_flops) + .5, low = Math.log10(r.peak_bytes) + FIRST;
  const x = (v) => EDGE + (Math.log10(v) - FIRST) / (LAST - FIRST) * (WIDE - 2 * EDGE);
  const y = (v) => EDGE + (top - Math.log10(v)) / (top - low) * (HIGH - 2 * EDGE - 14);
  const svg = document.createElementNS(SVG, "svg"), at = (v, w) => `${x(v).toFixed(1)} ${y(w).toFixed(1)}`;
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const roofs = [
    { kind: "tensor", name: "tensor cores, 16 bits", peak: r.peak_tensor_flops, balance: r.tensor_balance,
      flops: totals.tensor_flops, intensity: r.tensor_intensity },
    { kind: "f32", name: "f32", peak: r.peak_flops, balance: r.balance, flops: totals.flops, intensity: r.intensity },
  ];
  const said = [];
  for (const { kind, name, peak, balance, flops, intensity } of roofs) {
    const ridge = at(balance, peak), from = kind === "f32" ? `M${ridge}` : `M${at(10 ** FIRST, r.peak_bytes * 10 ** FIRST)}L${ridge}`;
    draw(svg, "path", { d: `${from}L${at(10 ** LAST, peak)}`, class: `roof ${kind}` });
    draw(svg, "text", { x: WIDE - EDGE, y: y(peak) - 5, style: "text-anchor: end" }, `${name} ${quantity(peak, "flop/s")}`);
    if (!(flops > 0 && intensity > 0)) continue;
    const roof = Math.min(peak, intensity * r.peak_bytes);
    const speed = predicted.ms ? flops / launches / predicted.ms * 1e3 : roof;
    const place = Math.min(Math.max(intensity, 10 ** FIRST), 10 ** LAST);
    const [cx, cy] = [x(place), y(Math.max(speed, 10 ** low))];
    draw(svg, "path", { d: `M${cx} ${cy}L${cx} ${y(Math.max(roof, 10 ** low))}`, class: `roof ${kind}`, "stroke-dasharray": "3 3" });
    draw(draw(svg, "circle", { cx, cy, r: 5, class: kind }), "title", {}, `${name}: ${quantity(speed, "flop/s")}`);
    said.push(`${name}: ${intensity.toPrecision(3)} flops a byte, the roof is ${quantity(roof, "flop/s")}${predicted.ms ? `, predicted are ${quantity(speed, "flop/s")}` : ""}`);
  }
  draw(svg, "text", { x: x(1) + 14, y: y(r.peak_bytes) + 8 }, `memory ${quantity(r.peak_bytes, "B/s")}`);
  draw(svg, "text", { x: EDGE, y: HIGH - 4, class: "label" }, `${10 ** FIRST}`);
  draw(svg, "text", { x: WIDE / 2, y: HIGH - 4, class: "label", style: "text-anchor: middle" }, "flops a byte of memory");
  draw(svg, "text", { x: WIDE - EDGE, y: HIGH - 4, class: "label", style: "text-anchor: end" }, `${10 ** LAST}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Roofline of ${r.device}. ${said.join("; ") || "No flops."}`);
  return svg;
}

// The least time on each unit, as bars.
function boundsList({ units }) {
  const list = make("dl");
  for (const { name, ms, text } of units) {
    const bar = make("dd", "", { class: "bar" });
    bar.style.width = `${100 * ms / units[0].ms}%`;
    list.append(make("dt", name), make("dd", text), bar);
  }
  return list;
}

// {====== The page ======

let kernel = null, order = "line";

function addTerm(list, name, text, kind) {
  if (!text) return;
  list.append(make("dt", name), make("dd", text, kind ? { class: kind } : {}));
}

let shown = null; // the access

function markShown() {
  for (const b of document.querySelectorAll(".accesses button")) b.setAttribute("aria-pressed", b.access === shown);
}

function showAccess(line, access) {
  shown = access;
  markShown();
  const box = byId("access"), list = make("dl");
  box.replaceChildren(make("h2", `line ${line.line}: ${access.op} ${access.tensor}`), list);
  const of = access.is_box ? "by boxes of TMA" : `${access.bits} bits of a lane${access.async ? ", cp.async" : ""}`;
  addTerm(list, "Width", `${access.texts.width}, ${of}`);
  addTerm(list, "Not wider", access.fix && `${access.reason}`);
  addTerm(list, "Instead", access.fix);
  addTerm(list, "Requests", `${access.requests.toLocaleString("en")} of ${access.is_box ? "boxes" : "warps"}, ${quantity(access.bytes, "B")} asked for`);
  addTerm(list, "A request", access.texts.each);
  addTerm(list, access.space === "shared" ? "Conflicts" : "Efficiency", access.texts.efficiency);
  addTerm(list, "Compiled", access.merged_bits && access.asked
    && `accesses of ${access.merged_bits} bits of neighbours; as written ${access.asked.requests.toLocaleString("en")} requests`);
  addTerm(list, "Merged", access.widest
    && `${access.widest.requests.toLocaleString("en")} requests if the compiler merges neighbours`);
  addTerm(list, "Not certain", access.is_unsure
    && "the compiler has dropped, moved or copied accesses of the line; how often each is made is not known");
  addTerm(list, "Remark", access.remark, "bad");
  if (access.patterns.length === 0) {
    box.append(make("p", access.is_box ? "TMA copies whole boxes: no lanes take part."
      : "The first block did not come by here: there is no sample.", { class: "hint" }));
    return;
  }
  const figure = make("figure", null, { tabindex: 0, "aria-label": "The request" }), choose = make("select", null, { id: "pattern", "aria-label": "Request" });
  access.patterns.forEach((p, i) => choose.append(make("option",
    `warp ${p.warp}, ${p.cost} ${access.space === "shared" ? "wavefronts" : "sectors"}, ${p.count} times`, { value: i })));
  const show = () => figure.replaceChildren(picture(access, access.patterns[Number(choose.value)]));
  choose.addEventListener("change", show);
  box.append(make("figcaption", access.space === "shared"
    ? "Lanes onto banks; bank 0 is that of the tensor's first element. Boxes below a bank are its different words."
    : "Lanes onto sectors of 32 bytes, counted from the tensor's first element."), choose, figure);
  show();
}

function accessButton(line, access) {
  const b = make("button", null, { type: "button", "aria-pressed": access === shown });
  b.access = access;
  const good = access.space === "global" ? access.efficiency > 0.99 : access.conflicts === 0;
  b.append(`${access.op} ${access.tensor} ${access.texts.width}, ${access.texts.each}, `,
    make("span", access.texts.efficiency, { class: good ? "good" : "bad" }));
  b.addEventListener("click", () => showAccess(line, access));
  return b;
}

function eventsOf(line) {
  const words = [];
  if (line.barriers > 0) words.push("barrier");
  if (line.shuffles > 0) words.push(`${short(line.shuffles)} shuffles`);
  if (line.votes > 0) words.push(`${short(line.votes)} votes`);
  if (line.branches > 0) words.push(`branch, ${short(line.splits)} of ${short(line.branches)} split`);
  return words.join("; ");
}

function lineRow(entry) {
  const line = entry.figures === false ? null : kernel.lines[entry.figures];
  const row = make("tr", null, { class: line ? (line.partial > 0 ? "partial" : "") : "quiet", "data-line": entry.line });
  const names = ["", "", "runs", "lanes", "arithmetic", "cost"];
  const cell = (text, ...more) => {
    const td = make("td", text, { "data-name": names[row.children.length] });
    td.append(...more);
    row.append(td);
  };
  const small = (text) => text ? [make("small", text)] : [];
  const accesses = make("div", null, { class: "accesses" });
  cell(String(entry.line));
  cell("", make("div", entry.source, { class: "source" }), accesses);
  if (line) accesses.append(...line.accesses.map((a) => accessButton(line, a)), ...small(eventsOf(line)));
  cell(line ? short(line.executions) : "");
  cell(line ? line.active_lanes.toFixed(1) : "");
  cell(line ? line.texts.products : "", ...small(line && line.texts.flops));
  cell(line ? line.texts.cost : "", ...small(line && line.texts.by));
  return row;
}

// The lines in the order of the source, or those with figures by their cost.
function showLines() {
  const costOf = ({ figures }) => kernel.lines[figures].cost_ms;
  const entries = order === "line" ? kernel.listing
    : kernel.listing.filter(({ figures }) => figures !== false).sort((a, b) => costOf(b) - costOf(a));
  document.querySelector("#lines tbody").replaceChildren(...entries.map(lineRow));
  for (const th of document.querySelectorAll("#lines [data-order]")) {
    th.removeAttribute("aria-sort");
    if (th.dataset.order === order) th.setAttribute("aria-sort", order === "line" ? "ascending" : "descending");
  }
}

function showKernel(i) {
  kernel = data.kernels[i];
  const texts = (list) => list.map((text) => make("p", text));
  byId("verdict").replaceChildren(...texts(kernel.verdict));
  byId("bounds").replaceChildren(...(kernel.refused ? [] : [boundsList(kernel), drawRoofline(kernel)]));
  byId("summary").replaceChildren(...texts(kernel.summary));
  showLines();
  byId("access").replaceChildren(make("p", "No access of this kernel is in memory.", { class: "hint" }));
  if (!kernel.worst) return;
  const line = kernel.lines[kernel.worst.line - 1];
  showAccess(line, line.accesses[kernel.worst.access - 1]);
}

// Arrow keys walk over the accesses.
byId("lines").addEventListener("keydown", (e) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  const buttons = [...document.querySelectorAll(".accesses button")];
  const at = buttons.indexOf(document.activeElement);
  if (!step || at < 0 || !buttons[at + step]) return;
  e.preventDefault();
  buttons[at + step].focus();
});
for (const th of document.querySelectorAll("#lines [data-order]")) {
  th.firstChild.addEventListener("click", () => { order = th.dataset.order; showLines(); });
}
data.kernels.forEach((k, i) => byId("kernel").append(make("option", `${i + 1}: ${k.name}`, { value: i })));
byId("choose").hidden = data.kernels.length < 2;
byId("kernel").addEventListener("change", () => showKernel(Number(byId("kernel").value)));
showKernel(0);
})();
