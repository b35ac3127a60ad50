// playground.js: puts the page together.
'use strict';

const DRAFT_KEY = 'cuttle.script';
const DRAFT_MS = 800;
const SCRIPT_NAME = /^\w[\w.-]*\.lua$/; // no option, no folder

// In place of an engine where the browser cannot run one: the script can still be read.
class NoEngine {
  constructor(reason) { this.reason = reason; }
  get isBusy() { return false; }
  ask() { return Promise.resolve({ ok: false, error: this.reason }); }
  stop() { /* nothing runs */ }
}

class Playground {
  constructor() {
    this.status = new Status();
    this.lastStop = '';
    this.given = null; // the script of the link
    this.theme();
    addDialog();
  }

  theme() {
    addTheme(byId('theme'), () => {
      for (const pane of [this.picture, ...Object.values(this.reports || {})]) {
        if (pane) pane.retheme();
      }
    });
  }

  // {====== Engine ======

  start() {
    const missing = missingNeeds();
    if (missing) {
      this.main = this.side = new NoEngine(missing);
      this.fail(missing);
      return;
    }
    this.main = new Line({
      onState: (state, detail) => this.onState(state, detail),
      onTurn: (op, result) => this.onTurn(op, result),
    });
    this.side = new SideLine();
    this.main.ready.then(() => this.onReady(), (error) => this.fail(error.message || error));
  }

  onReady() {
    byId('version').textContent = this.main.engine.version || '';
    this.idle();
    this.colour();
  }

  onState(state, detail) {
    if (state === 'stopped') {
      this.lastStop = asSentence(detail || 'it was stopped');
      this.status.show('stopped', this.lastStop);
      if (this.prompt) this.prompt.lost();
    } else if (state === 'starting') {
      if (!this.lastStop) this.status.show('loading', 'Loading the engine');
    } else if (state === 'ready' && !this.main.isBusy) this.idle();
  }

  // Of requests that are over at once nothing is said.
  onTurn(op, result) {
    if (!BUSY_WORDS[op]) return;
    byId('stop').disabled = result !== null;
    if (result === null) {
      this.lastStop = '';
      this.status.busy(op);
    } else if (!this.lastStop) this.idle();
  }

  idle() {
    byId('run').disabled = false;
    this.status.show('ready', this.lastStop ? `${this.lastStop} Ready again.` : 'Ready');
  }

  fail(message) {
    this.status.show('lacking', 'No engine');
    showNotice(message);
    for (const id of ['run', 'stop']) byId(id).disabled = true;
  }

  async colour() {
    const answer = await this.side.ask('complete', { text: '', at: 0, place: 'script' });
    if (answer.ok) this.editor.colourNames(answer.names.map(({ name }) => name));
  }

  // {====== Parts ======

  build() {
    this.editor = new ScriptEditor(this.side);
    this.tabs = new Tabs(byId('tabs'), (name) => this.open(name));
    this.picture = new PicturePane(this);
    this.output = new Output(this, (html, name) => this.picture.showFile(html, name));
    this.cuda = new CudaPane(this);
    this.compare = new ComparePane(this);
    this.prompt = new Prompt(this, () => this.picture.fromPrompt(this.main));
    this.reports = Object.fromEntries(REPORTS.map((row) => [row.op, new Report(row, this)]));
    this.tutorial = new Tutorial(this, CUTTLE_TUTORIAL, (step) => this.put(step));
    this.editor.cm.on('changes', delayed(DRAFT_MS, () => this.keepDraft()));
    addDivider(() => this.editor.cm.refresh());
    this.placeResults();
    this.buttons();
    this.globalKeys();
  }

  // Results come first in a narrow window, where parts stand below each other.
  placeResults() {
    const isNarrow = matchMedia('(max-width: 59.99rem)'); // as in playground.css
    const place = () => {
      if (isNarrow.matches) byId('script').before(byId('results'));
      else byId('divider').after(byId('results'));
    };
    isNarrow.addEventListener('change', place);
    place();
  }

  open(name) {
    if (name === 'picture') this.picture.update();
    else if (name === 'cuda' || name === 'compare') this[name].open();
    else if (this.reports[name]) this.reports[name].open();
  }

  buttons() {
    byId('run').addEventListener('click', () => this.run());
    byId('stop').addEventListener('click', () => this.stop());
    byId('share').addEventListener('click', () => this.share());
    byId('keys').addEventListener('click', () => openKeys(PLAYGROUND_KEYS));
    byId('examples').addEventListener('click', () => (
      openPrograms('Examples', CUTTLE_EXAMPLES, ({ name, text }) => this.load(name, text))));
    byId('tutorial').addEventListener('click', () => (
      openPrograms('Tutorial', CUTTLE_TUTORIAL, (step) => this.tutorial.go(CUTTLE_TUTORIAL.indexOf(step)))));
  }

  run() { if (!byId('run').disabled) this.output.run(); }
  stop() { this.main.stop(STOPPED); }

  load(name, text) {
    this.put({ name, text });
    this.arrive({ runs: false });
    this.editor.cm.focus();
  }

  // As it is opened, it is the version to compare with.
  openScript(name, text) {
    this.editor.load(name, text);
    this.picture.forget();
    this.compare.keep({ name, text });
  }

  put({ name, text }) {
    this.openScript(name, text);
    byId('spoken').textContent = `${name} is loaded. Ctrl+Z brings the former script back.`;
  }

  // What results show of a script that was just opened: its first picture; without one, its output.
  async arrive({ runs }) {
    this.picture.follows();
    this.tabs.select('picture');
    if (await this.picture.drawFirst() !== false || this.tabs.open !== 'picture') return;
    this.tabs.select('output');
    if (runs && this.main.ready) this.main.ready.then(() => this.output.run(), () => {});
  }

  // {====== Keys of the whole page ======

  globalKeys() {
    addEventListener('keydown', (event) => {
      if (byId('dialog').open) return;
      const act = this.keyAction(event);
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    }, true);
  }

  keyAction({ key, ctrlKey, metaKey, shiftKey }) {
    const isControl = ctrlKey || metaKey;
    if (isControl && key === 'Enter') return () => this.run();
    if (isControl && key === '.') return () => this.stop();
    if (isControl && key === 's') return () => save(this.editor.name, this.editor.text);
    if (key === 'F6') return () => this.nextPart(shiftKey ? -1 : 1);
    if (key === 'F8') return () => this.editor.nextMark(shiftKey ? -1 : 1);
    return null;
  }

  nextPart(step) {
    const enter = { script: () => this.editor.cm.focus(), results: () => this.tabs.focus(),
      prompt: () => byId('line').focus() };
    const parts = [...document.querySelectorAll('main > section')];
    const here = parts.findIndex((part) => part.contains(document.activeElement));
    const next = parts[(here + step + parts.length) % parts.length];
    enter[here < 0 ? 'script' : next.id]();
  }

  // {====== Link and draft ======

  state() {
    const { text, name } = this.editor;
    const state = { script: text, name, pane: this.tabs.open };
    if (state.pane === 'picture') state.expression = byId('expression').value;
    if (state.pane === 'cuda') state.sm = byId('sm').value;
    if (state.pane === 'trace') state.element = this.reports.trace.option('element').value;
    if (state.pane === 'compare') Object.assign(state, this.compare.state);
    if (state.pane === 'tutorial') state.step = this.tutorial.at + 1;
    return state;
  }

  // The address bar carries the link from now on, until the script is edited.
  async share() {
    const state = this.state();
    this.keepDraft(); // not later, when the address is the link
    this.given = state.script;
    const address = await CuttleLink.address(state);
    history.replaceState(null, '', address);
    await openShare(address, 'The script', ` It opens this script with the pane ${state.pane}.`);
  }

  async restore() {
    let state = null;
    try {
      state = await CuttleLink.decode(location.hash);
    } catch (error) {
      showNotice(error.message);
    }
    if (state) this.apply(state);
    else if (!this.editor.text) this.applyDraft();
  }

  // What a link says was written by others: only texts of known meaning are taken.
  apply({ script, name, pane, expression, sm, element, step, base, compared }) {
    this.given = String(script || '');
    this.openScript(SCRIPT_NAME.test(name) ? name : 'script.lua', this.given);
    this.compare.apply(base, compared);
    if (typeof expression === 'string') this.picture.draws(expression);
    if (typeof element === 'string') this.reports.trace.option('element').value = element;
    if ([...byId('sm').options].some(({ value }) => value === sm)) byId('sm').value = sm;
    if (pane === 'tutorial' && this.tutorial.show(step - 1)) return;
    if (typeof pane === 'string' && this.tabs.has(pane)) this.tabs.show(pane);
    else this.arrive({ runs: false });
  }

  applyDraft() {
    let draft = null;
    try { draft = JSON.parse(kept.get(DRAFT_KEY)); } catch { /* none, or not ours */ }
    if (draft && typeof draft.text === 'string') this.openScript(String(draft.name), draft.text);
    else this.openScript('script.lua', WELCOME);
    this.arrive({ runs: true });
  }

  // A link's script takes the place of the draft, and the draft that of the link, once edited.
  keepDraft() {
    const { name, text } = this.editor;
    if (text === this.given) return;
    kept.set(DRAFT_KEY, JSON.stringify({ name, text }));
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  }
}

const playground = new Playground();
playground.start();
playground.build();
playground.restore();
addEventListener('hashchange', () => playground.restore());
