// reports.js: the panes of check, profile, trace and timeline: each asks the engine for a report of
// the script, when it is opened and the script has changed since.
'use strict';

const REPORTS = [
  { op: 'check', verb: 'Check again',
    about: 'Runs the script and looks for what its kernels do wrong.' },
  { op: 'profile', verb: 'Profile again', about: 'What each line costs a GPU.' },
  { op: 'trace', verb: 'Trace again', about: 'What the threads of a block do, step by step.' },
  { op: 'timeline', verb: 'Draw again', about: 'Which warps of a block work, and which wait.' },
];

// The last line of check's report: the findings stand above it, one by one.
function summaryOf(text) { return text.trimEnd().split('\n').at(-1); }

class Report {
  constructor({ op, verb, about }, { main, editor }) {
    Object.assign(this, { op, main, editor });
    this.of = null;   // the script that the pane shows a report of
    this.html = null;
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
    this.pane.append(make('div', { className: 'controls' }, this.again, this.note), this.list, pre,
      this.stage);
    this.again.addEventListener('click', () => this.run());
    this.editor.cm.on('changes', () => this.tell());
  }

  open() { return this.of === this.editor.text ? null : this.run(); }

  async run() {
    const { text, name } = this.editor;
    this.clear();
    let said = '';
    const result = await this.main.ask(this.op, { text, name }, (part, kind) => {
      said += part;
      this.log.write(part, kind);
    });
    this.of = text;
    this.note.textContent = '';
    if (result.ok) this.show(result);
    else this.fail(result, said);
    this.log.flush();
    this.tell();
    return result;
  }

  clear() {
    this.log.clear();
    this.list.hidden = this.stage.hidden = true;
    this.editor.marks.clear();
  }

  show({ text, html, findings }) {
    if (findings) this.showFindings(findings);
    if (html) this.put(html);
    else if (text) this.log.write(`${findings ? summaryOf(text) : text.trimEnd()}\n`,
      findings ? 'said' : 'out');
  }

  fail({ error, line }, said) {
    if (!said.includes(error)) this.log.write(`${error}\n`, 'err');
    if (line) this.editor.marks.set([{ line, message: error.trimEnd(), kind: 'error' }]);
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
    if (findings.length > 0) this.editor.goTo(findings[0].line, { focus: false });
  }

  row({ line, message }) {
    const jump = make('button', { className: 'link' }, `line ${line}`);
    jump.addEventListener('click', () => this.editor.goTo(line));
    return make('li', {}, jump, make('p', {}, message));
  }

  tell() {
    if (this.of === null) return;
    this.note.textContent = this.of === this.editor.text ? '' : 'The script has changed.';
  }
}
