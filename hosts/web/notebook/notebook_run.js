// notebook_run.js: runs the cells one after another, as inputs of one prompt, when one of them has
// changed. Where it must begin a new prompt, cells whose values stay are left as they are shown.
'use strict';

const CELL_SECONDS = 20;      // that a cell may run
const PATIENCE_MS = 1000;     // that an outdated cell may go on
const OUTPUT_MAX = 1 << 16;   // letters that are kept of what a cell prints
const STUCK = 'Edit the cell to run it again.';

class Runner {
  // cells(): all cells; onPass(isRunning): begin and end; onDone(): all values are shown.
  constructor({ line, cells, onPass, onDone }) {
    Object.assign(this, { line, cells, onPass, onDone });
    this.done = [];        // what the prompt has run, as keys
    this.stuck = new Set(); // keys of cells that were stopped
    this.turn = 0;
    this.began = 0;
    this.running = null;   // a promise
    this.passTurn = 0;     // the turn that it is for
    this.timer = 0;
  }

  static key(cell) { return `${cell.number} ${cell.text}`; }

  isRun(cell) {
    return cell.kind === 'code' && cell.text.trim() !== '' && !this.stuck.has(Runner.key(cell));
  }

  // Runs what has changed; what runs for an older text ends.
  async update() {
    this.turn += 1;
    const mine = this.turn;
    this.hurry();
    await this.running;
    if (mine !== this.turn) return;
    this.running = this.pass(mine);
    await this.running;
  }

  get isOutdated() { return this.passTurn !== this.turn; }

  // An outdated cell that has run for long is stopped.
  hurry() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.isOutdated && this.line.isBusy) this.line.stop('a newer text runs instead');
    }, Math.max(0, this.began + PATIENCE_MS - performance.now()));
  }

  async pass(mine) {
    this.passTurn = mine;
    this.onPass(true);
    while (mine === this.turn && !await this.runAll(mine)) { /* the prompt was lost: once more */ }
    this.onPass(false);
    if (mine === this.turn) this.onDone();
  }

  // How many of the cells the prompt has run already. It is 0 if the prompt has run others. It is 0,
  // too, if one of them shows nothing, as a cell does that was made anew.
  firstNew(cells, keys) {
    const n = this.done.length;
    const isSame = this.done.every((key, i) => key === keys[i]);
    return isSame && cells.slice(0, n).every((cell) => cell.ran === cell.text) ? n : 0;
  }

  // False where the prompt was lost on the way.
  async runAll(mine) {
    const cells = this.cells().filter((cell) => this.isRun(cell));
    const keys = cells.map(Runner.key);
    let at = this.firstNew(cells, keys);
    if (at === 0 && this.done.length > 0) await this.reset();
    for (; at < cells.length && mine === this.turn; at += 1) {
      if (!await this.runOne(cells[at], keys[at])) return false;
    }
    return true;
  }

  async reset() {
    this.done = [];
    await this.line.ask('reset', {});
  }

  async runOne(cell, key) {
    const { text } = cell;
    const isKnown = cell.ran === text && cell.result.ok && !cell.isStale;
    const mark = setTimeout(() => cell.busy(true), 200);
    const result = await this.ask(cell, text);
    clearTimeout(mark);
    cell.busy(false);
    this.done.push(key);
    if (result.lost || result.stopped) return this.giveUp(cell, key, result);
    cell.isStale = false;
    if (cell.text === text && !(isKnown && cell.result.out === result.out &&
      cell.result.svg === result.svg)) cell.show(result, text);
    return true;
  }

  async ask(cell, text) {
    let out = '';
    this.began = performance.now();
    const result = await this.line.ask('cell',
      { text, number: cell.number, shows: NotebookLua.assigned(text) },
      (part, kind) => { if (kind === 'out' && out.length < OUTPUT_MAX) out += part; });
    return { ...result, out };
  }

  // A cell that was stopped, or broke the engine, is left out from now on.
  giveUp(cell, key, result) {
    this.done = [];
    if (this.isOutdated) return true; // the next pass runs it again, or what it is now
    this.stuck.add(key);
    cell.show({ ...result, ok: false, svg: null,
      error: `${asSentence(result.error.trim())} ${STUCK}` }, cell.text);
    return false;
  }

  // {====== Pictures that answer to the mouse ======

  // The page of what a cell is worth: {html} or {error}.
  async picture(cell) {
    const cells = this.cells();
    const before = cells.slice(0, cells.indexOf(cell)).filter((one) => (
      one.kind === 'code' && one.result && one.result.ok && one.result.form === 'statement'));
    const own = NotebookLua.assigned(cell.text);
    const script = [...before, ...(own ? [cell] : [])].map(({ text }) => text).join('\n');
    return this.line.ask('picture', { expression: own || cell.text, text: script });
  }
}
