// notebook_cell.js: a cell as one sees it: its text, its value below, its picture beside it.
'use strict';

const SHOWN_MAX = 20_000; // letters of a value

// {====== Texts ======

// `names` in backquotes are code.
function inlineParts(text) {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 ? make('code', {}, part) : part));
}

// A block of a text cell: a heading, a list, or a paragraph.
function textBlock(block) {
  const heading = /^(#{1,3}) +([^\n]+)$/.exec(block);
  if (heading) return make(`h${heading[1].length + 1}`, {}, ...inlineParts(heading[2]));
  const lines = block.split('\n');
  if (lines.every((line) => /^[-*] /.test(line))) {
    return make('ul', {}, ...lines.map((line) => make('li', {}, ...inlineParts(line.slice(2)))));
  }
  return make('p', {}, ...inlineParts(block));
}

function textBlocks(text) {
  const apart = text.replace(/^(#{1,3} [^\n]*)\n(?!\n)/gm, '$1\n\n'); // a heading is one line
  return apart.split(/\n\s*\n/).filter((block) => block.trim() !== '').map(textBlock);
}

// {====== Values ======

// "input 3:2: message", where 3 is the number of a cell, as it is read beside cell `number`.
function placed(message, number, isOneLine) {
  return message.replace(/\binput (\d+):(\d+): /g, (_, cell, line) => {
    if (Number(cell) !== number) return `cell ${cell}, line ${line}: `;
    return isOneLine ? '' : `line ${line}: `;
  });
}

function shortened(text) {
  return text.length <= SHOWN_MAX ? text :
    `${text.slice(0, SHOWN_MAX)}\n... ${text.length - SHOWN_MAX} more letters are left out`;
}

// {====== The cell ======

const TOOLS = [
  ['up', '\u2191', 'Move up'], ['down', '\u2193', 'Move down'], ['kind', '', ''],
  ['below', '+', 'Add a cell below'], ['remove', '\u00d7', 'Remove'],
];

class Cell {
  // `data`: {kind, text, form, raw, lead} of notebook_script.js. `page` hears what is done here.
  constructor(data, page) {
    Object.assign(this, { kind: 'code', text: '', form: null, raw: null, lead: null }, data);
    this.page = page;
    this.number = 0;
    this.result = null; // the last one, of `ran`
    this.ran = null;
    this.build();
    this.setKind(this.kind);
  }

  build() {
    this.field = make('textarea', { className: 'code', rows: 1, value: this.text,
      spellcheck: false });
    this.field.setAttribute('autocapitalize', 'off');
    this.field.setAttribute('autocomplete', 'off');
    this.shown = make('div', { className: 'shown' });
    this.value = make('output', { className: 'value' });
    this.picture = make('div', { className: 'picture' });
    this.label = make('span', { className: 'number' });
    this.label.setAttribute('aria-hidden', 'true');
    this.tools = make('div', { className: 'tools' }, ...TOOLS.map((tool) => this.tool(...tool)));
    this.tools.setAttribute('role', 'group');
    const entry = make('div', { className: 'lines' }, this.field, this.shown, this.value);
    this.element = make('li', { className: 'cell' }, this.label, entry, this.picture, this.tools);
    this.listen();
  }

  tool(name, sign, label) {
    const button = make('button', { type: 'button' }, sign);
    button.dataset.tool = name;
    button.title = label;
    button.addEventListener('click', () => this.page.tool(name, this));
    return button;
  }

  listen() {
    this.field.addEventListener('input', () => this.edited());
    this.field.addEventListener('focus', () => this.fit());
    this.field.addEventListener('blur', () => this.page.hints.close());
    this.field.addEventListener('keydown', (event) => this.page.key(event, this));
    this.field.addEventListener('paste', (event) => this.page.paste(event, this));
    this.shown.addEventListener('click', (event) => {
      if (!getSelection().toString() && !event.target.closest('a')) this.field.focus();
    });
  }

  // {====== Changes ======

  edited() {
    this.text = this.field.value;
    this.changed();
    this.render();
    this.page.edited(this);
  }

  // What the script says of it is out of date.
  changed() {
    this.raw = null;
    this.form = null;
  }

  setText(text) {
    this.field.value = this.text = text;
    this.changed();
    this.render();
  }

  setKind(kind) {
    this.kind = kind;
    this.element.dataset.kind = kind;
    const button = this.tools.querySelector('[data-tool="kind"]');
    button.textContent = kind === 'code' ? 'Text' : 'Code';
    button.title = kind === 'code' ? 'Make it a text' : 'Make it code';
    this.clear();
    this.render();
  }

  // Code and texts are counted apart.
  setNumber(number) {
    this.number = number;
    this.label.textContent = this.kind === 'code' ? number : '';
    this.field.setAttribute('aria-label', this.name);
    this.tools.setAttribute('aria-label', this.name);
    for (const button of this.tools.children) {
      button.setAttribute('aria-label', `${button.title}: ${this.name}`);
    }
  }

  get name() { return `${this.kind === 'code' ? 'Cell' : 'Text'} ${this.number}`; }

  render() {
    this.shown.replaceChildren(...(this.kind === 'text' ? textBlocks(this.text) : []));
    this.element.classList.toggle('empty', this.text.trim() === '');
    this.fit();
  }

  // As high as its text.
  fit() {
    if (!this.element.isConnected) return;
    this.field.style.height = 'auto';
    this.field.style.height = `${this.field.scrollHeight}px`;
  }

  // {====== Results ======

  clear() {
    this.result = this.ran = null;
    this.value.textContent = '';
    this.value.className = 'value';
    this.picture.replaceChildren();
    this.field.removeAttribute('aria-invalid');
  }

  busy(isBusy) {
    this.element.setAttribute('aria-busy', String(isBusy));
  }

  // `result`: {ok, out, error, svg, form} of what `text` gave.
  show(result, text) {
    this.result = result;
    this.ran = text;
    if (text === this.text) this.form = result.form;
    this.showValue(result, !text.includes('\n'));
    this.showPicture(result.svg);
  }

  showValue({ ok, out, error }, isOneLine) {
    const printed = out ? [make('span', {}, shortened(out.replace(/\n$/, '')))] : [];
    const message = ok ? [] : [make('span', { className: 'bad' },
      `${printed.length ? '\n' : ''}${placed(error, this.number, isOneLine)}`)];
    const parts = [...printed, ...message];
    if (parts.map((part) => part.textContent).join('') !== this.value.textContent ||
      ok === this.value.classList.contains('wrong')) this.value.replaceChildren(...parts);
    this.value.classList.toggle('wrong', !ok);
    if (ok) this.field.removeAttribute('aria-invalid');
    else this.field.setAttribute('aria-invalid', 'true');
  }

  showPicture(svg) {
    if (!svg) {
      this.picture.replaceChildren();
      return;
    }
    const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    const old = this.picture.querySelector('img');
    if (old && old.src === source) return;
    const [title] = (this.value.textContent || this.text).split('\n');
    const image = make('img', { className: 'drawing', src: source, alt: `Picture of ${title}` });
    const button = make('button', { type: 'button', className: 'opens' }, image);
    button.setAttribute('aria-label', `Open the picture of ${this.name}: ${title}`);
    button.title = 'Open the picture that answers to the mouse and to keys';
    button.addEventListener('click', () => this.page.openPicture(this));
    this.picture.replaceChildren(button);
  }

  // {====== Focus ======

  // `at`: 'begin', 'end', or a place in the text.
  focus(at = 'end') {
    this.field.focus();
    const place = at === 'begin' ? 0 : at === 'end' ? this.text.length : at;
    this.field.setSelectionRange(place, place);
    this.element.scrollIntoView({ block: 'nearest' });
  }
}
