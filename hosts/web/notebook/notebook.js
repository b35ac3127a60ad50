// notebook.js: puts the notebook together: its cells, what changes them, and the engine.
'use strict';

const TYPED_MS = 250; // after the last key

class Notebook {
  constructor() {
    this.cells = [];
    this.frame = { head: '', tail: '\n', eol: '\n' }; // of the script that was opened
    this.removed = []; // [data, index]
    this.list = byId('cells');
    this.status = new Status();
    this.runner = null;
    this.lastStop = '';
    this.hints = new Hints((op, args) => this.ask(op, args));
    this.later = delayed(TYPED_MS, () => this.run());
    this.files = new Files(this);
    addTheme(byId('theme'));
    addDialog();
    this.buttons();
    addPageKeys(this);
    addEventListener('resize', () => this.cells.forEach((cell) => cell.fit()));
  }

  buttons() {
    const acts = {
      'open': () => this.files.choose(), 'save': () => this.files.save(),
      'share': () => this.files.share(), 'keys': () => openKeys(NOTEBOOK_KEYS),
      'stop': () => this.stop(),
      'new': () => this.begin('', 'A new notebook.'),
      'example': () => this.begin(CUTTLE_NOTEBOOK, 'The example is open.'),
      'undo': () => this.undo(),
      'add-code': () => this.add('code'), 'add-text': () => this.add('text'),
    };
    for (const [id, act] of Object.entries(acts)) byId(id).addEventListener('click', act);
  }

  // {====== Words to the reader ======

  say(text, undo = null) {
    byId('said').firstElementChild.textContent = text;
    byId('undo').hidden = undo === null;
    this.undoing = undo;
  }

  complain(text) {
    byId('notice').textContent = text;
    byId('notice').hidden = text === '';
  }

  begin(script, words) {
    this.files.replace(script);
    this.say(words, () => this.files.bringBack());
    this.cells[0].focus();
  }

  undo() {
    const undo = this.undoing || (this.removed.length > 0 ? () => this.restoreRemoved() : null);
    this.say('');
    if (undo) undo();
  }

  // {====== The script ======

  load(script) {
    const { cells, ...frame } = NotebookScript.read(script);
    this.frame = script === '' ? { head: '', tail: '\n', eol: '\n' } : frame;
    this.cells = cells.map((data) => new Cell(data, this));
    this.removed = [];
    this.complain('');
    this.list.replaceChildren(...this.cells.map(({ element }) => element));
    if (this.cells.length === 0) this.insert(0, {});
    this.changed();
    this.cells.forEach((cell) => cell.render());
  }

  script() { return NotebookScript.write({ ...this.frame, cells: this.cells }); }

  // When the engine has seen what was typed.
  async settled() {
    if (this.runner) await this.run();
  }

  // {====== Changes of the list ======

  insert(at, data) {
    const cell = new Cell(data, this);
    this.cells.splice(at, 0, cell);
    this.list.insertBefore(cell.element, this.list.children[at] || null);
    cell.render();
    return cell;
  }

  changed() {
    const counts = { code: 0, text: 0 };
    for (const cell of this.cells) {
      counts[cell.kind] += 1;
      cell.setNumber(counts[cell.kind]);
    }
    this.later();
  }

  edited(cell) {
    if (cell.text.startsWith('-- ') && cell.kind === 'code' && !cell.text.includes('\n')) {
      cell.setKind('text');
      cell.setText(cell.text.slice(3));
      cell.focus();
      this.changed();
    } else this.later();
    this.hints.follow(cell);
  }

  add(kind) {
    const last = this.cells[this.cells.length - 1];
    const cell = last.text === '' ? last : this.insert(this.cells.length, {});
    cell.setKind(kind);
    this.changed();
    cell.focus();
  }

  below(cell) {
    const made = this.insert(this.cells.indexOf(cell) + 1, {});
    this.changed();
    made.focus();
  }

  // Enter: what is after the cursor goes to a new cell.
  split(cell, before, after) {
    if (after !== '') cell.setText(before);
    const made = this.insert(this.cells.indexOf(cell) + 1, { text: after });
    this.changed();
    made.focus('begin');
  }

  remove(cell, step) {
    const at = this.cells.indexOf(cell);
    const { kind, text, form, raw, lead, name } = cell;
    this.cells.splice(at, 1);
    cell.element.remove();
    if (text !== '') {
      this.removed.push([{ kind, text, form, raw, lead }, at]);
      this.say(`${name} is removed.`, () => this.restoreRemoved());
    }
    if (this.cells.length === 0) this.insert(0, {});
    this.changed();
    const next = Math.min(step < 0 ? Math.max(at - 1, 0) : at, this.cells.length - 1);
    this.cells[next].focus();
  }

  restoreRemoved() {
    const [data, at] = this.removed.pop();
    const cell = this.insert(Math.min(at, this.cells.length), data);
    this.changed();
    cell.focus();
  }

  move(cell, step) {
    const at = this.cells.indexOf(cell), to = at + step;
    if (to < 0 || to >= this.cells.length) return;
    const [other] = this.cells.splice(to, 1);
    this.cells.splice(at, 0, other);
    this.list.insertBefore(other.element, step < 0 ? cell.element.nextSibling : cell.element);
    cell.lead = other.lead = null;
    this.changed();
    this.say(`It is ${cell.name} now.`);
    cell.element.scrollIntoView({ block: 'nearest' });
  }

  // Code becomes a text, and back.
  turn(cell) {
    cell.setKind(cell.kind === 'code' ? 'text' : 'code');
    cell.changed();
    cell.lead = null;
    this.changed();
    cell.focus();
  }

  go(cell, step) {
    const next = this.cells[this.cells.indexOf(cell) + step];
    if (next) next.focus(step < 0 ? 'end' : 'begin');
  }

  tool(name, cell) {
    const acts = { up: () => this.move(cell, -1), down: () => this.move(cell, 1),
      kind: () => this.turn(cell), below: () => this.below(cell),
      remove: () => this.remove(cell, 1) };
    acts[name]();
  }

  // Lines that are pasted into an empty cell become cells.
  paste(event, cell) {
    const text = event.clipboardData.getData('text').replaceAll('\r\n', '\n');
    if (cell.text !== '' || cell.kind !== 'code' || !text.trim().includes('\n')) return;
    event.preventDefault();
    const { cells } = NotebookScript.read(text);
    const at = this.cells.indexOf(cell);
    this.cells.splice(at, 1);
    cell.element.remove();
    cells.forEach((data, i) => this.insert(at + i, data));
    this.changed();
    this.cells[at + cells.length - 1].focus();
  }

  key(event, cell) {
    if (event.isComposing) return;
    const find = cellKeys[chordOf(event)];
    takeKey(event, this.hints.action(chordOf(event)) || (find ? find(cell, this) : null));
  }

  // {====== Engine ======

  start() {
    const missing = missingNeeds();
    if (missing) {
      this.fail(missing);
      return;
    }
    const line = new Line({
      seconds: CELL_SECONDS, onState: (state, detail) => this.onState(state, detail) });
    this.runner = new Runner({ line, cells: () => this.cells,
      onPass: (isRunning) => this.onPass(isRunning), onDone: () => this.files.keep() });
    line.ready.then(() => this.run(), (error) => this.fail(error.message || String(error)));
  }

  onState(state, detail) {
    if (state === 'stopped') this.lastStop = asSentence(detail.split(';')[0]);
  }

  onPass(isRunning) {
    byId('stop').disabled = !isRunning;
    this.list.setAttribute('aria-busy', String(isRunning));
    if (isRunning) {
      this.lastStop = '';
      this.status.busy('run');
    } else this.status.show(this.lastStop ? 'stopped' : 'ready', this.lastStop || 'Ready');
  }

  fail(message) {
    this.status.show('lacking', 'No engine');
    this.complain(message);
  }

  ask(op, args) {
    return this.runner ? this.runner.line.ask(op, args) :
      Promise.resolve({ ok: false, error: 'the engine is not here', names: [] });
  }

  async run() {
    if (this.runner) await this.runner.update();
    else this.files.keep();
  }

  rerun(cell) {
    this.runner.stuck.clear();
    cell.isStale = true;
    this.runner.done = ['']; // none of this: all runs again
    this.run();
  }

  stop() { if (this.runner) this.runner.line.stop(STOPPED); }

  async openPicture(cell) {
    if (!this.runner || cell.text.trim() === '' || cell.kind !== 'code') return;
    const answer = await this.runner.picture(cell);
    const html = answer.ok && answer.html ? ownPage(answer.html) : null;
    if (!html) {
      const why = answer.error || answer.why || NOT_SHOWN;
      this.say(`Cell ${cell.number} has no picture: ${why.trim()}`);
      return;
    }
    const frame = make('iframe', { className: 'stage', srcdoc: themedPage(html),
      title: `Picture of cell ${cell.number}` });
    frame.setAttribute('sandbox', 'allow-scripts');
    // Before it is loaded, the focus would be that of an empty page, which goes.
    frame.addEventListener('load', () => frame.focus());
    openDialog(`Cell ${cell.number}`, frame);
  }
}

function startNotebook() {
  const page = new Notebook();
  page.files.restore().then(() => page.start());
  return page;
}

const notebook = startNotebook();
