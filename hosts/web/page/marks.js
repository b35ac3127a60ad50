// marks.js: errors and findings in the editor: a sign in the gutter, the message under the line.
'use strict';

const MARK_WORDS = { error: 'Error', finding: 'Finding' };

class Marks {
  constructor(cm) {
    this.cm = cm;
    this.all = []; // {kind, message, handle, widget}, by line
  }

  clear() {
    for (const mark of this.all) mark.widget.clear();
    this.cm.clearGutter('marks');
    this.all = [];
  }

  // `found`: a list of {line, message, kind}; lines count from 1.
  set(found) {
    this.clear();
    const inText = found.filter(({ line }) => line >= 1 && line <= this.cm.lineCount());
    inText.sort((a, b) => a.line - b.line);
    this.cm.operation(() => { this.all = inText.map((mark) => this.add(mark)); });
  }

  add({ line, message, kind }) {
    const handle = this.cm.getLineHandle(line - 1);
    const sign = make('span', { className: `mark ${kind}`, title: message });
    sign.setAttribute('role', 'img');
    sign.setAttribute('aria-label', `${MARK_WORDS[kind]} in line ${line}`);
    this.cm.setGutterMarker(handle, 'marks', sign);
    const note = make('div', { className: `message ${kind}` }, message);
    const widget = this.cm.addLineWidget(handle, note, { coverGutter: false, noHScroll: true });
    return { kind, message, handle, widget };
  }

  lineOf(mark) { return this.cm.getLineNumber(mark.handle); }

  // The mark `step` further than the cursor's line; after the last comes the first.
  next(step) {
    const placed = this.all.filter((mark) => this.lineOf(mark) !== null);
    if (placed.length === 0) return null;
    const here = this.cm.getCursor().line;
    const ordered = step > 0 ? placed : placed.reverse();
    return ordered.find((mark) => (this.lineOf(mark) - here) * step > 0) || ordered[0];
  }
}
