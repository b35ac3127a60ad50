// menus.js: the keys of the playground, and the dialog of programs to load.
'use strict';

const PLAYGROUND_KEYS = [
  ['Ctrl+Enter', 'run the script'],
  ['Ctrl+.', 'stop what runs'],
  ['Ctrl+S', 'save the script as a file'],
  ['F6', 'go to the next part: script, results, prompt; with Shift to the one before'],
  ['Tab', 'script and prompt: complete the name before the cursor; else the script indents'],
  ['Esc', 'script and prompt: from now on Tab moves to the next control'],
  ['Ctrl+Space', 'script: complete'],
  ['F1', 'script: help for the name at the cursor'],
  ['F8', 'script: go to the next error or finding; with Shift to the one before'],
  ['Ctrl+/', 'script: lines to comments and back'],
  ['\u2190 \u2192', 'results: move between tabs; Enter opens one'],
  ['Enter', 'CUDA: go to the script\u2019s line'],
  ['\u2191 \u2193', 'prompt: recall former inputs'],
  ['Shift+Enter', 'prompt: a new line of the same input'],
  ['Ctrl+C', 'prompt: stop what runs, or clear the input'],
];

function programRow(program, onPick) {
  const { name, title } = program;
  const about = make('span', {}, title);
  if (program.new) about.append(make('small', {}, `New: ${program.new}`));
  const button = make('button', {}, make('b', {}, name), ' ', about);
  button.addEventListener('click', () => {
    closeDialog();
    onPick(program);
  });
  return make('li', {}, button);
}

// The rows, below a heading for each level that they have.
function programList(programs, onPick) {
  const parts = [];
  let level, list;
  for (const program of programs) {
    if (!list || program.level !== level) {
      level = program.level;
      list = make('ul', { className: 'programs' });
      if (level) parts.push(make('h3', {}, level));
      parts.push(list);
    }
    list.append(programRow(program, onPick));
  }
  return parts;
}

// `programs`: a list of {name, title, text}, perhaps with a level and what is new; a field above it leaves
// those that hold its words.
function openPrograms(heading, programs, onPick) {
  const filter = make('input', { type: 'search', className: 'filter', placeholder: 'Filter' });
  filter.setAttribute('aria-label', `Filter of ${heading.toLowerCase()}`);
  const list = make('div');
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const has = ({ name, title, level, new: news }) => words.every((word) => (
      [name, title, level, news].join(' ').toLowerCase().includes(word)));
    list.replaceChildren(...programList(programs.filter(has), onPick));
  };
  filter.addEventListener('input', draw);
  draw();
  openDialog(heading, filter, list);
  filter.focus();
}
