// prompt.js: lines go to the engine's own prompt; history and completion as in a terminal.
'use strict';

const HISTORY_KEY = 'cuttle.history';
const HISTORY_MAX = 200;

function keptHistory() {
  try {
    const list = JSON.parse(kept.get(HISTORY_KEY) || '[]');
    return Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : [];
  } catch { return []; }
}

function commonStart(names) {
  let start = names[0];
  for (const name of names) {
    while (!name.startsWith(start)) start = start.slice(0, -1);
  }
  return start;
}

class Prompt {
  // onValue() runs after each complete input.
  constructor({ main }, onValue) {
    Object.assign(this, { main, onValue });
    this.log = new Log(byId('dialogue'));
    this.field = byId('line');
    this.candidates = byId('candidates');
    this.history = keptHistory();
    this.at = this.history.length; // of the entry shown; the length: what is being typed
    this.draft = '';
    this.input = [];               // lines of an input that is not complete
    this.leaves = false;           // Tab moves on
    this.hasState = false;         // something was said that a stop would lose
    this.field.addEventListener('keydown', (event) => this.key(event));
    this.field.addEventListener('input', () => this.changed());
    byId('reset').addEventListener('click', () => this.reset());
  }

  // {====== Keys ======

  key(event) {
    const act = this.keys[event.key];
    if (act && !event.isComposing && act.call(this, event)) event.preventDefault();
  }

  get keys() {
    return {
      Enter: ({ shiftKey, ctrlKey, metaKey }) => {
        if (shiftKey || ctrlKey || metaKey) return false;
        this.send();
        return true;
      },
      ArrowUp: ({ target }) => !target.value.slice(0, target.selectionStart).includes('\n') &&
        this.recall(-1),
      ArrowDown: ({ target }) => !target.value.slice(target.selectionEnd).includes('\n') &&
        this.recall(1),
      Tab: ({ shiftKey }) => this.tab(shiftKey),
      Escape: () => { this.leaves = true; this.say(''); return true; },
      c: ({ ctrlKey, target }) => ctrlKey && target.selectionStart === target.selectionEnd &&
        this.cancel(),
    };
  }

  changed() {
    this.leaves = false;
    this.say('');
    this.field.rows = this.field.value.split('\n').length;
  }

  set(text) {
    this.field.value = text;
    this.changed();
  }

  recall(step) {
    const to = this.at + step;
    if (to < 0 || to > this.history.length) return true;
    if (this.at === this.history.length) this.draft = this.field.value;
    this.at = to;
    this.set(to === this.history.length ? this.draft : this.history[to]);
    return true;
  }

  remember(text) {
    if (this.history.at(-1) !== text) this.history.push(text);
    this.history = this.history.slice(-HISTORY_MAX);
    this.at = this.history.length;
    kept.set(HISTORY_KEY, JSON.stringify(this.history));
  }

  // {====== Inputs ======

  async send() {
    const lines = this.field.value.split('\n');
    this.set('');
    this.at = this.history.length;
    for (const line of lines) await this.sendLine(line);
  }

  async sendLine(line) {
    const mark = this.input.length > 0 ? '>> ' : '> ';
    this.input.push(line);
    this.log.write(`${mark}${line}\n`, 'input');
    this.hasState = true;
    let said = '';
    const result = await this.main.ask('prompt', { line }, (part, kind) => {
      if (kind === 'err') said += part;
      this.log.write(part, kind);
    });
    if (!result.ok && !said.includes(result.error)) this.log.write(`${result.error}\n`, 'err');
    if (result.ok && result.more) this.more(true);
    else this.complete();
    this.log.flush();
    byId('dialogue').scrollTop = byId('dialogue').scrollHeight;
    if (result.ok && !result.more) this.onValue();
  }

  complete() {
    const text = this.input.join('\n');
    this.more(false);
    if (text.trim() !== '') this.remember(text);
  }

  more(isOpen) {
    if (!isOpen) this.input = [];
    byId('mark').textContent = isOpen ? '>>' : '>';
    const label = isOpen ? 'Next line of the input' : 'Input of the prompt';
    this.field.setAttribute('aria-label', label);
  }

  // Ctrl-C: away with what is typed, and with the lines before it.
  cancel() {
    if (this.field.value) this.log.write(`> ${this.field.value}\n`, 'said');
    this.set('');
    if (this.main.isBusy) this.main.stop(STOPPED);
    else if (this.input.length > 0) this.drop();
    return true;
  }

  async drop() {
    await this.main.ask('cancel', {});
    this.more(false);
  }

  async reset() {
    await this.main.ask('reset', {});
    this.log.clear();
    this.more(false);
    this.hasState = false;
    this.field.focus();
  }

  // After a stop: the engine began anew.
  lost() {
    this.more(false);
    if (!this.hasState) return;
    this.hasState = false;
    this.log.write('The engine began anew: the variables of the prompt are gone.\n', 'said');
  }

  // {====== Completion ======

  tab(isBack) {
    const before = this.field.value.slice(0, this.field.selectionStart);
    if (isBack || this.leaves || before.trim() === '') return false;
    if (!this.main.isBusy) this.offer(before);
    return true;
  }

  async offer(before) {
    const answer = await this.main.ask('complete', {
      text: before, at: before.length, place: 'prompt' });
    if (!answer.ok || answer.names.length === 0 || !this.field.value.startsWith(before)) return;
    const names = answer.names.map(({ name }) => name);
    const start = before.slice(0, answer.from) + commonStart(names);
    if (names.length > 1 && start.length <= before.length) {
      this.say(names.join('   '));
      return;
    }
    this.field.setRangeText(start, 0, before.length, 'end');
    this.changed();
  }

  say(text) {
    this.candidates.textContent = text;
    this.candidates.hidden = text === '';
  }
}
