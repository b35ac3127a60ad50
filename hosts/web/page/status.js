// status.js: the line that says what the engine does: loading, ready, running, stopped.
'use strict';

const TICK_MS = 100;

const BUSY_WORDS = {
  run: 'Running', prompt: 'Running', check: 'Checking', profile: 'Profiling', trace: 'Tracing',
  timeline: 'Drawing the timeline', emit: 'Emitting CUDA', reset: 'Starting a new prompt',
};

// A reason as a sentence.
function asSentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

class Status {
  constructor() {
    this.line = byId('status');
    this.text = byId('status-text');
    this.time = byId('status-time');
    this.timer = 0;
    this.began = 0;
  }

  show(state, text) {
    clearInterval(this.timer);
    this.time.textContent = '';
    this.line.dataset.state = state;
    this.text.textContent = text;
  }

  // Screen readers hear that it runs, not each tenth of a second.
  busy(op) {
    this.show('busy', BUSY_WORDS[op] || 'Working');
    this.began = performance.now();
    this.timer = setInterval(() => {
      this.time.textContent = `${this.seconds().toFixed(1)} s`;
    }, TICK_MS);
  }

  seconds() { return (performance.now() - this.began) / 1000; }
}
