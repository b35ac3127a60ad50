// launch_page.js: the page of a launch: for each block and thread its parts of the tensors, step by
// step. #data holds {title, kernel, grid, block: extents, left_out (blocks), palette, loop (the name
// that counts its turns) or absent, steps: [number...], source: {name, first, lines}, roles: [[first
// warp, last, what it does]...], sites: [[line, tensor, how, names]...], tensors, vecs, shapes,
// programs, blocks}. `how` has r and w for reads and writes, b for boxes of TMA, m for wgmma; an even
// step is turn step / 2 of a loop. A tensor is {name, space, dtype, text, sizes, strides: of its modes, flat, n_rows (how many
// of these lie along the rows), swizzle: [bits, base, shift] or absent}. The head of
// launch_parts.lua explains vecs, shapes, programs and blocks.
(() => {
  const READ = 1, WRITE = 2;
  const product = (list) => list.reduce((a, b) => a * b, 1);
  const nBlocks = product(data.grid), nThreads = product(data.block);
  const state = { block: 0, thread: 0, step: 0, line: null };
  let here = {}; // what the pointer is at: it stands for that of the state meanwhile
  const now = (name) => here[name] ?? state[name];

  // {====== Data ======

  const known = new Map();
  function vector(number) {
    if (!known.has(number)) {
      const [first, ...runs] = data.vecs[number], list = [first];
      for (let i = 0; i < runs.length; i += 2) {
        for (let k = 0; k < runs[i + 1]; k++) list.push(list[list.length - 1] + runs[i]);
      }
      known.set(number, list);
    }
    return known.get(number);
  }

  const shapes = data.shapes.map(([site, threads, offsets, elems, ...runs]) => {
    const [line, tensor, how] = data.sites[site];
    const kind = (how.includes("r") ? READ : 0) | (how.includes("w") ? WRITE : 0);
    return { site, line, tensor, kind, threads, offsets, elems, runs };
  });

  // What is added to the base at a step, once for each time that the access takes place there.
  function placesAt({ runs }, step) {
    const found = [];
    for (let i = 0; i < runs.length; i += 5) {
      const [first, by, n, add, addBy] = runs.slice(i, i + 5);
      if (by === 0 && step === first) for (let j = 0; j < n; j++) found.push(add + j * addBy);
      const j = (step - first) / by;
      if (by > 0 && Number.isInteger(j) && j >= 0 && j < n) found.push(add + j * addBy);
    }
    return found;
  }

  const tracksOf = (block) => {
    const [program, ...bases] = data.blocks[block];
    return program === undefined ? []
      : data.programs[program].map((shape, i) => ({ shape: shapes[shape], base: bases[i] }));
  };

  // offset -> the threads that begin there.
  function startsOf(shape) {
    if (!shape.starts) {
      const threads = vector(shape.threads), starts = new Map();
      vector(shape.offsets).forEach((offset, i) => {
        if (!starts.has(offset)) starts.set(offset, []);
        starts.get(offset).push(threads[i]);
      });
      shape.starts = starts;
    }
    return shape.starts;
  }

  const isShown = ({ line }) => now("line") === null || now("line") === line;

  // {shape, base, adds} of what takes place in a block at a step, at a tensor or, without one, at all.
  const atStep = (block, step, tensor) => tracksOf(block)
    .filter(({ shape }) => isShown(shape) && (tensor === undefined || shape.tensor === tensor.number))
    .map(({ shape, base }) => ({ shape, base, adds: placesAt(shape, step) }))
    .filter(({ adds }) => adds.length > 0);

  // visit(shape, offset, threads) of each element; of one thread or, where that is null, of all.
  function visitStep({ block, step, thread, tensor }, visit) {
    for (const { shape, base, adds } of atStep(block, step, tensor)) {
      const elems = vector(shape.elems);
      for (const [offset, threads] of startsOf(shape)) {
        if (thread !== null && !threads.includes(thread)) continue;
        for (const add of adds) {
          for (const e of elems) visit(shape, base + add + offset + e, threads);
        }
      }
    }
  }

  // {====== Tensors: from offsets to rows and columns ======

  const MAX_TABLE = 1 << 17, FOLD = 64;

  const swizzled = ([bits, base, shift], at) => {
    const mask = (2 ** bits - 1) * 2 ** (base + Math.max(shift, 0));
    return at ^ (shift >= 0 ? (at & mask) >> shift : (at & mask) << -shift);
  };

  // How wide the rectangle is that a row of n is folded into.
  const foldOf = (n) => n <= FOLD ? n : 2 ** Math.ceil(Math.log2(Math.sqrt(4 * n)));

  class Tensor {
    constructor(model, number) {
      Object.assign(this, model, { number });
      if (product(this.sizes.slice(this.n_rows)) === 1) this.n_rows = 0; // a column is drawn as a row
      this.rows = product(this.sizes.slice(0, this.n_rows));
      this.cols = product(this.sizes.slice(this.n_rows));
      if (this.rows * this.cols <= MAX_TABLE) this.makeTable();
      this.modes = this.sizes.map((size, i) => ({ size, stride: this.strides[i], i }))
        .filter(({ size, stride }) => size > 1 && stride > 0).sort((a, b) => b.stride - a.stride);
    }

    makeTable() {
      const last = this.sizes.reduce((sum, size, i) => sum + (size - 1) * Math.abs(this.strides[i]), 0);
      this.table = new Int32Array(2 ** Math.ceil(Math.log2(last + 1))).fill(-1);
      for (let k = this.rows * this.cols - 1; k >= 0; k--) {
        let rest = k, at = 0;
        this.sizes.forEach((size, i) => {
          at += rest % size * this.strides[i];
          rest = Math.floor(rest / size);
        });
        if (this.swizzle) at = swizzled(this.swizzle, at);
        this.table[at] = k % this.rows * this.cols + Math.floor(k / this.rows);
      }
    }

    divided(offset) {
      const crd = this.sizes.map(() => 0);
      for (const { size, stride, i } of this.modes) {
        crd[i] = Math.min(Math.floor(offset / stride), size - 1);
        offset -= crd[i] * stride;
      }
      if (offset !== 0) return undefined;
      let row = 0, col = 0, step = 1;
      crd.forEach((at, i) => {
        if (i === this.n_rows) step = 1;
        if (i < this.n_rows) row += at * step; else col += at * step;
        step *= this.sizes[i];
      });
      return row * this.cols + col;
    }

    // The number of the cell, row by row; undefined: no element is there.
    cellOf(offset) {
      if (!this.table) return this.divided(offset);
      const cell = this.table[offset];
      return cell >= 0 ? cell : undefined;
    }

    textOf(cell) {
      const row = Math.floor(cell / this.cols), col = cell % this.cols;
      return this.rows === 1 ? `(${col})` : `(${row},${col})`;
    }
  }

  const tensors = data.tensors.map((model, i) => new Tensor(model, i));
  const inSpace = (...spaces) => tensors.filter(({ space }) => spaces.includes(space));
  const kindsOf = tensors.map(() => 0);
  for (const { tensor, kind } of shapes) kindsOf[tensor] |= kind;

  // A, B and C of a product: C is written, A is as high as C, and B is (N,K) or (K,N).
  function findProduct() {
    const list = inSpace("global").filter(({ rows, cols }) => rows > 1 && cols > 1);
    for (const c of list.filter(({ number }) => kindsOf[number] & WRITE)) {
      const [a, b] = list.filter((t) => t !== c);
      if (list.length !== 3 || a.rows !== c.rows) continue;
      const ways = [b.rows === c.cols && b.cols === a.cols, b.cols === c.cols && b.rows === a.cols];
      if (ways[0] || ways[1]) return { abc: [a, b, c], isNK: ways[0] && !(ways[1] && goesAlong(b, c)) };
    }
    return null;
  }

  // Whether a block's columns of B are its columns of C, and not its rows: of the last block, as the first has
  // the first of both.
  function goesAlong(b, c) {
    const block = data.blocks.findLastIndex((row) => row.length > 0);
    const [top, left] = boundsOf(b, allOf(b, block)), column = boundsOf(c, allOf(c, block))[1];
    return left === column && top !== column;
  }

  // A B of (N,K) is drawn so that N goes along C's columns, and what a line copies B to as well.
  function turnB() {
    const lines = new Set(shapes.filter(({ tensor }) => tensor === abc[1].number).map(({ line }) => line));
    for (const { line, tensor, kind } of shapes) {
      if (lines.has(line) && kind === WRITE && tensors[tensor].space === "shared") tensors[tensor].turned = true;
    }
    abc[1].turned = true;
  }

  // {====== Colours ======

  const numbersOf = (colour) => colour.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  const packed = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0; // a pixel of ImageData

  const colours = {}, pixels = {};
  function readColours() {
    const card = getComputedStyle(document.querySelector(".card"));
    for (const name of ["read", "write", "both", "step", "all"]) {
      colours[name] = getComputedStyle(document.querySelector(`.key.${name}`)).color;
    }
    Object.assign(colours, { card: card.backgroundColor, line: card.borderTopColor,
      ink: getComputedStyle(document.body).color });
    for (const [name, colour] of Object.entries(colours)) pixels[name] = packed(numbersOf(colour));
    const paper = numbersOf(colours.card), part = paper[0] < 128 ? .4 : .62;
    pixels.threads = data.palette.map((colour) =>
      packed(numbersOf(colour).map((x, i) => Math.round(part * x + (1 - part) * paper[i]))));
  }
  const ofThread = (thread) => data.palette[thread % data.palette.length];

  // {====== Boards: grids on canvases ======

  class Board {
    // at(row, col) -> the thing there or undefined; visit, keep: what pointing and clicks do with it
    constructor(canvas, { at, visit, keep, leave }) {
      Object.assign(this, { canvas, at, cursor: null, first: [0, 0] });
      canvas.setAttribute("role", "application");
      const thing = (event) => {
        const box = canvas.getBoundingClientRect();
        const row = Math.floor((event.clientY - box.top) / this.cell);
        const col = Math.floor((event.clientX - box.left) / this.cell);
        return row < 0 || col < 0 || row >= this.rows || col >= this.cols ? undefined
          : this.at(row + this.first[0], col + this.first[1]);
      };
      canvas.addEventListener("pointermove", (event) => visit(thing(event)));
      canvas.addEventListener("pointerleave", leave);
      canvas.addEventListener("click", (event) => keep(thing(event)));
    }

    size(rows, cols, cell) {
      const dots = window.devicePixelRatio || 1;
      Object.assign(this, { rows, cols, cell });
      const width = Math.max(1, Math.ceil(cols * cell)), height = Math.max(1, Math.ceil(rows * cell));
      this.canvas.width = width * dots;
      this.canvas.height = height * dots;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      this.ctx = this.canvas.getContext("2d");
      this.ctx.setTransform(dots, 0, 0, dots, 0, 0);
      this.ctx.imageSmoothingEnabled = false;
      this.per = Math.min(1, cell * dots); // pixels of a cell in the image, which is then enlarged
      this.image = new ImageData(Math.ceil(cols * this.per), Math.ceil(rows * this.per));
      this.dots = new Uint32Array(this.image.data.buffer).fill(pixels.card);
    }

    // Cells are pixels of an image until it is put on the canvas; then come lines and frames.
    fill(row, col, pixel) {
      const y = Math.floor((row - this.first[0]) * this.per), x = Math.floor((col - this.first[1]) * this.per);
      this.dots[y * this.image.width + x] = pixel;
    }

    put() {
      const { ctx, image, cols, rows, cell } = this, copy = element("canvas", { width: image.width, height: image.height });
      copy.getContext("2d").putImageData(image, 0, 0);
      ctx.drawImage(copy, 0, 0, cols * cell, rows * cell);
    }

    square(row, col, colour, side, inset = 0) {
      const { ctx, cell } = this;
      ctx.fillStyle = colour;
      ctx.fillRect((col - this.first[1]) * cell + inset, (row - this.first[0]) * cell + inset, side - 2 * inset,
        side - 2 * inset);
    }

    frame(row, col, colour, width = 2, rows = 1, cols = 1) {
      const { ctx, cell } = this;
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect((col - this.first[1]) * cell + width / 2, (row - this.first[0]) * cell + width / 2,
        Math.max(cols * cell - width, 1), Math.max(rows * cell - width, 1));
    }

    grid() {
      const { ctx, cell, rows, cols } = this;
      ctx.strokeStyle = colours.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      for (let r = 0; r <= rows && cell >= 4; r++) { ctx.moveTo(0, r * cell); ctx.lineTo(cols * cell, r * cell); }
      for (let c = 0; c <= cols && cell >= 4; c++) { ctx.moveTo(c * cell, 0); ctx.lineTo(c * cell, rows * cell); }
      ctx.rect(.5, .5, cols * cell - 1, rows * cell - 1);
      ctx.stroke();
    }
  }

  // {====== Panels ======

  const steps = data.steps, CLOSE = 7, LARGEST = 12, SMALLEST = 2, WIDE = 560, LEAST = 136, FEW = 1024, DOT = 2.5;
  const high = () => Math.max(320, .5 * innerHeight), productHigh = () => Math.max(370, .6 * innerHeight);
  const stage = byId("stage"), panels = [];

  // Who accesses the elements of a tensor at a step: cell -> lists of threads.
  function ownersAt(tensor, block, step) {
    const owners = new Map();
    visitStep({ block, step, thread: null, tensor }, (_, offset, threads) => {
      const cell = tensor.cellOf(offset);
      if (cell === undefined) return;
      const lists = owners.get(cell);
      if (!lists) owners.set(cell, [threads]);
      else if (!lists.includes(threads)) lists.push(threads);
    });
    return owners;
  }
  const threadsOf = (lists) => [...new Set((lists || []).flat())].sort((a, b) => a - b);

  // The kind of access by the thread, by cell.
  function mineAt(tensor, block, step, thread) {
    const mine = new Map();
    visitStep({ block, step, thread, tensor }, ({ kind }, offset) => {
      const cell = tensor.cellOf(offset);
      if (cell !== undefined) mine.set(cell, (mine.get(cell) || 0) | kind);
    });
    return mine;
  }

  const MANY = 1 << 21; // elements of all steps from which on only some steps are looked at
  const memory = { key: "", cells: null };

  // The cells of a tensor that the block accesses at any step.
  function allOf(tensor, block) {
    const key = `${block} ${now("line")}`;
    if (memory.key !== key) { memory.key = key; memory.cells = new Map(); }
    if (!memory.cells.has(tensor.number)) {
      const cells = new Set();
      for (const { shape, base } of tracksOf(block)) {
        if (shape.tensor !== tensor.number || !isShown(shape)) continue;
        const offsets = [...startsOf(shape).keys()], elems = vector(shape.elems), { runs } = shape;
        for (let i = 0; i < runs.length; i += 5) {
          const skip = Math.max(1, Math.ceil(runs[i + 2] * offsets.length * elems.length / MANY));
          for (let j = 0; j < runs[i + 2]; j += skip) {
            const at = base + runs[i + 3] + j * runs[i + 4];
            for (const o of offsets) for (const e of elems) cells.add(tensor.cellOf(at + o + e));
          }
        }
      }
      cells.delete(undefined);
      memory.cells.set(tensor.number, cells);
    }
    return memory.cells.get(tensor.number);
  }

  const found = findProduct(), abc = found && found.abc;
  if (found && found.isNK) turnB();

  const firstStep = (tensor, block) => Math.min(...tracksOf(block)
    .filter(({ shape }) => shape.tensor === tensor.number).map(({ shape }) => shape.runs[0]));

  const NAMES = ["", "read", "write", "both"]; // of kinds

  // Of cells: the first and last row and column.
  function boundsOf({ cols }, cells) {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const cell of cells) {
      const row = Math.floor(cell / cols), col = cell % cols;
      box[0] = Math.min(box[0], row); box[1] = Math.min(box[1], col);
      box[2] = Math.max(box[2], row); box[3] = Math.max(box[3], col);
    }
    return box;
  }

  class Panel {
    constructor(tensor, parent, isClose) {
      Object.assign(this, { tensor, isClose, owners: new Map() });
      this.title = element("h3", { textContent: tensor.name });
      this.note = element("p");
      const canvas = element("canvas", { tabIndex: 0 });
      this.scroller = element("div", { className: "scroller" }, canvas);
      this.node = element("section", { className: "tensor" }, this.title, this.note, this.scroller);
      parent.append(this.node);
      this.board = new Board(canvas, {
        at: (row, col) => this.cellAt(row, col),
        visit: (cell) => pointAt(this, cell), keep: (cell) => takeThread(this, cell),
        leave: () => point({}),
      });
      canvas.addEventListener("keydown", (event) => this.onKey(event));
      canvas.addEventListener("blur", () => point({}));
      panels.push(this);
    }

    // Who accesses what at the step, and the part of the tensor that is drawn: at a step without
    // accesses the part of the last one that had some, or of the block's first.
    look(block, step) {
      const { tensor } = this;
      this.owners = this.isOverview ? new Map() : ownersAt(tensor, block, step);
      this.part = [0, 0, tensor.rows - 1, tensor.cols - 1];
      if (this.isClose) {
        if (this.owners.size > 0) this.cells = new Set(this.owners.keys());
        else if (this.of !== block) this.cells = new Set(ownersAt(tensor, block, firstStep(tensor, block)).keys());
        this.of = block;
        const part = boundsOf(tensor, this.cells);
        this.part = isFinite(part[0]) ? part : [0, 0, 0, 0];
      }
      const [top, left, bottom, right] = this.part;
      const size = [bottom - top + 1, right - left + 1];
      this.fold = tensor.rows === 1 ? foldOf(size[1]) : 0;
      this.first = this.fold ? [0, 0] : tensor.turned ? [left, top] : [top, left];
      this.size = this.fold ? [Math.ceil(size[1] / this.fold), this.fold] : tensor.turned ? size.reverse() : size;
    }

    // Where a cell is drawn: [row, column]. A row is folded from where its part begins.
    placeOf(cell) {
      const { tensor, fold } = this, from = fold ? cell - this.part[1] : cell, across = fold || tensor.cols;
      const at = [Math.floor(from / across), from % across];
      return tensor.turned ? at.reverse() : at;
    }
    cellAt(row, col) {
      const { tensor, fold } = this;
      if (fold) return row * fold + col + this.part[1] <= this.part[3] ? row * fold + col + this.part[1] : undefined;
      return tensor.turned ? col * tensor.cols + row : row * tensor.cols + col;
    }

    fit(room) {
      const [rows, cols] = this.size;
      return Math.max(SMALLEST, Math.min(LARGEST, Math.floor(Math.min(room, WIDE) / cols), Math.floor(high() / rows)));
    }

    draw(room) {
      const { tensor, board } = this;
      const block = now("block"), step = now("step"), thread = now("thread");
      board.first = this.first;
      board.size(...this.size, this.scale || this.fit(room));
      if (this.isOverview) this.paintWhole(block, step);
      else if (tensor.space !== "register") this.paintOwners();
      const mine = mineAt(tensor, block, step, thread);
      for (const [cell, kind] of mine) this.paint(cell, pixels[NAMES[kind]]);
      board.put();
      board.grid();
      this.mark(mine);
      if (here.panel === this && here.cell !== undefined) {
        board.frame(...this.placeOf(here.cell), colours.ink, 2);
      }
      this.describe(block, step, mine);
    }

    paint(cell, pixel) {
      const [row, col] = this.placeOf(cell);
      this.board.fill(row, col, pixel);
    }

    paintWhole(block, step) {
      const { tensor } = this;
      for (const cell of allOf(tensor, block)) this.paint(cell, pixels.all);
      visitStep({ block, step, thread: null, tensor }, (_, offset) => {
        const cell = tensor.cellOf(offset);
        if (cell !== undefined) this.paint(cell, pixels.step);
      });
    }

    paintOwners() {
      const n = pixels.threads.length;
      for (const [cell, [[thread]]] of this.owners) this.paint(cell, pixels.threads[thread % n]);
    }

    // The thread's cells again, so that one sees a few of them: frames, or larger ones.
    mark(mine) {
      const { board } = this;
      if (mine.size > FEW) return;
      for (const [cell, kind] of mine) {
        if (board.cell >= CLOSE) board.frame(...this.placeOf(cell), colours.ink, 1);
        else if (board.cell < DOT) board.square(...this.placeOf(cell), colours[NAMES[kind]], DOT);
      }
    }

    describe(block, step, mine) {
      const { tensor, board } = this;
      const names = new Set([tensor.name]);
      for (const { shape } of atStep(block, step, tensor)) {
        data.sites[shape.site][3].slice(1).forEach((name) => names.add(name));
      }
      const isOfThread = tensor.space === "register";
      this.title.replaceChildren([...names].join(" \u203a "),
        element("small", { textContent: isOfThread ? `of thread ${now("thread")}` : "" }));
      this.note.textContent = this.isClose ? this.whereText() : `${tensor.dtype} ${tensor.text}`;
      this.node.classList.toggle("idle", !this.isOverview && this.owners.size === 0);
      board.canvas.setAttribute("aria-label", `${tensor.name}: the thread accesses ${mine.size} elements`);
    }

    // "rows 64..127, columns 24..31"
    whereText() {
      const [top, left, bottom, right] = this.part;
      const range = (from, to) => from === to ? String(from) : `${from}..${to}`;
      return this.fold ? `elements ${range(left, right)}` : `rows ${range(top, bottom)}, columns ${range(left, right)}`;
    }

    onKey(event) {
      const move = arrows[event.key], { board } = this;
      if (move) {
        const at = this.cursor || board.first;
        const clamp = (n, from, count) => Math.max(from, Math.min(from + count - 1, n));
        this.cursor = [clamp(at[0] + (this.cursor ? move[0] : 0), board.first[0], board.rows),
          clamp(at[1] + (this.cursor ? move[1] : 0), board.first[1], board.cols)];
        pointAt(this, this.cellAt(...this.cursor));
      } else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
        takeThread(this, this.cellAt(...this.cursor));
      } else {
        return;
      }
      event.preventDefault();
    }
  }

  function group(title, list, isClose) {
    if (list.length === 0) return;
    const box = element("div", { className: "tensors" });
    stage.append(element("section", { className: "group" },
      element("h2", { className: "space", textContent: title }), box));
    const made = list.map((tensor) => new Panel(tensor, box, isClose));
    const isTable = abc !== null && list.length === 3 && list.every((t) => abc.includes(t));
    box.classList.toggle("product", isTable);
    const places = ["2 / 1", "1 / 2", "2 / 2"];
    if (isTable) made.forEach(({ node, tensor }) => { node.style.gridArea = places[abc.indexOf(tensor)]; });
    return made;
  }

  const MAX_REGISTERS = 8;
  const overviews = group("Global memory", inSpace("global", "constant"), false) || [];
  for (const panel of overviews) panel.isOverview = true;
  const closeUps = group("The block\u2019s part at this step", inSpace("global", "constant"), true) || [];
  const shared = group("Shared memory", inSpace("shared"), false) || [];
  const registers = group("Registers", inSpace("register").slice(0, MAX_REGISTERS), false) || [];

  // Overviews of a product have one scale, so that its modes meet.
  const isProduct = abc !== null && overviews.length === 3;
  function scaleProduct(list, room, isWhole) {
    const [a, b, c] = abc.map((t) => list.find(({ tensor }) => tensor === t).size);
    const rows = Math.max(a[0], c[0]), cols = Math.max(b[1], c[1]);
    const beside = (room - 40) / (a[1] + cols); // at least as wide as the titles
    const wide = a[1] * beside < LEAST ? (room - 40 - LEAST) / cols : beside;
    const scale = Math.min(LARGEST, wide, productHigh() / (b[0] + rows));
    list.forEach((panel) => { panel.scale = isWhole ? scale : Math.max(SMALLEST, Math.floor(scale)); });
  }

  function setScales(room) {
    if (isProduct) {
      scaleProduct(overviews, room, true);
      scaleProduct(closeUps, room, false);
    } else {
      for (const panel of overviews) {
        const [rows, cols] = panel.size;
        panel.scale = Math.min(LARGEST, Math.min(room, WIDE) / cols, high() / rows);
      }
    }
    const isNear = overviews.every(({ scale }) => scale >= CLOSE);
    if (closeUps.length > 0) closeUps[0].node.closest(".group").hidden = isNear;
  }

  // {====== Blocks, threads, lines ======

  const blocks = new Board(byId("blocks"), {
    at: (row, col) => blockAt(row, col), visit: (block) => point(block === undefined ? {} : { block }),
    keep: (block) => keep({ block }), leave: () => point({}),
  });
  const acrossBlocks = data.grid[1] * data.grid[2] === 1 ? foldOf(nBlocks) : data.grid[0];
  const blockAt = (row, col) => {
    const block = row * acrossBlocks + col;
    return block < nBlocks && data.blocks[block].length > 0 ? block : undefined;
  };

  const threads = new Board(byId("threads"), {
    at: (row, col) => row * WARP + col < nThreads ? row * WARP + col : undefined,
    visit: (thread) => point(thread === undefined ? {} : { thread }),
    keep: (thread) => keep({ thread }), leave: () => point({}),
  });

  const roleOf = (thread) => data.roles.findIndex(([first, last]) =>
    thread >= first * WARP && thread < (last + 1) * WARP);

  function drawBlocks(room) {
    const rows = Math.ceil(nBlocks / acrossBlocks);
    const fit = Math.floor(Math.min(room / acrossBlocks, 240 / rows));
    blocks.size(rows, acrossBlocks, Math.max(3, Math.min(22, fit)));
    for (let block = 0; block < nBlocks; block++) {
      const at = [Math.floor(block / acrossBlocks), block % acrossBlocks];
      if (data.blocks[block].length === 0) blocks.fill(...at, pixels.line);
      if (block === state.block) blocks.fill(...at, pixels.all);
      if (block === now("block")) blocks.fill(...at, pixels.step);
    }
    blocks.put();
    blocks.grid();
    const at = now("block");
    blocks.frame(Math.floor(at / acrossBlocks), at % acrossBlocks, colours.ink, 2);
    byId("block").textContent = `${coordinateText(at, data.grid) || at} of ${nBlocks}`;
    blocks.canvas.setAttribute("aria-label", `block ${byId("block").textContent}`);
  }

  function drawThreads(room) {
    const pointed = here.panel && here.panel.owners.get(here.cell);
    const active = pointed ? pointed.flat()
      : atStep(now("block"), now("step")).flatMap(({ shape }) => vector(shape.threads));
    const busy = new Set(active);
    const cols = Math.min(WARP, nThreads);
    threads.size(Math.ceil(nThreads / WARP), cols, Math.max(6, Math.min(20, Math.floor(room / cols * 2) / 2)));
    threads.put();
    for (let t = 0; t < nThreads; t++) {
      const at = [Math.floor(t / WARP), t % WARP];
      threads.ctx.globalAlpha = busy.has(t) ? 1 : .16;
      threads.square(...at, ofThread(data.roles.length > 0 ? roleOf(t) : t), threads.cell, .5);
    }
    threads.ctx.globalAlpha = 1;
    const t = now("thread");
    threads.frame(Math.floor(t / WARP), t % WARP, colours.ink, 2);
    const crd = coordinateText(t, data.block);
    byId("thread").textContent = `${t}${crd ? ` ${crd}` : ""} of ${nThreads}, warp ${Math.floor(t / WARP)}`;
    threads.canvas.setAttribute("aria-label", `thread ${byId("thread").textContent}`);
  }

  function onGridKey(event, name, across, count, at) {
    const move = arrows[event.key];
    if (!move) return;
    const next = state[name] + move[0] * across + move[1];
    if (next >= 0 && next < count && at(next)) keep({ [name]: next });
    event.preventDefault();
  }

  let lineNodes = new Map();
  function drawSource() {
    const used = new Set(shapes.map(({ line }) => line));
    byId("source-title").textContent = data.source.name;
    lineNodes = listSource(byId("lines"), data.source, (line) => used.has(line));
    for (const [line, row] of lineNodes) {
      const toggle = () => keep({ line: state.line === line ? null : line });
      row.lastChild.tabIndex = 0;
      row.lastChild.setAttribute("role", "button");
      row.addEventListener("click", toggle);
      row.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }
  }

  function drawRoles() {
    byId("roles").replaceChildren(...data.roles.map(([first, last, work], i) => {
      const swatch = element("i");
      swatch.style.setProperty("--fill", ofThread(i));
      const warps = first === last ? `warp ${first}` : `warps ${first}\u2013${last}`;
      return element("li", {}, swatch, work ? `${warps}: ${work}` : warps);
    }));
  }

  // {====== What is said of it ======

  const nTurns = steps.filter((step) => step % 2 === 0).length;
  function whenText(step) {
    const number = steps[step], turn = number / 2;
    if (number % 2 === 0) return `${data.loop ? `${data.loop}: ` : ""}turn ${turn} of ${nTurns}`;
    if (nTurns === 0) return "the whole kernel";
    return number === 1 ? "before the loop" : step === steps.length - 1 ? "after the loop" : "between the iterations";
  }

  function cellsText(tensor, cells) {
    const texts = cells.map((cell) => tensor.textOf(cell));
    return texts.length <= 4 ? texts.join(" ") : `${texts.slice(0, 3).join(" ")} \u2026 ${texts[texts.length - 1]}`;
  }

  // [site, cells] of what the thread does, in the order of the lines.
  function workOf(block, step, thread) {
    const bySite = new Map();
    visitStep({ block, step, thread }, ({ site, tensor }, offset) => {
      const cell = tensors[tensor].cellOf(offset);
      if (!bySite.has(site)) bySite.set(site, new Set());
      if (cell !== undefined) bySite.get(site).add(cell);
    });
    return [...bySite].sort(([a], [b]) => a - b);
  }

  function workRow([site, cells]) {
    const [line, tensor, how, names] = data.sites[site];
    const kind = how.includes("w") ? "w" : "r";
    const verb = how.startsWith("rw") ? "reads, writes" : kind === "w" ? "writes" : "reads";
    const by = how.includes("b") ? ", by TMA" : how.includes("m") ? ", by wgmma" : "";
    return element("p", {}, `line ${line} `, element("i", { className: kind, textContent: verb }),
      ` ${cells.size} of ${names[names.length - 1]}${by}: ${cellsText(tensors[tensor], [...cells].sort((a, b) => a - b))}`);
  }

  function describe() {
    const block = now("block"), thread = now("thread");
    const where = `block ${coordinateText(block, data.grid) || block}, thread ${thread}, ${whenText(now("step"))}`;
    const work = workOf(block, now("step"), thread), rows = work.map(workRow);
    if (here.panel && here.cell !== undefined) {
      const list = threadsOf(here.panel.owners.get(here.cell));
      const who = list.length === 0 ? "no thread accesses it at this step"
        : `thread${list.length > 1 ? "s" : ""} ${listed(list, 8)}`;
      rows.unshift(element("p", { className: "element", textContent:
        `${here.panel.tensor.name}${here.panel.tensor.textOf(here.cell)}: ${who}` }));
    }
    if (rows.length === 0) rows.push(element("p", { textContent: "The thread accesses nothing at this step." }));
    byId("readout").replaceChildren(element("b", { textContent: where }), ...rows);
    for (const [line, row] of lineNodes) row.classList.remove("lit");
    for (const [site] of work) {
      const row = lineNodes.get(data.sites[site][0]);
      if (row) row.classList.add("lit");
    }
    reveal(document.querySelector("#lines .lit"));
  }

  // Scrolls the text, not the page.
  function reveal(row) {
    const code = byId("lines").parentElement;
    if (!row) return;
    const at = row.offsetTop - code.offsetTop, end = code.scrollTop + code.clientHeight;
    if (at < code.scrollTop || at + row.offsetHeight > end) code.scrollTop = at - code.clientHeight / 3;
  }

  // {====== Showing ======

  let isAsked = false;
  function show() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; draw(); });
  }

  function draw() {
    const room = stage.clientWidth, side = Math.min(352, byId("where").clientWidth - 32);
    for (const panel of panels) panel.look(now("block"), now("step"));
    setScales(room);
    drawBlocks(side);
    for (const panel of panels) panel.draw(room);
    drawThreads(side);
    byId("step").value = now("step");
    byId("when").textContent = whenText(now("step"));
    byId("step").setAttribute("aria-valuetext", whenText(now("step")));
    for (const [line, row] of lineNodes) {
      row.classList.toggle("kept", state.line === line);
      row.lastChild.setAttribute("aria-pressed", String(state.line === line));
    }
    describe();
  }

  const isSame = (a, b) => ["block", "thread", "panel", "cell"].every((name) => a[name] === b[name]);
  function point(next) {
    if (isSame(here, next)) return;
    here = next;
    show();
  }

  function pointAt(panel, cell) {
    if (cell === undefined) return point({});
    const list = threadsOf(panel.owners.get(cell));
    point({ panel, cell, ...(list.length > 0 && !list.includes(state.thread) ? { thread: list[0] } : {}) });
  }

  // The next thread of those that access the element.
  function takeThread(panel, cell) {
    const list = cell === undefined ? [] : threadsOf(panel.owners.get(cell));
    if (list.length === 0) return;
    keep({ thread: list[(list.indexOf(state.thread) + 1) % list.length] });
    pointAt(panel, cell);
  }

  // {====== The address ======

  const names = ["block", "thread", "step", "line"];
  const address = () => `#${names.filter((name) => state[name] !== null)
    .map((name) => `${name}=${state[name]}`).join("&")}`;

  function keep(next) {
    if (Object.values(next)[0] === undefined) return;
    Object.assign(state, next);
    try { history.replaceState(null, "", address()); } catch { /* a frame of the playground has no address */ }
    show();
  }

  function readAddress() {
    const limits = { block: nBlocks, thread: nThreads, step: steps.length, line: Infinity };
    for (const [, name, value] of location.hash.matchAll(/(\w+)=(\d+)/g)) {
      if (Number(value) < limits[name]) state[name] = Number(value);
    }
    if (data.blocks[state.block].length === 0) state.block = Math.max(0, data.blocks.findIndex((b) => b.length > 0));
    show();
  }

  const copyLink = () => copyText(byId("link"), location.href.replace(/#.*/, "") + address(),
    () => { byId("link").textContent = address(); });

  // {====== Time ======

  const TURN_MS = 350;
  let timer = null;
  const go = (by) => keep({ step: Math.max(0, Math.min(steps.length - 1, state.step + by)) });

  function play() {
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
    } else {
      timer = setInterval(() => keep({ step: (state.step + 1) % steps.length }), TURN_MS);
    }
    byId("play").setAttribute("aria-pressed", String(timer !== null));
    byId("play").textContent = timer === null ? "Play" : "Pause";
  }

  // {====== Events ======

  function onPageKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === ",") go(-1);
    if (event.key === ".") go(1);
    if (event.key === "p") play();
    if (event.key === "Escape") { here = {}; keep({ line: null }); }
  }

  function listen() {
    byId("step").addEventListener("input", ({ target }) => keep({ step: Number(target.value) }));
    byId("back").addEventListener("click", () => go(-1));
    byId("next").addEventListener("click", () => go(1));
    byId("play").addEventListener("click", play);
    byId("link").addEventListener("click", copyLink);
    document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    blocks.canvas.addEventListener("keydown", (event) => onGridKey(event, "block", acrossBlocks, nBlocks,
      (block) => data.blocks[block].length > 0));
    threads.canvas.addEventListener("keydown", (event) => onGridKey(event, "thread", WARP, nThreads, () => true));
    document.addEventListener("keydown", onPageKey);
    addEventListener("hashchange", readAddress);
    addEventListener("resize", show);
    const retheme = () => { readColours(); show(); };
    new MutationObserver(retheme).observe(document.documentElement, { attributes: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  }

  // {====== The page ======

  byId("summary").textContent = `${count(nBlocks, "block")} of ${nThreads} threads`
    + (data.left_out > 0 ? `; ${data.left_out} of them had no room here` : "");
  byId("step").max = steps.length - 1;
  document.querySelector(".time").hidden = steps.length < 2;
  readColours();
  drawSource();
  drawRoles();
  state.step = Math.max(0, steps.findIndex((step) => step % 2 === 0));
  readAddress();
  listen();
  draw();
})();
