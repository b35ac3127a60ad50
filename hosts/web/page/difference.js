// difference.js: which lines of two texts are the same, by the longest common sequence of lines.
'use strict';

const DIFFERENCE_CELLS = 4_000_000; // of the table of lengths; beyond it the middle counts as changed

// How many lines two lists share at their beginning, or from their end on.
function sharedLines(a, b, isEnd) {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && (isEnd ? a.at(-1 - n) === b.at(-1 - n) : a[n] === b[n])) n += 1;
  return n;
}

// lengths[i][j]: how many lines a from i and b from j have in common at most.
function commonLengths(a, b) {
  const lengths = [];
  for (let i = a.length; i >= 0; i -= 1) lengths[i] = new Int32Array(b.length + 1);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 :
        Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

// Steps of what is between: [takes from a, takes from b], a line each.
function stepsBetween(a, b) {
  if (a.length * b.length > DIFFERENCE_CELLS) {
    return [...a.map(() => [true, false]), ...b.map(() => [false, true])];
  }
  const lengths = commonLengths(a, b), steps = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const isSame = i < a.length && j < b.length && a[i] === b[j];
    const step = isSame ? [true, true] :
      j === b.length || (i < a.length && lengths[i + 1][j] >= lengths[i][j + 1]) ? [true, false] : [false, true];
    if (step[0]) i += 1;
    if (step[1]) j += 1;
    steps.push(step);
  }
  return steps;
}

// Rows of two texts side by side: {left, right, same}, a side being [number, line] or null. Lines that
// took the place of others stand beside them.
function differenceRows(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  const begin = sharedLines(a, b, false), rest = [a.slice(begin), b.slice(begin)];
  const end = sharedLines(...rest, true);
  const middle = stepsBetween(a.slice(begin, a.length - end), b.slice(begin, b.length - end));
  const both = (n) => Array.from({ length: n }, () => [true, true]);
  const rows = [], at = [0, 0];
  let waiting = 0; // rows at the end that have no right side yet
  for (const [fromA, fromB] of [...both(begin), ...middle, ...both(end)]) {
    const side = (takes, which, lines) => (takes ? [(at[which] += 1), lines[at[which] - 1]] : null);
    const left = side(fromA, 0, a), right = side(fromB, 1, b);
    if (!left && waiting > 0) {
      rows[rows.length - waiting].right = right;
      waiting -= 1;
      continue;
    }
    rows.push({ left, right, same: fromA && fromB });
    waiting = right ? 0 : waiting + 1;
  }
  return rows;
}
