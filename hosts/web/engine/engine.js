// engine.js: the page's side of the engine. It compiles the program once, starts a worker with it,
// asks one request after the other, and starts another worker where one was stopped.
//
//   const engine = new CuttleEngine({ onOutput(kind, text), onState(state, detail) });
//   await engine.ready;
//   const result = await engine.ask("run", { text: "print(L'4:1')", name: "script.lua" });
//
// kind: "out" or "err". state: "starting", "ready", "busy", "stopped", with `detail`, a sentence.
// A result has ok; where that is false, error, and perhaps line, or stopped.
// CUTTLE_WASM (base64 of the gzipped program) and CUTTLE_WORKER (the worker's text) are globals of
// two other files.
//
// Requests and what results have beside ok; names are those of the arguments:
//   run       text, name, args      output comes to onOutput
//   prompt    line                  more: the input needs another line; output comes to onOutput
//   cancel, reset                   the lines of an input are dropped; the prompt begins anew
//   complete  text, at, place       from, names: [{name, summary}]; place: "prompt" or "script"
//   help      name                  text
//   picture   expression, text      html (null: `why` says why), text; place: "prompt" or none
//   cell      number, text, shows   form, svg: a cell of the notebook, at the prompt
//   emit      text, name, sm        text, kernels: [{name, cuda, lines: [[cuda's, script's]]}]
//   check     text, name            text, findings: [{line, message, kind, ...}]
//   profile   text, name            text, html
//   timeline  text, name            text, html
//   trace     text, name, element   text, html; element: "C[5,7]", or one is chosen
//   files, file                     files: [{name, bytes}] that scripts wrote; data of one
"use strict";

const CuttleEngine = (() => {
  const SECONDS = 60;
  const PROMPT_IS_GONE = "the variables of the prompt are gone";

  function bytesOf(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  async function compile() {
    const packed = new Blob([bytesOf(CUTTLE_WASM)]).stream();
    const program = packed.pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(program).arrayBuffer());
  }

  // One program for all engines of a page.
  let compiled;

  class Engine {
    constructor(callbacks = {}) {
      this.onOutput = callbacks.onOutput || (() => {});
      this.onState = callbacks.onState || (() => {});
      this.seconds = SECONDS;
      this.version = "";
      this.greeting = "";
      this.lastId = 0;
      this.waiting = []; // requests that are not sent yet
      this.current = null; // the one that is
      this.broken = null; // why there is no worker, for good
      compiled = compiled || compile();
      this.url = URL.createObjectURL(new Blob([CUTTLE_WORKER], { type: "text/javascript" }));
      this.start();
      this.ready = this.started;
    }

    // {====== The worker ======

    start() {
      this.isReady = false;
      this.onState("starting");
      this.worker = new Worker(this.url);
      const worker = this.worker;
      this.started = new Promise((resolve, reject) => {
        this.refuse = reject;
        worker.onmessage = (event) => this.take(event.data, resolve);
        worker.onerror = (event) => {
          event.preventDefault();
          this.fail("the worker failed: " + (event.message || "it does not start"));
        };
        compiled.then((module) => worker.postMessage({ module }),
          (error) => this.fail("the program does not compile: " + error.message));
      });
      this.started.catch(() => {});
    }

    // One that never was ready is not tried again.
    fail(reason) {
      if (this.isReady) {
        this.stop(reason);
        return;
      }
      this.broken = reason;
      this.refuse(new Error(reason));
      this.worker.terminate();
      this.onState("stopped", reason);
      this.waiting.splice(0).forEach(({ resolve }) => resolve(this.refusal()));
    }

    refusal() { return { ok: false, stopped: true, error: this.broken }; }

    take(message, resolve) {
      if (message.ready) {
        this.isReady = true;
        this.greeting = message.greeting;
        this.version = (/^Cuttle (\S+)/.exec(message.greeting) || ["", ""])[1];
        resolve();
        this.onState("ready");
        this.next();
      } else if (message.broken) {
        this.fail(message.broken);
      } else if (message.kind) {
        this.onOutput(message.kind, message.text);
      } else if (this.current && message.id === this.current.id) {
        this.finish(message.result);
      }
    }

    // {====== Requests ======

    get isAnswering() { return this.current !== null; }

    ask(op, args = {}) {
      if (this.broken) return Promise.resolve(this.refusal());
      return new Promise((resolve) => {
        this.waiting.push({ id: ++this.lastId, op, args, resolve });
        this.next();
      });
    }

    next() {
      if (!this.isReady || this.current || this.waiting.length === 0) return;
      this.current = this.waiting.shift();
      const { id, op, args } = this.current;
      this.onState("busy", op);
      const reason = "stopped after " + this.seconds + " s, the limit of a request";
      this.timer = setTimeout(() => this.stop(reason), this.seconds * 1e3);
      this.worker.postMessage({ id, op, args });
    }

    finish(result) {
      const { resolve } = this.current;
      clearTimeout(this.timer);
      this.current = null;
      resolve(result);
      if (this.isReady && this.waiting.length === 0) this.onState("ready");
      this.next();
    }

    // Ends what runs. Requests that wait go to the next worker.
    stop(reason = "stopped") {
      if (this.broken) return;
      const detail = reason + "; " + PROMPT_IS_GONE;
      this.worker.onmessage = this.worker.onerror = null;
      this.worker.terminate();
      this.isReady = false;
      this.onState("stopped", detail);
      if (this.current) this.finish({ ok: false, stopped: true, error: reason });
      this.start();
    }
  }

  return Engine;
})();
