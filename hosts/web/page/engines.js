// engines.js: the two engines of the page. `main` runs the script and the prompt. `side` answers
// while one types (pictures, completion, help): what it loses when it is stopped nobody misses.
'use strict';

const SIDE_SECONDS = 5;
const STOPPED = 'stopped by you'; // the reason of Stop

// An engine whose requests wait in line, so that output goes to the one who asked.
class Line {
  // onState(state, detail) as CuttleEngine's; onTurn(op, null) before and (op, result) after.
  constructor({ seconds, onState = () => {}, onTurn = () => {} }) {
    this.write = null;
    this.asked = 0;
    this.last = Promise.resolve();
    this.onTurn = onTurn;
    this.engine = new CuttleEngine({
      onOutput: (kind, text) => { if (this.write) this.write(text, kind); },
      onState,
    });
    if (seconds) this.engine.seconds = seconds;
  }

  get ready() { return this.engine.ready; }
  get isBusy() { return this.asked > 0; }

  // `write(text, kind)` takes what the request prints.
  ask(op, args, write = null) {
    this.asked += 1;
    const turn = this.last.then(() => this.take(op, args, write));
    this.last = turn;
    return turn;
  }

  async take(op, args, write) {
    this.write = write;
    this.onTurn(op, null);
    const result = await this.engine.ask(op, args).catch((error) => (
      { ok: false, error: String(error.message || error) }));
    this.write = null;
    this.asked -= 1;
    this.onTurn(op, result);
    return result;
  }

  stop(reason) { if (this.isBusy) this.engine.stop(reason); }
}

// The side engine starts when it is first needed.
class SideLine {
  constructor() { this.line = null; }

  ask(op, args) {
    this.line = this.line || new Line({ seconds: SIDE_SECONDS });
    return this.line.ask(op, args);
  }

  get isBusy() { return this.line !== null && this.line.isBusy; }
}
