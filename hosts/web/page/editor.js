// editor.js: the script: CodeMirror, its keys, its name and its marks.
'use strict';

const OFFERS_COMPLETION = /[\w.:]$/;
const LEAVING = { Tab: false, 'Shift-Tab': false }; // the browser's own meaning

// 0: the cursor does not blink.
const BLINK_MS = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 530;

// What scrolls is in Tab's order, as all that scrolls is, and passes the focus on to the text. While
// the text has it, Tab skips it, or nobody would get out.
function passFocusOn(cm) {
  const scroller = cm.getScrollerElement();
  scroller.tabIndex = 0;
  scroller.addEventListener('focus', () => cm.focus());
  cm.on('focus', () => { scroller.tabIndex = -1; });
  cm.on('blur', () => { scroller.tabIndex = 0; });
}

class ScriptEditor {
  constructor(side) {
    this.name = 'script.lua';
    this.cm = CodeMirror(byId('editor'), {
      mode: 'lua', theme: 'cuttle', lineNumbers: true, indentUnit: 2, tabSize: 8,
      gutters: ['marks', 'CodeMirror-linenumbers'], matchBrackets: true, autoCloseBrackets: true,
      styleActiveLine: true, viewportMargin: Infinity, screenReaderLabel: 'Script',
      extraKeys: this.keys(), cursorBlinkRate: BLINK_MS,
    });
    passFocusOn(this.cm);
    this.marks = new Marks(this.cm);
    this.help = new Help(this.cm, side);
    this.complete = addCompletion(this.cm, side);
    this.cm.on('blur', () => this.stay());
    this.cm.on('changes', () => this.stay());
  }

  keys() {
    return {
      Tab: () => this.tab(),
      'Shift-Tab': 'indentLess',
      'Ctrl-Space': () => this.complete(),
      'Ctrl-/': 'toggleComment',
      'Cmd-/': 'toggleComment',
      F1: () => this.help.atCursor(),
      Esc: () => this.escape(),
      Enter: 'newlineAndIndent',
    };
  }

  tab() {
    const { line, ch } = this.cm.getCursor();
    const before = this.cm.getLine(line).slice(0, ch);
    if (this.cm.somethingSelected()) this.cm.indentSelection('add');
    else if (OFFERS_COMPLETION.test(before)) this.complete();
    else this.cm.replaceSelection('  ', 'end');
  }

  // First away with help; then Tab moves on until something is typed.
  escape() {
    if (this.help.isShown) {
      this.help.hide();
      return;
    }
    this.stay();
    this.cm.addKeyMap(LEAVING);
    byId('spoken').textContent = 'Tab moves on now.';
  }

  stay() { this.cm.removeKeyMap(LEAVING); }

  get text() { return this.cm.getValue(); }

  // The former script comes back by undoing.
  load(name, text) {
    this.name = name;
    byId('script-name').textContent = name;
    document.title = `${name} - Cuttle playground`;
    this.marks.clear();
    this.help.hide();
    this.cm.setValue(text);
    this.cm.setCursor({ line: 0, ch: 0 });
  }

  // Lines count from 1.
  goTo(line, { focus = true } = {}) {
    byId('script').scrollIntoView({ block: 'nearest' });
    this.cm.setCursor({ line: line - 1, ch: 0 });
    const top = this.cm.heightAtLine(line - 1, 'local', true);
    const end = this.cm.heightAtLine(line, 'local'); // with the messages below the line
    const most = top + this.cm.getScrollInfo().clientHeight - 30;
    this.cm.scrollIntoView({ left: 0, right: 1, top: top - 20, bottom: Math.min(end + 8, most) });
    if (focus) this.cm.focus();
  }

  // The place stands before the message, and the mark stands at the place.
  markError(line, error) {
    const message = error.trim().replace(`${this.name}:${line}: `, '');
    this.marks.set([{ line, message, kind: 'error' }]);
  }

  nextMark(step) {
    const mark = this.marks.next(step);
    if (!mark) return;
    this.goTo(this.marks.lineOf(mark) + 1);
    byId('spoken').textContent = mark.message;
  }

  // Names of the language get their colour; `names` is a list of texts.
  colourNames(names) {
    const known = new Set(names);
    this.cm.addOverlay({
      token(stream) {
        const { type } = stream.baseToken() || {}; // of what comes next
        if (!stream.match(/[A-Za-z_]\w*/)) {
          stream.next();
          return null;
        }
        const isField = /[.:]/.test(stream.string.charAt(stream.start - 1));
        return type === 'variable' && !isField && known.has(stream.current()) ? 'variable-2' : null;
      },
    });
  }
}
