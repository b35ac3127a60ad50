// tutorial.js: the pane of the tutorial: the prose of a step, whose script is in the editor.
'use strict';

class Tutorial {
  // onStep(step) loads its script; `steps`: {name, title, text, html}, of docs/tutorial.md.
  constructor({ tabs }, steps, onStep) {
    Object.assign(this, { tabs, steps, onStep });
    this.at = -1;
    this.prose = byId('prose');
    byId('step-back').addEventListener('click', () => this.go(this.at - 1));
    byId('step-next').addEventListener('click', () => this.go(this.at + 1));
  }

  // Opens a step with its script.
  go(at) {
    this.onStep(this.steps[at]);
    this.show(at);
  }

  // Its prose alone; false where there is no such step.
  show(at) {
    const step = this.steps[at];
    if (!step) return false;
    this.at = at;
    byId('tab-tutorial').hidden = false;
    this.prose.innerHTML = step.html; // built from the page of docs
    this.prose.prepend(make('h2', { id: 'prose-title' }, step.title));
    this.prose.scrollTop = 0;
    byId('step-count').textContent = `Step ${at + 1} of ${this.steps.length}`;
    byId('step-back').disabled = at === 0;
    byId('step-next').disabled = at === this.steps.length - 1;
    this.tabs.show('tutorial');
    return true;
  }
}
