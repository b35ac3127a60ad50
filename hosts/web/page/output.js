// output.js: the pane of what the script prints, and how its run ended.
'use strict';

class Output {
  // showFile(html, name) draws what a script has written.
  constructor({ main, editor, tabs }, showFile) {
    Object.assign(this, { main, editor, tabs, showFile });
    this.log = new Log(byId('output'));
    this.outcome = byId('outcome');
    this.isRunning = false;
  }

  // Once at a time.
  async run() {
    if (this.isRunning) return;
    this.isRunning = true;
    await this.runOnce();
    this.isRunning = false;
  }

  async runOnce() {
    this.tabs.select('output');
    byId('results').scrollIntoView({ block: 'nearest' }); // where parts stand below each other
    this.begin();
    const began = performance.now(), { text, name } = this.editor;
    let said = ''; // on standard error, where most errors stand already
    const result = await this.main.ask('run', { text, name }, (part, kind) => {
      if (kind === 'err') said += part;
      this.log.write(part, kind);
    });
    if (!result.ok && !said.includes(result.error)) this.log.write(`${result.error}\n`, 'err');
    this.log.flush();
    this.end(result, (performance.now() - began) / 1000);
    if (!result.stopped) await this.listFiles();
  }

  async listFiles() {
    const buttons = await fileButtons(this.main, this.showFile);
    if (buttons.length > 0) this.outcome.append(' Files:', ...buttons);
  }

  begin() {
    this.editor.marks.clear();
    this.log.clear();
    this.outcome.hidden = true;
    byId('output-empty').hidden = true;
  }

  end(result, seconds) {
    const time = `${seconds.toFixed(2)} s`;
    this.outcome.hidden = false;
    if (result.ok) {
      this.outcome.replaceChildren(`Ended after ${time}.`);
      return;
    }
    this.outcome.replaceChildren(result.stopped ? `Stopped after ${time}.` :
      `Failed after ${time}. `);
    if (result.line) this.mark(result);
  }

  mark({ line, error }) {
    this.editor.markError(line, error);
    const jump = make('button', { className: 'link' }, `Go to line ${line}`);
    jump.addEventListener('click', () => this.editor.goTo(line));
    this.outcome.append(jump);
    this.editor.goTo(line, { focus: false });
  }
}
