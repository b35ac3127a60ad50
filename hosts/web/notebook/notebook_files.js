// notebook_files.js: where a notebook is kept: a file, the address, and the browser's memory.
'use strict';

const NOTEBOOK_KEY = 'cuttle.notebook';
const FORMER_KEY = 'cuttle.notebook.former'; // what another notebook took the place of
const LINK_LETTERS = 32_000;                 // a longer address some programs cut

class Files {
  constructor(page) {
    this.page = page;
    this.name = 'notebook.lua';
    this.given = null; // the script as it was opened: nothing to keep yet
    byId('file').addEventListener('change', ({ target }) => this.open(target));
    addEventListener('hashchange', () => this.restore());
  }

  // {====== Files ======

  choose() { byId('file').click(); }

  async open(input) {
    const [file] = input.files;
    input.value = '';
    if (!file) return;
    const bytes = await file.arrayBuffer();
    let script;
    try {
      script = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      this.page.complain(`${file.name} is not text in UTF-8, so it is no script.`);
      return;
    }
    this.replace(script, file.name);
    this.page.cells[0].focus('begin');
    this.page.say(`${file.name} is open.`);
  }

  async save() {
    await this.page.settled();
    const url = URL.createObjectURL(new Blob([this.page.script()], { type: 'text/x-lua' }));
    const link = make('a', { href: url, download: this.name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    this.page.say(`${this.name} is saved: cuttle ${this.name} prints its values.`);
  }

  // Another notebook takes the place of this one, which is kept for one step back.
  replace(script, name = 'notebook.lua') {
    const former = this.page.script();
    if (former.trim() !== '') kept.set(FORMER_KEY, former);
    this.name = name;
    this.page.load(script);
    this.keep();
  }

  bringBack() {
    const former = kept.get(FORMER_KEY);
    if (former !== null) this.replace(former);
  }

  // {====== Address and memory ======

  async restore() {
    let state = null, damage = '';
    try {
      state = await CuttleLink.decode(location.hash);
    } catch (error) {
      damage = error.message;
    }
    if (state && String(state.script || '') === this.given) return;
    const stored = kept.get(NOTEBOOK_KEY);
    const script = state ? String(state.script || '') : stored;
    this.page.load(script === null || script.trim() === '' ? CUTTLE_NOTEBOOK : script);
    this.page.complain(damage);
    this.given = this.page.script();
    // A link takes the place of what was kept only once it is edited.
    if (state && stored !== null && stored !== this.given) kept.set(FORMER_KEY, stored);
    byId('playground').href = `index.html${await CuttleLink.encode({ script: this.given })}`;
  }

  // Follows each change: the address, and what the next visit finds.
  async keep() {
    const script = this.page.script();
    if (script === this.given) return;
    this.given = script;
    kept.set(NOTEBOOK_KEY, script);
    const address = await CuttleLink.address({ script });
    if (this.given !== script) return;
    this.setAddress(address.length <= LINK_LETTERS ? address : location.href.replace(/#.*$/, ''));
  }

  // Some browsers refuse many changes in a short time; the next one makes up for it.
  setAddress(address) {
    try { history.replaceState(null, '', address); } catch { /* as above */ }
    byId('playground').href = `index.html${address.slice(address.indexOf('#'))}`;
  }

  async share() {
    await this.page.settled();
    const address = await CuttleLink.address({ script: this.page.script() });
    await openShare(address, 'The notebook');
  }
}
