// notebook_hints.js: names that may stand at the cursor of a cell, and help for the one that does.
'use strict';

const HINTS_MAX = 60;

class Hints {
  // ask(op, args): a request to the engine.
  constructor(ask) {
    this.ask = ask;
    this.cell = null; // whose list is open
    this.list = make('ul', { className: 'hints', id: 'hints' });
    this.list.setAttribute('role', 'listbox');
    this.list.setAttribute('aria-label', 'Names');
    this.list.addEventListener('mousedown', (event) => {
      const option = event.target.closest('li');
      event.preventDefault(); // the cell keeps the focus
      if (option) this.pick([...this.list.children].indexOf(option));
    });
  }

  // Opens the list for the cell's cursor; a single name is put in at once where `isAsked`.
  async open(cell, isAsked = true) {
    const { field } = cell, at = field.selectionStart, { text } = cell;
    const answer = await this.ask('complete', { text, at, place: 'prompt' });
    if (cell.text !== text || field.selectionStart !== at) return;
    this.close();
    if (!answer.ok || answer.names.length === 0) return;
    Object.assign(this, { cell, from: answer.from, at, names: answer.names.slice(0, HINTS_MAX) });
    if (isAsked && this.names.length === 1) this.pick(0);
    else this.show();
  }

  show() {
    this.list.replaceChildren(...this.names.map(({ name, summary }, i) => {
      const option = make('li', { id: `hint-${i}` }, make('b', {}, name), ' ',
        make('span', {}, summary || ''));
      option.setAttribute('role', 'option');
      return option;
    }));
    this.cell.field.after(this.list);
    this.cell.field.setAttribute('aria-controls', 'hints');
    this.choose(0);
  }

  choose(i) {
    this.chosen = (i + this.names.length) % this.names.length;
    [...this.list.children].forEach((option, k) => (
      option.setAttribute('aria-selected', String(k === this.chosen))));
    this.list.children[this.chosen].scrollIntoView({ block: 'nearest' });
    this.cell.field.setAttribute('aria-activedescendant', `hint-${this.chosen}`);
  }

  pick(i) {
    const { cell, from, at } = this, { name } = this.names[i];
    this.close();
    cell.field.setRangeText(name, from, at, 'end');
    cell.edited();
  }

  close() {
    if (this.cell) {
      this.cell.field.removeAttribute('aria-controls');
      this.cell.field.removeAttribute('aria-activedescendant');
    }
    this.list.remove();
    this.cell = null;
  }

  // What a key does while the list is open: a function, or null.
  action(key) {
    if (this.cell === null) return null;
    const acts = {
      ArrowDown: () => this.choose(this.chosen + 1), ArrowUp: () => this.choose(this.chosen - 1),
      Enter: () => this.pick(this.chosen), Tab: () => this.pick(this.chosen),
      Escape: () => this.close(),
    };
    return acts[key] || null;
  }

  // Typing on makes the list shorter.
  follow(cell) {
    if (this.cell === cell) this.open(cell, false);
  }

  // The help of the name at the cursor, in a dialog.
  async help(cell) {
    const { selectionStart: at, value } = cell.field;
    const [before] = /\w*$/.exec(value.slice(0, at)), [after] = /^\w*/.exec(value.slice(at));
    const name = before + after;
    if (name === '') return;
    const answer = await this.ask('help', { name });
    openDialog(name, make('pre', { className: 'help', tabIndex: 0 },
      (answer.ok ? answer.text : answer.error).trim()));
  }
}
