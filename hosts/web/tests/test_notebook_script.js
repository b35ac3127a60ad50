// test_notebook_script.js: notebooks as scripts and back, without a browser, in TAP.
//   node hosts/web/tests/test_notebook_script.js [SEED [ROUNDS]]
'use strict';

const fs = require('fs');
const path = require('path');
const script = require('../notebook/notebook_script.js');
const lua = require('../notebook/notebook_lua.js');

const root = path.join(__dirname, '..', '..', '..');
const seed = Number(process.argv[2] || 1);
const rounds = Number(process.argv[3] || 20000);
let count = 0;

function check(name, got, want) {
  count += 1;
  const isSame = JSON.stringify(got) === JSON.stringify(want);
  console.log(`${isSame ? 'ok' : 'not ok'} ${count} - ${name}`);
  if (!isSame) console.log(`# got: ${JSON.stringify(got)}\n# expected: ${JSON.stringify(want)}`);
}

// {====== What users have ======

function luaFiles(folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return luaFiles(name);
    return name.endsWith('.lua') ? [name] : [];
  });
}

const files = ['examples', 'stdlib', 'tests', 'scripts', 'hosts'].flatMap(luaFiles);
check('there are scripts to read', files.length > 300, true);
check('every script is written as it was read', files.filter((name) => {
  const text = fs.readFileSync(path.join(root, name), 'latin1');
  return script.write(script.read(text)) !== text;
}), []);

const cellsOf = (text) => script.read(text).cells.map(({ kind, text: t }) => [kind, t]);
check('statements, texts and what is printed', cellsOf(
  '-- a\n--b\n\nx = f(\n  1)\ny = 2 z = 3\nprint(x) --=\nprint(L"4:1") --:\nprint(x)\n'), [
  ['text', 'a\nb'], ['code', 'x = f(\n  1)'], ['code', 'y = 2 z = 3'], ['code', 'x'],
  ['code', '4:1'], ['code', 'print(x)']]);
check('strings and comments hide what they hold', cellsOf(
  'a = "(" -- {\nb = [[\nend\n]] --[==[ do\n]] ]==]\nc = \'\\\'{\'\n'), [
  ['code', 'a = "(" -- {'], ['code', 'b = [[\nend\n]] --[==[ do\n]] ]==]'],
  ['code', 'c = \'\\\'{\'']]);
check('operators go on, empty lines end', cellsOf('a = 1 +\n2\nb = 3\n  .. "x"\nc\n\n+ d\n'), [
  ['code', 'a = 1 +\n2'], ['code', 'b = 3\n  .. "x"'], ['code', 'c'], ['code', '+ d']]);

const made = (kind, text, form = null) => ({ kind, text, form, raw: null, lead: null });
check('cells that were made here', script.write({ cells: [
  made('text', 'Title\n\nmore'), made('code', 'A = 1', 'statement'),
  made('code', 'A + 1', 'expression'), made('code', 'A -- one', 'expression'),
  made('code', '(4,8):(8,1)', 'layout'), made('code', 'Sw<2,0,3>', 'layout'),
  made('code', 'size(', 'broken'), made('code', 'x = 1\ny = 2', 'statement'), made('code', ' ')] }),
'-- Title\n--\n-- more\n\nA = 1\nprint(A + 1) --=\nprint(A -- one\n) --=\n' +
'print(L"(4,8):(8,1)") --:\nprint(swizzle"Sw<2,0,3>") --:\n--! size(\n--{\nx = 1\ny = 2\n--}\n');

check('names that statements give values to', ['A = 1', 'local A, B = f()', 'x.y = 2', 't[1] = 3',
  'f(x)', 'A == B', 'local x <const> = 4', 'f = function() end', 'for i = 1, 2 do end',
  'function f() x = 1 end'].map(lua.assigned),
['A', 'A', 'x.y', null, null, null, 'x', null, null, null]);
check('what is open', ['f(', 'x = {', 'if a then', '"x" ..', 'x =', '[[', 'f()', 'do end', '"("',
  '-- (', 'repeat until x', 'x'].map(lua.isOpen),
[true, true, true, true, true, true, false, false, false, false, false, false]);

// {====== What nobody would write ======

const PARTS = ['A', '=', 'L"(8,8):(8,1)"', '(', '(4,8):(8,1)', ')', '--', '-- x', '\n', '\n\n', '--=',
  '--{', '--}', '--={', '--! ', 'print(', ') --=', ') --:', '"', '\'', '[[', ']]', 'function', 'end',
  'if', 'then', ' ', '+', '1', ',', 'size(A)', '--:', '\\', '--[[', 'local x', '{', '}', '-', '#',
  ';', '\t', 'é', 'print(L"', '#!', '\uFEFF', 'swizzle"'];
const FORMS = [null, 'expression', 'statement', 'layout', 'broken'];
let state = seed;

function random(n) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
}

function randomText(most) {
  return Array.from({ length: 1 + random(most) }, () => PARTS[random(PARTS.length)]).join('');
}

function randomCells() {
  return Array.from({ length: 1 + random(4) }, () => (
    made(random(3) ? 'code' : 'text', randomText(7), FORMS[random(FORMS.length)])));
}

// The first round whose outcome is wrong, or null.
function firstWrong(round) {
  for (let i = 0; i < rounds; i += 1) {
    const wrong = round();
    if (wrong !== null) return wrong;
  }
  return null;
}

const shown = (cells) => cells.filter(({ text }) => text.trim() !== '')
  .map(({ kind, text }) => [kind, text]);

check(`random cells come back, seed ${seed}`, firstWrong(() => {
  const cells = randomCells(), text = script.write({ cells });
  const isSame = JSON.stringify(cellsOf(text)) === JSON.stringify(shown(cells));
  return isSame ? null : [shown(cells), text];
}), null);
check(`random scripts come back, seed ${seed}`, firstWrong(() => {
  const text = randomText(14);
  return script.write(script.read(text)) === text ? null : text;
}), null);
check(`cells among those of a script come back, seed ${seed}`, firstWrong(() => {
  const book = script.read(randomText(14)), [cell] = randomCells();
  book.cells.splice(random(book.cells.length + 1), 0, cell);
  const want = book.cells.filter(({ raw, text }) => raw !== null || text.trim() !== '')
    .map(({ kind, text }) => [kind, text]);
  const text = script.write(book);
  const got = cellsOf(text);
  return JSON.stringify(got) === JSON.stringify(want) ? null : [want, text];
}), null);
console.log(`1..${count}`);
