// notebook_keys.js: what keys do in a cell, and on the page.
'use strict';

const NOTEBOOK_KEYS = [
  ['Enter', 'a new cell below; in a text, or where a bracket or a block is open, a new line'],
  ['Shift+Enter', 'a new line in the cell'],
  ['\u2191 \u2193', 'move between lines, and on to the next cell'],
  ['Alt+\u2191 Alt+\u2193', 'move the cell'],
  ['Backspace', 'in an empty cell: remove it'],
  ['Alt+Delete', 'remove the cell'],
  ['Alt+Z', 'bring back the cell that was removed last'],
  ['Ctrl+Space', 'complete the name before the cursor'],
  ['F1', 'help for the name at the cursor'],
  ['Ctrl+/', 'turn code into a text, and back'],
  ['Ctrl+Enter', 'run the cell again, and what follows'],
  ['Alt+Enter', 'open the picture of the cell, which answers to the mouse and to keys'],
  ['Esc', 'stop what runs'],
  ['Ctrl+S', 'save the notebook as a Lua script'],
  ['Ctrl+O', 'open a script'],
];

// Where the cursor is: {before, after} it in the text, or null if something is selected.
function cursorIn(field) {
  const { selectionStart: at, selectionEnd: end, value } = field;
  return at === end ? { before: value.slice(0, at), after: value.slice(at) } : null;
}

// "Alt+ArrowUp" of an event; the command key of a Mac is Ctrl.
function chordOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  const name = key.length === 1 ? key.toUpperCase() : key;
  const isPlain = key.length === 1 && !/[A-Z]/.test(name); // Shift is in the sign itself
  return [[ctrlKey || metaKey, 'Ctrl'], [altKey, 'Alt'], [shiftKey && !isPlain, 'Shift']]
    .filter(([isDown]) => isDown).map(([, part]) => part).concat(name).join('+');
}

// What a key does in a cell: a function that acts, or null where the browser does its own.
const cellKeys = {
  'Enter': (cell, page) => {
    const cursor = cursorIn(cell.field);
    if (!cursor || cell.kind === 'text') return null;
    if (NotebookLua.isOpen(cursor.before)) return null;
    return () => page.split(cell, cursor.before, cursor.after);
  },
  'ArrowUp': (cell, page) => {
    const cursor = cursorIn(cell.field);
    return cursor && !cursor.before.includes('\n') ? () => page.go(cell, -1) : null;
  },
  'ArrowDown': (cell, page) => {
    const cursor = cursorIn(cell.field);
    return cursor && !cursor.after.includes('\n') ? () => page.go(cell, 1) : null;
  },
  'Backspace': (cell, page) => (cell.text === '' ? () => page.remove(cell, -1) : null),
  'Alt+ArrowUp': (cell, page) => () => page.move(cell, -1),
  'Alt+ArrowDown': (cell, page) => () => page.move(cell, 1),
  'Alt+Delete': (cell, page) => () => page.remove(cell, 1),
  'Alt+Enter': (cell, page) => () => page.openPicture(cell),
  'Ctrl+/': (cell, page) => () => page.turn(cell),
  'Ctrl+ ': (cell, page) => (cell.kind === 'code' ? () => page.hints.open(cell) : null),
  'F1': (cell, page) => () => page.hints.help(cell),
  'Ctrl+Enter': (cell, page) => () => page.rerun(cell),
};

const pageKeys = {
  'Escape': (page) => (page.runner && page.runner.line.isBusy ? () => page.stop() : null),
  'Alt+Z': (page) => () => page.undo(),
  'Ctrl+S': (page) => () => page.files.save(),
  'Ctrl+O': (page) => () => page.files.choose(),
};

function takeKey(event, act) {
  if (!act) return;
  event.preventDefault();
  act();
}

function addPageKeys(page) {
  addEventListener('keydown', (event) => {
    if (byId('dialog').open || event.defaultPrevented) return;
    const find = pageKeys[chordOf(event)];
    if (find) takeKey(event, find(page));
  });
}
