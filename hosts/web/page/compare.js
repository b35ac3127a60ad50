// compare.js: the pane of two versions side by side: one that was kept, and the script as it stands.
// What is compared is their text or what the engine makes of each.
'use strict';

const COMPARE_MS = 300;
const CONTEXT_LINES = 3; // equal lines that are shown beside a difference

// What an engine answers; raises where it was stopped, as half an answer says nothing of a version.
async function answerOf(main, op, args, write) {
  const answer = await main.ask(op, args, write);
  if (answer.stopped) throw new Error(asSentence(answer.error));
  return answer;
}

// What of a version is compared, as a text; the error where the engine fails.
const COMPARED = {
  script: async (_, { text }) => text,
  cuda: async (main, version) => {
    const { kernels = [], text, error } = await answerOf(main, 'emit', { ...version, sm: byId('sm').value });
    return kernels.map(({ cuda }) => cuda).join('\n\n') || text || error || '';
  },
  profile: async (main, version) => {
    const { text, error } = await answerOf(main, 'profile', version);
    return (text || error || '').trimEnd();
  },
  output: async (main, version) => {
    let said = '';
    const { ok, error } = await answerOf(main, 'run', version, (part) => { said += part; });
    return ok || said.includes(error) ? said.trimEnd() : `${said}${error}`;
  },
};

// Which rows are shown: those that differ, with some around them.
function rowsToShow(rows) {
  const shown = new Set();
  rows.forEach(({ same }, i) => {
    if (same) return;
    for (let at = i - CONTEXT_LINES; at <= i + CONTEXT_LINES; at += 1) shown.add(at);
  });
  return shown;
}

class ComparePane {
  constructor({ main, editor, tabs }) {
    Object.assign(this, { main, editor, tabs });
    this.base = null; // {name, text}
    this.key = null;  // of what is shown
    this.asked = 0;
    this.kind = byId('compared');
    this.note = document.querySelector('#pane-compare .note');
    this.kind.addEventListener('change', () => this.open());
    byId('keep').addEventListener('click', () => this.keep(this.version));
    byId('again').addEventListener('click', () => this.run());
    const later = delayed(COMPARE_MS, () => this.open());
    editor.cm.on('changes', () => {
      if (this.tabs.open !== 'compare') return;
      if (this.kind.value === 'script') later();
      else this.tell();
    });
  }

  get version() { return { name: this.editor.name, text: this.editor.text }; }
  get wanted() { return JSON.stringify([this.kind.value, this.base, this.version, byId('sm').value]); }

  keep(version) {
    this.base = version;
    if (this.tabs.open === 'compare') this.open();
  }

  // Of a link: the version that was kept, and what is compared.
  get state() { return { base: this.base.text, compared: this.kind.value }; }

  apply(base, compared) {
    if (typeof base === 'string') this.keep({ name: this.editor.name, text: base });
    if (Object.hasOwn(COMPARED, compared)) this.kind.value = compared;
  }

  tell() { this.note.textContent = this.key === this.wanted ? this.said : 'The script has changed.'; }

  // What was asked for before this is not shown any more.
  open() {
    this.asked += 1;
    if (this.key === this.wanted) this.tell();
    else this.run();
  }

  async run() {
    const { wanted, base, version } = this, make = COMPARED[this.kind.value];
    this.asked += 1;
    const mine = this.asked;
    this.note.textContent = 'Working';
    try {
      const before = await make(this.main, base);
      const after = version.text === base.text ? before : await make(this.main, version);
      if (mine !== this.asked) return;
      this.key = wanted;
      this.show(differenceRows(before, after));
      this.tell();
    } catch ({ message }) {
      if (mine === this.asked) this.note.textContent = message;
    }
  }

  show(rows) {
    const n = rows.filter(({ same }) => !same).length;
    this.said = n === 0 ? 'No line differs.' : `${n} ${n === 1 ? 'line differs' : 'lines differ'}.`;
    const body = byId('versions').tBodies[0], shown = rowsToShow(rows);
    const parts = [];
    let skipped = 0;
    rows.forEach((row, i) => {
      if (!shown.has(i)) {
        skipped += 1;
        return;
      }
      if (skipped > 0) parts.push(this.gap(skipped));
      skipped = 0;
      parts.push(this.row(row));
    });
    if (skipped > 0) parts.push(this.gap(skipped));
    body.replaceChildren(...parts);
  }

  gap(n) {
    const cell = make('td', { colSpan: 4, className: 'gap' }, `${n} equal ${n === 1 ? 'line' : 'lines'}`);
    return make('tr', {}, cell);
  }

  row({ left, right, same }) {
    const row = make('tr', { className: same ? 'same' : 'differs' });
    row.append(...this.side(left, same ? null : ['\u2212', 'del']), ...this.side(right, same ? null : ['+', 'ins']));
    return row;
  }

  // The number and the line of a side; `mark`: its sign and its element where it differs.
  side(line, mark) {
    if (!line) return [make('td', { className: 'none' }), make('td', { className: 'none' })];
    const [number, text] = line;
    const place = make('td', { className: 'number' }, mark ? `${mark[0]} ` : '', this.placeOf(number, mark));
    return [place, make('td', {}, make(mark ? mark[1] : 'span', {}, text))];
  }

  // Of lines that the script has now, a button that goes there.
  placeOf(number, mark) {
    if (this.kind.value !== 'script' || !mark || mark[1] !== 'ins') return String(number);
    const jump = make('button', { className: 'link' }, String(number));
    jump.setAttribute('aria-label', `Go to line ${number}`);
    jump.addEventListener('click', () => this.editor.goTo(number));
    return jump;
  }
}
