// picture.js: the pane that draws what an expression is worth while one types or moves the cursor.
'use strict';

const PICTURE_MS = 300;
const FIRST_TRIES = 8; // statements of a script that are asked for its first picture

// The answer of an engine, whose page is one that may be shown.
async function askPicture(line, args) {
  const answer = await line.ask('picture', args);
  if (!answer.html) return answer;
  const html = ownPage(answer.html);
  return { ...answer, html, why: html ? answer.why : NOT_SHOWN };
}

class PicturePane {
  constructor({ side, editor, tabs }) {
    Object.assign(this, { side, editor, tabs });
    this.field = byId('expression');
    this.follow = byId('follow');
    this.frame = byId('picture');
    this.value = byId('picture-text');
    this.empty = byId('picture-empty');
    this.html = null;
    this.asked = 0;
    this.drawn = '';
    this.first = Promise.resolve(); // until the first picture of a script is found
    const later = delayed(PICTURE_MS, () => this.update());
    this.field.addEventListener('input', () => {
      this.follow.checked = false;
      later();
    });
    this.follow.addEventListener('change', later);
    editor.cm.on('cursorActivity', () => { if (this.follow.checked) later(); });
    editor.cm.on('changes', later);
  }

  get isOpen() { return this.tabs.open === 'picture'; }

  // What to draw: {candidates, before}, or null.
  wanted() {
    if (this.follow.checked) return expressionAtCursor(this.editor.cm);
    const typed = this.field.value.trim();
    return typed ? { candidates: [typed], before: this.editor.text } : null;
  }

  async update() {
    let waited;
    do {
      waited = this.first;
      await waited;
    } while (waited !== this.first);
    if (!this.isOpen) return;
    const wanted = this.wanted();
    const key = JSON.stringify(wanted);
    if (!wanted || key === this.drawn) return;
    this.drawn = key;
    this.asked += 1;
    const mine = this.asked;
    const isMine = () => mine === this.asked;
    const { expression, answer } = await this.find(wanted, isMine);
    if (isMine() && this.isWorth(answer)) this.show(expression, answer);
  }

  // Another script is opened: what is on its way is of the one before it.
  forget() { this.asked += 1; }

  // Draws the first thing in the script that has a picture; whether there is one, or null where another
  // script was opened meanwhile.
  drawFirst() {
    this.first = this.findFirst();
    return this.first;
  }

  async findFirst() {
    const mine = this.asked, isMine = () => mine === this.asked;
    let tries = 0;
    for (const wanted of firstExpressions(this.editor.cm)) {
      const { expression, answer } = await this.find(wanted, isMine);
      if (!isMine()) return null;
      tries += 1;
      if (answer.html) {
        this.drawn = JSON.stringify(wanted);
        this.show(expression, answer);
        return true;
      }
      if (answer.stopped || tries === FIRST_TRIES) return false;
    }
    return false;
  }

  // A cursor passes many things that have no picture: the last one stays.
  isWorth(answer) {
    if (!answer) return false;
    const isValue = answer.ok && answer.text.trim() !== 'nil';
    return !this.follow.checked || Boolean(answer.html) || isValue;
  }

  // The first candidate that has a picture; without one, the first that has a value.
  async find({ candidates, before }, isMine) {
    const found = [];
    for (const expression of candidates) {
      if (!isMine()) break;
      const answer = await this.draw(expression, before);
      found.push({ expression, answer });
      if (answer.html || answer.stopped) break;
    }
    return found.find(({ answer }) => answer.html) || found.find(({ answer }) => answer.ok) ||
      found[0] || {};
  }

  // What needs no locals of the script is drawn while the script is wrong.
  async draw(expression, before) {
    const alone = await askPicture(this.side, { expression });
    if (alone.html || before.trim() === '') return alone;
    return askPicture(this.side, { expression, text: before });
  }

  show(expression, answer) {
    this.empty.hidden = true;
    if (this.follow.checked) this.field.value = expression.replace(/\s+/g, ' ');
    const isError = !answer.ok;
    this.value.classList.toggle('bad', isError);
    this.frame.parentElement.classList.toggle('old', isError);
    this.value.classList.toggle('unseen', !isError && Boolean(answer.html)); // the page says it too
    this.value.textContent = this.textOf(answer);
    if (answer.html && answer.html !== this.html) this.put(answer.html);
    else if (!answer.html && !isError) this.frame.parentElement.classList.add('old');
  }

  // Beside a page the first line is enough: a screen reader speaks it.
  textOf({ ok, error, html, text, why }) {
    if (!ok) return `No picture: ${error.trim()}`;
    return html ? text.split('\n', 1)[0] : `${text.trimEnd()}\n${why || ''}`.trim();
  }

  put(html) {
    this.html = html;
    this.frame.hidden = false;
    this.frame.srcdoc = framedPage(html);
  }

  // A page that shown.js made of a file of a script.
  showFile(html, name) {
    this.tabs.select('picture');
    this.draws('');
    this.drawn = '';
    this.value.textContent = name;
    this.empty.hidden = true;
    this.frame.parentElement.classList.remove('old');
    this.value.classList.remove('bad', 'unseen');
    this.put(html);
    this.tabs.focus();
  }

  // The value of the prompt's last input.
  async fromPrompt(main) {
    if (!this.isOpen) return;
    const answer = await askPicture(main, { expression: 'ans', place: 'prompt' });
    if (!answer.html || answer.html === this.html) return;
    this.draws('');
    this.drawn = '';
    this.show('ans', answer);
  }

  // Nothing is drawn yet, and the cursor says what will be.
  follows() {
    this.follow.checked = true;
    this.field.value = this.drawn = '';
    this.html = null;
    this.frame.hidden = true;
    this.empty.hidden = false;
    this.value.textContent = '';
  }

  draws(expression) {
    this.follow.checked = false;
    this.field.value = expression;
  }

  retheme() { if (this.html) this.put(this.html); }
}
