// engines.js: the two engines of the page. `main` runs the script and the prompt. `side` answers
// while one types: pictures, completion, help.
'use strict';

const PATIENCE_S = 5; // that a request waits for a picture before it
const STOPPED = 'stopped by you'; // the reason of Stop
const GAVE_WAY = 'another request waits'; // the reason of a picture that is stopped for it
const UNWANTED = { ok: false, stopped: true, error: 'nobody waits for it' };

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
  get hasWaiting() { return this.asked > 1; }

  // `write(text, kind)` takes what the request prints. One that is not wanted any more when its turn
  // comes counts as stopped.
  ask(op, args, write = null, isWanted = () => true) {
    this.asked += 1;
    const turn = this.last.then(() => this.take(op, args, write, isWanted));
    this.last = turn;
    return turn;
  }

  async take(op, args, write, isWanted) {
    this.write = write;
    this.onTurn(op, null);
    const result = !isWanted() ? UNWANTED : await this.engine.ask(op, args).catch((error) => (
      { ok: false, error: String(error.message || error) }));
    this.write = null;
    this.asked -= 1;
    this.onTurn(op, result);
    return result;
  }

  stop(reason) { if (this.isBusy) this.engine.stop(reason); }
}

// The side engine starts when it is first needed. A picture runs lines of the script, perhaps without
// end: it gives way to a request that has waited for a while, and is asked for again after it, if it
// is still wanted. So a slow machine makes answers late, but takes none away.
class SideLine {
  constructor() {
    this.line = null;
    this.patience = PATIENCE_S;
    this.turn = null; // the request that is answered
    this.timer = 0;   // 0: none runs
  }

  async ask(op, args, isWanted = () => true) {
    this.line = this.line || new Line({ onTurn: (turn, result) => this.onTurn(turn, result) });
    let answer;
    do {
      const asked = this.line.ask(op, args, null, isWanted);
      this.watch();
      answer = await asked;
    } while (answer.error === GAVE_WAY && isWanted());
    return answer;
  }

  get isBusy() { return this.line !== null && this.line.isBusy; }

  onTurn(op, result) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.turn = result === null ? op : null;
    this.watch();
  }

  watch() {
    if (this.timer !== 0 || this.turn !== 'picture' || !this.line.hasWaiting) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (this.line.engine.isAnswering) this.line.stop(GAVE_WAY);
      else this.watch(); // the engine is starting
    }, this.patience * 1e3);
  }
}
