// reports.js: the panes of check, profile, trace and timeline. A pane asks the engine for a report
// when it is opened, if the script has changed since its last report.
'use strict';

const REPORTS = [
  { op: 'check', verb: 'Check again',
    about: 'Runs the script and looks for what its kernels do wrong.' },
  { op: 'profile', verb: 'Profile again', about: 'What each line costs on a GPU.' },
  { op: 'trace', verb: 'Trace again', about: 'Where the value of an element comes from.',
    field: { name: 'element', label: 'Element', none: 'first written', used: /<title>(\S+) - trace</ } },
  { op: 'timeline', verb: 'Draw again', about: 'Which warps of a block work, and which wait.' },
];

// Check's report without the lines that stand above it, one by one, as findings.
function withoutFindings(text, findings) {
  const isFinding = (line) => findings.some(({ message }) => line.includes(message));
  return text.trimEnd().split('\n').filter((line) => !isFinding(line)).join('\n');
}

class Report {
  constructor({ op, verb, about, field }, { main, editor }) {
    Object.assign(this, { op, main, editor });
    this.of = null;   // the script that the pane shows a report of, with the field
    this.options = field ? [this.optionOf(field)] : [];
    this.html = null;
    this.isRunning = false;
    this.pane = byId(`pane-${op}`);
    this.note = make('span', { className: 'muted' }, about);
    this.again = make('button', {}, verb);
    this.list = make('ul', { className: 'findings', hidden: true });
    this.frame = make('iframe', { title: `The page of ${op}`, hidden: true });
    this.frame.setAttribute('sandbox', 'allow-scripts');
    this.build();
  }

  build() {
    const pre = make('pre', { className: 'log', tabIndex: 0, role: 'log' });
    pre.setAttribute('aria-label', `Report of ${this.op}`);
    this.log = new Log(pre);
    this.list.setAttribute('aria-label', 'Findings');
    this.stage = make('div', { className: 'stage', hidden: true }, this.frame);
    const fields = this.options.map(({ element }) => element);
    this.pane.append(make('div', { className: 'controls' }, ...fields, this.again, this.note),
      this.list, pre, this.stage);
    this.again.addEventListener('click', () => this.run());
    this.editor.cm.on('changes', () => this.tell());
  }

  // A field whose text goes along with the request. Empty, it shows what the engine takes instead:
  // `none`, until a page has said what it was, where `used` finds it.
  optionOf({ name, label, none, used }) {
    const field = make('input', {
      type: 'text', className: 'code', placeholder: none, size: 14 });
    field.spellcheck = false;
    field.addEventListener('keydown', ({ key, ctrlKey }) => {
      if (key === 'Enter' && !ctrlKey) this.run();
    });
    return { name, field, none, used, element: make('label', {}, `${label} `, field) };
  }

  showUsed(html) {
    for (const { field, none, used } of this.options) {
      const found = used.exec(html || '');
      field.placeholder = found ? found[1] : none;
    }
  }

  option(name) { return this.options.find((option) => option.name === name).field; }

  // What is asked for; a report of the same is not made again.
  get asked() {
    const fields = this.options.map(({ name, field }) => [name, field.value.trim()]);
    return { text: this.editor.text, name: this.editor.name, ...Object.fromEntries(fields) };
  }

  get key() { return JSON.stringify(this.asked); }

  open() { if (this.of !== this.key) this.run(); }

  async run() {
    if (this.isRunning) return;
    const { asked, key } = this;
    this.isRunning = true;
    this.note.textContent = 'Working';
    this.clear();
    const result = await this.main.ask(this.op, asked);
    this.of = result.stopped ? null : key;
    this.isRunning = false;
    this.note.textContent = '';
    this.showUsed(result.html);
    if (result.ok) this.show(result);
    else this.fail(result);
    this.log.flush();
    this.tell();
  }

  clear() {
    this.log.clear();
    this.list.hidden = this.stage.hidden = true;
    this.editor.marks.clear();
  }

  show({ text, findings, error, ...result }) {
    if (findings) this.showFindings(findings);
    const html = this.pageOf(result);
    if (html) this.put(html);
    else if (findings) this.log.write(`${withoutFindings(text, findings)}\n`);
    else if (text) this.log.write(`${text.trimEnd()}\n`);
    if (error && !html) this.log.write(`${error}\n`, 'err'); // of the script, after what was found
  }

  // A page of the report, or null.
  pageOf({ html }) {
    if (!html) return null;
    const page = ownPage(html);
    if (!page) this.log.write(`${NOT_SHOWN}\n`, 'err');
    return page;
  }

  fail({ error, line }) {
    this.log.write(`${error}\n`, 'err');
    if (line) this.editor.markError(line, error);
  }

  put(html) {
    this.html = html;
    this.frame.hidden = this.stage.hidden = false;
    this.frame.srcdoc = framedPage(html);
  }

  retheme() { if (this.html && !this.stage.hidden) this.put(this.html); }

  showFindings(findings) {
    this.editor.marks.set(findings.map((finding) => ({ ...finding, kind: 'finding' })));
    this.list.hidden = findings.length === 0;
    this.list.replaceChildren(...findings.map((finding) => this.row(finding)));
    const first = findings.find(({ line }) => line);
    if (first) this.editor.goTo(first.line, { focus: false });
  }

  // `at`: the place of a finding that is not in the script.
  row({ line, at, message }) {
    if (!line) return make('li', {}, make('code', {}, at || ''), make('p', {}, message));
    const jump = make('button', { className: 'link' }, `line ${line}`);
    jump.addEventListener('click', () => this.editor.goTo(line));
    return make('li', {}, jump, make('p', {}, message));
  }

  tell() {
    if (this.of === null || this.isRunning) return;
    this.note.textContent = this.of === this.key ? '' : 'The script has changed.';
  }
}
