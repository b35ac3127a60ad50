// cuda.js: the pane of emitted CUDA C. Its lines and the script's mark each other.
'use strict';

// Lines count from 1.
function isLineInView(cm, line) {
  const top = cm.heightAtLine(line - 1, 'local'), { top: from, clientHeight } = cm.getScrollInfo();
  return top >= from && top + cm.defaultTextHeight() <= from + clientHeight;
}

class CudaPane {
  constructor({ main, editor, tabs }) {
    Object.assign(this, { main, editor, tabs });
    this.made = null; // the text and sm that the pane shows
    this.kernels = [];
    this.lines = [];  // of the kernel: [line of CUDA C, line of the script]
    this.linked = []; // [cm, handle]
    this.sm = byId('sm');
    this.choice = byId('kernel');
    this.note = document.querySelector('#pane-cuda .note');
    this.cm = CodeMirror(byId('cuda'), {
      mode: 'text/x-c++src', theme: 'cuttle', readOnly: true, lineNumbers: true,
      viewportMargin: Infinity, styleActiveLine: true, screenReaderLabel: 'CUDA C of the kernels',
      extraKeys: { Tab: false, 'Shift-Tab': false }, cursorBlinkRate: BLINK_MS,
    });
    passFocusOn(this.cm);
    this.listen();
  }

  listen() {
    this.sm.addEventListener('change', () => this.open());
    this.choice.addEventListener('change', () => this.showKernel());
    for (const change of ['cursorActivity', 'focus']) {
      this.cm.on(change, () => this.fromCuda(this.cm.getCursor().line + 1));
      this.editor.cm.on(change, () => this.fromScript());
    }
    for (const [cm, link] of [[this.cm, (line) => this.linkCuda(line)],
      [this.editor.cm, (line) => this.linkScript(line)]]) {
      cm.getWrapperElement().addEventListener('mousemove', (event) => this.hover(cm, event, link));
      cm.getWrapperElement().addEventListener('mouseleave', () => this.leave());
    }
    this.editor.cm.on('changes', () => this.tell());
    this.cm.getWrapperElement().addEventListener('dblclick', () => this.goToScript());
    this.cm.addKeyMap({ Enter: () => this.goToScript() });
  }

  get key() { return JSON.stringify([this.editor.text, this.sm.value]); }

  async open() {
    this.cm.refresh();
    if (this.made === this.key) return;
    const { text, name } = this.editor, { key } = this;
    const result = await this.main.ask('emit', { text, name, sm: this.sm.value });
    this.made = result.stopped ? null : key;
    if (result.ok || (result.kernels || []).length > 0) this.take(result);
    else this.fail(result);
    this.tell();
  }

  take({ kernels, text }) {
    this.kernels = kernels.length > 0 ? kernels : [{ name: '', cuda: text || '', lines: [] }];
    this.choice.replaceChildren(...kernels.map(({ name }, i) => new Option(name, String(i))));
    this.choice.hidden = this.choice.previousElementSibling.hidden = kernels.length < 2;
    this.showKernel();
  }

  fail({ error, line }) {
    this.kernels = this.lines = [];
    this.cm.setValue(error.trim());
    if (line) this.editor.markError(line, error);
  }

  showKernel() {
    const kernel = this.kernels[Number(this.choice.value) || 0];
    this.lines = kernel.lines;
    this.cm.setValue(kernel.cuda || '// The script launches no kernel.');
    this.fromScript();
  }

  tell() {
    const isOld = this.made !== null && this.made !== this.key;
    this.note.textContent = isOld ? 'The script has changed.' :
      this.kernels.length > 0 ? 'Enter goes to the script\u2019s line.' : '';
  }

  // {====== Lines ======

  unlink() {
    for (const [cm, handle] of this.linked) cm.removeLineClass(handle, 'background', 'linked');
    this.linked = [];
  }

  mark(cm, lines) {
    for (const line of lines) {
      const handle = cm.getLineHandle(line - 1);
      if (!handle) continue;
      cm.addLineClass(handle, 'background', 'linked');
      this.linked.push([cm, handle]);
    }
  }

  // The script's lines of a line of CUDA C.
  scriptLines(line) { return this.lines.filter(([c]) => c === line).map(([, s]) => s); }

  get isOpen() { return this.tabs.open === 'cuda' && this.made === this.key; }

  fromCuda(line) { if (this.isOpen && this.cm.hasFocus()) this.linkCuda(line); }

  fromScript() {
    if (this.isOpen && !this.cm.hasFocus()) this.linkScript(this.editor.cm.getCursor().line + 1);
  }

  linkCuda(line) {
    this.link(this.cm, line, this.editor.cm, this.scriptLines(line));
  }

  linkScript(line) {
    const lines = this.lines.filter(([, s]) => s === line).map(([c]) => c);
    this.link(this.editor.cm, line, this.cm, lines);
  }

  // Marks a line and those of the other side that belong to it, of which one comes into view.
  link(cm, line, other, lines) {
    this.unlink();
    this.mark(cm, lines.length > 0 ? [line] : []);
    this.mark(other, lines);
    if (lines.length > 0 && !lines.some((at) => isLineInView(other, at))) {
      other.scrollIntoView({ line: lines[0] - 1, ch: 0 }, 40);
    }
  }

  // The line under the pointer goes before that of the cursor.
  hover(cm, { clientX, clientY }, link) {
    if (!this.isOpen) return;
    const { line, outside } = cm.coordsChar({ left: clientX, top: clientY }, 'window');
    if (!outside || line < cm.lastLine()) link(line + 1);
  }

  leave() {
    this.unlink();
    this.fromScript();
    this.fromCuda(this.cm.getCursor().line + 1);
  }

  goToScript() {
    const [line] = this.scriptLines(this.cm.getCursor().line + 1);
    if (line) this.editor.goTo(line);
  }
}
