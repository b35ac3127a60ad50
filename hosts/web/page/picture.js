// picture.js: the pane that draws what an expression is worth while one types or moves the cursor.
'use strict';

const PICTURE_MS = 300;
const FIRST_TRIES = 8; // statements of a script that are asked for its first picture

// The answer of an engine, whose page is one that may be shown.
function shownPicture(answer) {
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
    this.wishes = 0; // what one did that may change the picture
    this.asked = 0;
    this.drawn = ''; // what was wanted last: it is drawn, or is being drawn
    this.search = null; // the search for the first picture of a script
    this.listen();
  }

  listen() {
    const later = delayed(PICTURE_MS, () => this.update());
    const wish = () => {
      this.wishes += 1;
      later();
    };
    const wantsOther = () => {
      this.search = null;
      wish();
    };
    this.field.addEventListener('input', () => {
      this.follow.checked = false;
      wantsOther();
    });
    this.follow.addEventListener('change', wantsOther);
    this.editor.cm.on('cursorActivity', () => { if (this.follow.checked) wish(); });
    this.editor.cm.on('changes', wantsOther);
  }

  get isOpen() { return this.tabs.open === 'picture'; }

  // What to draw: {candidates, before}, or null.
  wanted() {
    if (this.follow.checked) return expressionAtCursor(this.editor.cm);
    const typed = this.field.value.trim();
    return typed ? { candidates: [typed], before: this.editor.text } : null;
  }

  async update() {
    while (this.search) await this.search.over;
    if (!this.isOpen) return;
    const wanted = this.wanted();
    const key = JSON.stringify(wanted);
    if (!wanted || key === this.drawn) return;
    this.drawn = key;
    this.asked += 1;
    const mine = this.asked;
    const isMine = () => mine === this.asked;
    const { expression, answer } = await this.find(wanted, isMine);
    if (!isMine()) return;
    if (answer.stopped) this.drawn = ''; // that was no answer: it may be asked for again
    if (this.isWorth(answer)) this.show(expression, answer);
  }

  // Something else is shown: what is on its way is not any more.
  forget() {
    this.asked += 1;
    this.drawn = '';
    this.search = null;
  }

  // Draws the first thing in the script that has a picture; whether there is one, or null where one has
  // edited or asked for something else meanwhile.
  async drawFirst() {
    const search = { over: null };
    this.search = search;
    search.over = this.findFirst(() => this.search === search);
    const isFound = await search.over;
    if (this.search === search) this.search = null;
    return isFound;
  }

  async findFirst(isMine) {
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
    const isValue = answer.ok && answer.text.trim() !== 'nil';
    return !this.follow.checked || Boolean(answer.html) || isValue;
  }

  // {expression, answer} of the first candidate that has a picture, or is stopped; without one, of the
  // first that has a value.
  async find({ candidates, before }, isMine) {
    const found = [];
    for (const expression of candidates) {
      const answer = await this.draw(expression, before, isMine);
      found.push({ expression, answer });
      if (answer.html || answer.stopped) return found.at(-1);
    }
    return found.find(({ answer }) => answer.ok) || found[0];
  }

  // What needs no locals of the script is drawn while the script is wrong.
  async draw(expression, before, isMine) {
    const ask = async (args) => shownPicture(await this.side.ask('picture', args, isMine));
    if (!needsLines(expression, before)) {
      const alone = await ask({ expression });
      if (alone.html || alone.stopped || before.trim() === '') return alone;
    }
    return ask({ expression, text: before });
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
    this.forget();
    this.value.textContent = name;
    this.empty.hidden = true;
    this.frame.parentElement.classList.remove('old');
    this.value.classList.remove('bad', 'unseen');
    this.put(html);
    this.tabs.focus();
  }

  // The value of the prompt's last input, unless one asks for something else meanwhile.
  async fromPrompt(main) {
    if (!this.isOpen) return;
    const { wishes } = this;
    const answer = shownPicture(await main.ask('picture', { expression: 'ans', place: 'prompt' }));
    if (wishes !== this.wishes || !answer.html || answer.html === this.html) return;
    this.draws('');
    this.forget();
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
