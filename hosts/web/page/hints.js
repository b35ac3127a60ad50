// hints.js: completion in the editor, and help for a name, by a key or under the pointer.
'use strict';

const HOVER_MS = 450;
const NAME_AT = /[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*/g;

// The name with its dots that stands at a place of a line; null in comments and strings.
function nameAt(cm, { line, ch }) {
  const type = cm.getTokenTypeAt({ line, ch: ch + 1 }) || cm.getTokenTypeAt({ line, ch }) || '';
  if (/comment|string/.test(type)) return null;
  for (const found of cm.getLine(line).matchAll(NAME_AT)) {
    const end = found.index + found[0].length;
    if (found.index <= ch && ch <= end) return found[0];
  }
  return null;
}

function hintRow(element, _, { name, summary }) {
  element.append(make('span', {}, name));
  if (summary) element.append(make('span', { className: 'summary' }, summary));
}

function addCompletion(cm, side) {
  async function hint(editor) {
    const cursor = editor.getCursor(), text = editor.getValue();
    const at = editor.indexFromPos(cursor);
    const answer = await side.ask('complete', { text, at, place: 'script' });
    if (!answer.ok || answer.names.length === 0) return null;
    const list = answer.names.map(({ name, summary }) => (
      { text: name, name, summary, render: hintRow }));
    return { list, from: editor.posFromIndex(answer.from), to: cursor };
  }
  return () => cm.showHint({ hint, completeSingle: true, closeOnUnfocus: true });
}

class Help {
  constructor(cm, side) {
    this.cm = cm;
    this.side = side;
    this.box = byId('help');
    this.asked = 0;
    const root = cm.getWrapperElement();
    root.addEventListener('mousemove', delayed(HOVER_MS, (event) => this.hover(event)));
    root.addEventListener('mouseleave', () => this.leave());
    this.box.addEventListener('mouseleave', () => this.hide());
    cm.on('changes', () => this.hide());
    cm.on('scroll', () => this.hide());
  }

  get isShown() { return !this.box.hidden; }

  hide() {
    this.asked += 1;
    this.box.hidden = true;
    byId('spoken').textContent = '';
  }

  // The pointer may move from the name onto the help.
  leave() {
    this.asked += 1;
    setTimeout(() => { if (!this.box.matches(':hover')) this.hide(); }, HOVER_MS);
  }

  hover({ clientX, clientY }) {
    if (!this.cm.getWrapperElement().matches(':hover') || this.side.isBusy) return;
    const place = this.cm.coordsChar({ left: clientX, top: clientY }, 'window');
    if (!place.outside) this.show(place, false);
  }

  // By a key: says so where there is no help.
  async atCursor() {
    const place = this.cm.getCursor();
    if (!await this.show(place, true)) this.put(place, 'No help for what stands here.', true);
  }

  async show(place, isSpoken) {
    const name = nameAt(this.cm, place);
    if (!name) return false;
    this.asked += 1;
    const mine = this.asked;
    const text = await this.find(name);
    if (mine !== this.asked) return true;
    if (text) this.put(place, text, isSpoken);
    return text !== null;
  }

  // A method is found by its own name as well.
  async find(name) {
    const short = name.replace(/^.*[.:]/, '');
    for (const wanted of new Set([name.replace(':', '.'), short])) {
      const answer = await this.side.ask('help', { name: wanted });
      if (answer.stopped) return asSentence(answer.error);
      if (answer.ok && answer.text) return answer.text;
    }
    return null;
  }

  put(place, text, isSpoken) {
    byId('help-text').textContent = text.trimEnd();
    this.box.hidden = false;
    const at = this.cm.cursorCoords(place, 'window');
    const { offsetWidth, offsetHeight } = this.box;
    const below = at.bottom + 4, above = at.top - offsetHeight - 4;
    const fits = below + offsetHeight < innerHeight || above < 0;
    this.box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - offsetWidth - 8))}px`;
    this.box.style.top = `${fits ? below : above}px`;
    if (isSpoken) byId('spoken').textContent = text;
  }
}
