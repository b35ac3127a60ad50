// worker.js: runs in the worker, behind the glue that defines CuttleModule, and SYSTEM_FILES. It
// gets the compiled program once, then requests {id, op, args}, and answers {id, result}; what a
// request prints goes out as {kind, text} meanwhile.
//
// Commands run as the program does, each in an instance of its own: what one leaves behind, or
// breaks, is gone with it. The prompt has an instance that lives on. Files are kept here and put
// into each instance.
"use strict";

const FOLDER = "/playground";
const PAGE = "/page.html";
const REPORT = "/report"; // .json or .html: what command_report.lua writes
const PICTURE = "/picture.svg";
const SETTINGS = { LANG: "C.UTF-8", TERM: "dumb", COLUMNS: "80", CUTTLE_DEVICE: "cpu" };
const PROMPT = 0, SCRATCH = 1, QUIET = 2; // states of the prompt's instance: web.h
const MORE = -1;
const PROMPTLY = 1000; // so many pieces of output go out at once, later ones each PIECE_MS
const PIECE_MS = 50;
const ERROR_BYTES = 1 << 16; // of what is said on standard error, as the text of an error

let compiled;
let prompt; // the instance
let files = new Map(); // name -> bytes

// {====== Output ======

class Output {
  constructor(kind, isSent) {
    this.kind = kind;
    this.isSent = isSent;
    this.decoder = new TextDecoder();
    this.pieces = [];
    this.count = 0;
    this.last = 0;
    this.text = "";
  }

  write(bytes) {
    const text = this.decoder.decode(bytes, { stream: true });
    if (text === "") return; // stdio writes two parts, one of them often empty
    if (!this.isSent) {
      this.text += text;
      return;
    }
    if (this.kind === "err" && this.text.length < ERROR_BYTES) this.text += text;
    this.pieces.push(text);
    const now = performance.now();
    if (this.count < PROMPTLY || now - this.last > PIECE_MS) {
      this.last = now;
      this.send();
    }
  }

  send() {
    if (this.pieces.length === 0) return;
    this.count++;
    postMessage({ kind: this.kind, text: this.pieces.join("") });
    this.pieces = [];
  }
}

// What the instance that runs writes to, by file descriptor.
let outputs = {};

function listen(isSent) {
  outputs = { 1: new Output("out", isSent), 2: new Output("err", isSent) };
}

function heard() {
  outputs[1].send();
  outputs[2].send();
  return { out: outputs[1].text, err: outputs[2].text };
}

// {====== Instances ======

function redirect(instance, isTerminal) {
  for (const fd of [0, 1, 2]) {
    const stream = instance.FS.streams[fd];
    if (!isTerminal) stream.tty = null;
    stream.stream_ops = Object.assign({}, stream.stream_ops, {
      read: () => 0,
      flush: () => {},
      close: () => {},
      write: (_, buffer, offset, length) => {
        const from = buffer.byteOffset + offset;
        outputs[fd].write(new Uint8Array(buffer.buffer, from, length).slice());
        return length;
      },
    });
  }
}

function makeInstance() {
  return new Promise((resolve, reject) => {
    CuttleModule({
      thisProgram: "cuttle",
      preRun: [(module) => Object.assign(module.ENV, SETTINGS)],
      instantiateWasm: (imports, done) => {
        WebAssembly.instantiate(compiled, imports).then((made) => done(made, compiled), reject);
        return {};
      },
      print: () => {},
      printErr: () => {},
    }).then(resolve, reject);
  });
}

async function instantiate(isTerminal) {
  const instance = await makeInstance();
  redirect(instance, isTerminal);
  for (const path of Object.keys(SYSTEM_FILES)) writeFile(instance.FS, path, SYSTEM_FILES[path]);
  instance.FS.mkdir(FOLDER);
  instance.FS.chdir(FOLDER);
  return instance;
}

function folderOf(path) {
  return path.slice(0, path.lastIndexOf("/"));
}

function makeFolders(FS, path) {
  if (path === "" || FS.analyzePath(path).exists) return;
  makeFolders(FS, folderOf(path));
  FS.mkdir(path);
}

function writeFile(FS, path, data) {
  makeFolders(FS, folderOf(path));
  FS.writeFile(path, data);
}

function putFile(instance, name, data) {
  writeFile(instance.FS, FOLDER + "/" + name, data);
}

// Calls visit(name, path) for each file below the folder.
function eachFile(FS, folder, visit) {
  for (const name of FS.readdir(folder)) {
    const path = folder + "/" + name;
    if (name === "." || name === "..") continue;
    if (FS.isDir(FS.stat(path).mode)) eachFile(FS, path, visit);
    else visit(path.slice(FOLDER.length + 1), path);
  }
}

// What other instances have written meanwhile, too.
function putFiles(instance) {
  if (instance.files === files) return;
  for (const [name, data] of files) putFile(instance, name, data);
  instance.files = files;
}

function keepFiles(instance, except) {
  files = new Map();
  instance.files = files;
  eachFile(instance.FS, FOLDER, (name, path) => {
    if (name !== except) files.set(name, instance.FS.readFile(path));
  });
}

function readText(instance, path) {
  try {
    return instance.FS.readFile(path, { encoding: "utf8" });
  } catch (_) {
    return null;
  }
}

// {====== Running ======

// What ended a call, as a sentence; null: it was exit().
function trapText(error) {
  if (error && error.name === "ExitStatus") return null;
  const text = String(error && error.message !== undefined ? error.message : error);
  if (/call stack|stack overflow|recursion/i.test(text)) return "the stack overflowed";
  if (/memory/i.test(text)) return "memory ran out: " + text;
  return "the engine stopped: " + text;
}

// Calls f, which may end the instance: {value} or {exit: N} or {trap: TEXT}.
function guard(f) {
  try {
    return { value: f() };
  } catch (error) {
    const trap = trapText(error);
    return trap === null ? { exit: error.status } : { trap };
  }
}

// The line that a message names: the last one that begins with the script's name.
function lineIn(text, name) {
  const lines = text.split("\n").filter((line) => line.startsWith(name + ":"));
  const match = /^:(\d+):/.exec((lines.pop() || "").slice(name.length));
  return match === null ? undefined : Number(match[1]);
}

function failure(text, name) {
  const result = { ok: false, error: text.replace(/\n+$/, "") };
  const line = name === undefined ? undefined : lineIn(text, name);
  if (line !== undefined) result.line = line;
  return result;
}

// Runs `cuttle words...` with the script as a file; the result of `finish`, where it ended well.
async function command(words, args, isSent, finish) {
  const name = args.name || "script.lua";
  const instance = await instantiate(false);
  putFiles(instance);
  putFile(instance, name, args.text || "");
  listen(isSent);
  const end = guard(() => instance.callMain([...words, ...(args.args || [])]));
  const said = heard();
  if (end.trap) return failure(said.err + "cuttle: " + end.trap, name);
  keepFiles(instance, name);
  const code = end.exit === undefined ? end.value : end.exit;
  return finish(said, code, name, instance);
}

function outcome(said, code, name) {
  return code === 0 ? { ok: true } : failure(said.err || "exit code " + code, name);
}

// {====== The prompt ======

let greeting = "";

async function openPrompt() {
  if (prompt) return prompt;
  const instance = await instantiate(true);
  listen(false);
  instance._web_open(PROMPT, 1);
  greeting = heard().out.trim();
  prompt = instance;
  return instance;
}

// Calls a function of web.h on texts and numbers; a trap ends the prompt.
async function ask(name, types, values, isSent, type = "number") {
  const instance = await openPrompt();
  putFiles(instance);
  listen(isSent);
  const end = guard(() => instance.ccall("web_" + name, type, types, values));
  const said = heard();
  if (end.trap || end.exit !== undefined) prompt = undefined;
  if (prompt && name === "input") keepFiles(instance);
  return { instance, said, end };
}

function lost(said, end) {
  const why = end.trap ? "cuttle: " + end.trap : "the script ended the prompt";
  return failure(said.err + why + "; the prompt begins anew, its variables are gone");
}

function isLost(end) {
  return end.trap !== undefined || end.exit !== undefined;
}

let pending = []; // lines of an input that has begun

async function takeLine(args) {
  if (pending.length === 0 && args.line.trim() === "") return { ok: true, more: false };
  if (pending.length === 0 && /^(exit|quit)(\(\))?$/.test(args.line)) return reset();
  pending.push(args.line);
  const input = [PROMPT, pending.join("\n")];
  const { said, end } = await ask("input", ["number", "string"], input, true);
  if (end.value === MORE) return { ok: true, more: true };
  pending = [];
  if (isLost(end)) return lost(said, end);
  return Object.assign(end.value === 0 ? { ok: true } : failure(said.err), { more: false });
}

async function reset() {
  prompt = undefined;
  pending = [];
  await openPrompt();
  return { ok: true, more: false };
}

// Drops the lines of an input that is not complete.
function cancel() {
  pending = [];
  return { ok: true };
}

// {====== Names ======

// Words of a script that look like names, for completion.
function wordsOf(text, word) {
  const found = new Set();
  for (const match of text.matchAll(/[A-Za-z_]\w*/g)) {
    if (match[0].startsWith(word) && match[0] !== word) found.add(match[0]);
  }
  return found;
}

async function complete(args) {
  const at = args.at === undefined ? args.text.length : args.at;
  const line = args.text.slice(args.text.lastIndexOf("\n", at - 1) + 1, at);
  const word = /\w*$/.exec(line)[0];
  const state = args.place === "script" ? QUIET : PROMPT;
  const { said, end } = await ask("complete", ["number", "string"], [state, line], false, "string");
  if (isLost(end)) return lost(said, end);
  const names = new Set(end.value.split("\n").filter((name) => name !== ""));
  const isMember = /[.:]\w*$/.test(line);
  if (args.place === "script" && !isMember) {
    wordsOf(args.text, word).forEach((name) => names.add(name));
  }
  const list = [...names].sort();
  const summaries = await summariesOf(list);
  const rows = list.map((name, i) => ({ name, summary: summaries[i] || "" }));
  return { ok: true, from: at - word.length, names: rows };
}

async function summariesOf(list) {
  if (list.length === 0) return [];
  const { said } = await ask("call", ["string", "string"], ["summaries", list.join("\n")], false);
  return said.out.split("\n");
}

async function help(args) {
  const { said, end } = await ask("call", ["string", "string"], ["help", args.name], false);
  if (isLost(end)) return lost(said, end);
  return end.value === 0 ? { ok: true, text: said.out } : failure(said.err);
}

// {====== Pictures ======

// args.place "prompt": the expression is one of the prompt.
async function picture(args) {
  const inPrompt = args.place === "prompt";
  const state = inPrompt ? PROMPT : SCRATCH;
  if (!inPrompt) {
    const begun = await ask("open", ["number", "number"], [SCRATCH, 0], false);
    if (isLost(begun.end)) return lost(begun.said, begun.end);
    if (args.text) {
      const ran = await ask("script", ["number", "string"], [SCRATCH, args.text], false);
      if (isLost(ran.end)) return lost(ran.said, ran.end);
      if (ran.end.value !== 0) return failure(ran.said.err, "script");
    }
  }
  return draw(state, args.expression);
}

async function draw(state, expression) {
  const { instance, said, end } =
    await ask("picture", ["number", "string", "string"], [state, expression, PAGE], false);
  if (isLost(end)) return lost(said, end);
  const html = readText(instance, PAGE);
  if (html !== null) instance.FS.unlink(PAGE);
  if (html === null && said.out === "") return failure(said.err);
  const result = { ok: true, html, text: said.out };
  if (html === null) result.why = said.err.trim();
  return result;
}

// {====== CUDA C ======

const KERNEL = 'extern "C" __global__';

// The kernels of what `cuttle emit` prints, each from its declaration on. A comment at the end of a
// line names the place in the script where that differs from the line's before. `lines` are pairs
// of a line of `cuda` and of the script, both from 1.
function kernelsOf(text, name) {
  const mark = " // " + name + ":";
  return text.split(KERNEL).slice(1).map((rest) => {
    const cuda = (KERNEL + rest).trimEnd();
    const lines = [];
    let at;
    cuda.split("\n").forEach((row, i) => {
      const from = row.lastIndexOf(mark);
      const number = from < 0 ? NaN : Number(row.slice(from + mark.length));
      if (number > 0) at = number;
      if (at !== undefined && row !== "}") lines.push([i + 1, at]);
    });
    return { name: (/\n(\w+)\(/.exec(cuda) || ["", ""])[1], cuda, lines };
  });
}

function emitted(said, code, name) {
  const result = outcome(said, code, name);
  if (said.out === "" && !result.ok) return result;
  return Object.assign(result, { text: said.out, kernels: kernelsOf(said.out, name) });
}

function emit(args) {
  const target = args.sm ? ["--sm=" + args.sm] : [];
  return command(["emit", ...target, args.name || "script.lua"], args, false, emitted);
}

// {====== Reports ======

// A finding as a page wants it: the line is one of the script, or there is none.
function placed(finding, name) {
  const { chunk, line, other_chunk: otherChunk, other_line: otherLine } = finding;
  if (chunk === name) return finding;
  finding.line = otherChunk === name ? otherLine : undefined;
  return Object.assign(finding, { at: chunk + ":" + line });
}

// What was found or drawn counts, even where the script failed after it.
function reported(said, code, name, instance) {
  const json = readText(instance, REPORT + ".json");
  const html = readText(instance, REPORT + ".html");
  const result = code === 0 || json === null ? outcome(said, code, name) : { ok: true };
  if (!result.ok && html === null) return Object.assign(result, { text: said.out });
  result.ok = true;
  result.text = said.out;
  if (json !== null) result.findings = JSON.parse(json).map((finding) => placed(finding, name));
  if (html !== null) result.html = html;
  if (said.err !== "") Object.assign(result, failure(said.err, name), { ok: true });
  return result;
}

function report(what) {
  return (args) => {
    const element = what === "trace" ? [args.element || ""] : [];
    return command(["report", what, ...element, args.name || "script.lua"], args, false, reported);
  };
}

// {====== Cells of a notebook ======

const FORMS = ["expression", "layout", "statement", "broken"];
const FAILED = 8;

function takeFile(instance, path) {
  const text = readText(instance, path);
  if (text !== null) instance.FS.unlink(path);
  return text;
}

// A cell's output is no terminal's: pictures are no text there.
async function cell(args) {
  (await openPrompt()).FS.streams[1].tty = null;
  const values = [PROMPT, args.number, args.text, args.shows || "", PICTURE];
  const types = ["number", "number", "string", "string", "string"];
  const { instance, said, end } = await ask("cell", types, values, true);
  if (isLost(end)) return Object.assign(lost(said, end), { lost: true });
  const result = end.value & FAILED ? failure(said.err) : { ok: true };
  result.form = FORMS[end.value & ~FAILED];
  return Object.assign(result, { svg: takeFile(instance, PICTURE) });
}

// {====== Requests ======

function listFiles() {
  return { ok: true, files: [...files].map(([name, data]) => ({ name, bytes: data.length })) };
}

const operations = {
  run: (args) => command([args.name || "script.lua"], args, true, outcome),
  emit,
  check: report("check"),
  profile: report("profile"),
  trace: report("trace"),
  timeline: report("timeline"),
  prompt: takeLine,
  cancel,
  reset,
  complete,
  help,
  picture,
  cell,
  files: listFiles,
  file: (args) => (files.has(args.name)
    ? { ok: true, data: files.get(args.name) } : failure("there is no file " + args.name)),
};

async function answer(request) {
  const operation = operations[request.op];
  if (!operation) return failure("there is no request " + request.op);
  try {
    return await operation(request.args || {});
  } catch (error) {
    return failure("cuttle: " + trapText(error));
  }
}

async function start(module) {
  compiled = module;
  try {
    await openPrompt();
    postMessage({ ready: true, greeting });
  } catch (error) {
    postMessage({ broken: "the engine does not start: " + trapText(error) });
  }
}

onmessage = async (event) => {
  if (event.data.module) {
    await start(event.data.module);
  } else {
    postMessage({ id: event.data.id, result: await answer(event.data) });
  }
};
