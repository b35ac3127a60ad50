// test_link_random.js: damaged fragments of addresses, without a browser, in TAP. A fragment gives a state or
// an error with a sentence, and never unpacks to more than its limit.
//   node hosts/web/tests/test_link_random.js [SEED [ROUNDS]]
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');

const source = fs.readFileSync(path.join(__dirname, '..', 'page', 'link.js'), 'utf8');
const CuttleLink = vm.runInThisContext(`${source}; CuttleLink`);
const rounds = Number(process.argv[3] || 3000);
let seed = Number(process.argv[2] || 1);
let count = 0;

function check(name, got, want) {
  count += 1;
  const isSame = JSON.stringify(got) === JSON.stringify(want);
  console.log(`${isSame ? 'ok' : 'not ok'} ${count} - ${name}`);
  if (!isSame) console.log(`# got: ${JSON.stringify(got)}\n# expected: ${JSON.stringify(want)}`);
}

function random(n) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
}

const pick = (list) => list[random(list.length)];

function fragmentOf(bytes) {
  return `#s=${zlib.deflateRawSync(bytes).toString('base64url')}`;
}

const VALUES = ['null', 'true', '7', '"x"', '[]', '{}', '{"v":1}', '{"v":2,"script":"x"}', '{"v":1,"script":null}',
  '{"v":1,"__proto__":{"script":"y"}}', '[1', '', '\u0000', `${'['.repeat(30000)}`];

function damaged(text) {
  const at = random(text.length + 1);
  return pick([
    () => text.slice(0, at) + text.slice(at + random(9)),
    () => text.slice(0, at),
    () => text.slice(0, at) + pick(['=', '#', '%00', '\u0000', '\ud800', 'AAAA', '-_', ' ']) + text.slice(at),
    () => text.slice(0, at) + text.slice(random(at + 1)),
  ])();
}

function drawn() {
  const whole = fragmentOf(random(2) ? pick(VALUES) :
    JSON.stringify({ v: 1, script: 'x'.repeat(random(5000)), name: pick(VALUES), pane: pick(VALUES) }));
  let text = whole;
  for (let i = random(4); i > 0; i -= 1) text = damaged(text);
  return text;
}

// What became of a fragment: 'state', 'no state' or 'a sentence'; anything else is wrong.
async function outcome(text) {
  try {
    const state = await CuttleLink.decode(text);
    if (state === null) return text.startsWith('#s=') ? 'null for a state' : 'no state';
    return state.v === 1 ? 'state' : 'another version';
  } catch (error) {
    return /^The link is .*\.$/s.test(error.message) ? 'a sentence' : `${error.name}: ${error.message}`;
  }
}

async function main() {
  const seen = {};
  for (let i = 0; i < rounds; i += 1) {
    const what = await outcome(drawn());
    seen[what] = (seen[what] || 0) + 1;
  }
  check('a damaged fragment gives a state or a sentence', Object.keys(seen).sort(),
    ['a sentence', 'no state', 'state']);
  check('and none is polluted', {}.script, undefined);
  check('a fragment that unpacks to too much is refused', await outcome(fragmentOf(Buffer.alloc(64 << 20, 32))),
    'a sentence');
  const state = { script: 'print(1) -- ö\n', name: 'a.lua', line: 3 };
  check('a whole one is read back', await CuttleLink.decode(await CuttleLink.encode(state)), { v: 1, ...state });
  console.log(`1..${count}`);
}

main();
