// notebook_script.js: a notebook as a Lua script, and back. No byte gets lost on the way.
//
//   -- A text.                    a text cell: lines of comments, up to a line without one
//   A = L"(8,8):(8,1)"            a statement
//   print(size(A)) --=            an expression: size(A)
//   print(L"(4,8):(8,1)") --:     a layout as CuTe writes it: (4,8):(8,1)
//   --! size(                     a cell that is not Lua: the script passes over it
//   --{ ... --}                   one cell, where that is not clear by itself
//
// A notebook is {cells, head, tail, eol}; a cell {kind: 'code' or 'text', text, form, raw, lead}.
// `form` is what the engine said of code: 'expression', 'layout', 'statement', 'broken'; null:
// not yet. `raw` is how the cell stands in the script that was opened, `lead` the empty lines above it;
// null for cells that were changed or made here.
'use strict';

const NotebookScript = ((lua) => {
  const isComment = (line) => /^--(?![[][=[])/.test(line) && !/^--([!}]|=*[{])/.test(line);
  const isMark = (line) => /^--=*\{$/.test(line);
  const isBroken = (line) => line.startsWith('--!');
  // What may stand above all: the mark of an encoding, and the program that runs the script.
  const HEAD = /^\uFEFF?(?:#!.*(?:\n|$))?/;
  const isBlank = (line) => /^[ \t\r]*$/.test(line);

  // {====== Reading ======

  function textCell(lines) {
    return { kind: 'text', text: lines.map((line) => line.replace(/^-- ?/, '')).join('\n') };
  }

  function brokenCell(lines) {
    return { kind: 'code', form: 'broken',
      text: lines.map((line) => line.replace(/^--! ?/, '')).join('\n') };
  }

  // A statement, or what print was wrapped around.
  function codeCell(raw) {
    const layout = /^print\((?:L|swizzle)"([^"\\\n]*)"\) --:$/.exec(raw);
    if (layout) return { kind: 'code', form: 'layout', text: layout[1] };
    const expression = /^print\(([^]*?)\n?\) --=$/.exec(raw);
    if (expression) return { kind: 'code', form: 'expression', text: expression[1] };
    return { kind: 'code', form: null, text: raw };
  }

  function countWhile(lines, from, test) {
    let n = from;
    while (n < lines.length && test(lines[n])) n += 1;
    return n;
  }

  // The end of the lines that a mark at `from` opens; -1 where nothing closes it.
  function markEnd(lines, from) {
    return lines.indexOf(lines[from].replace('{', '}'), from + 1);
  }

  // The line after the first statement from line `from` on, whose place in the text is `at`.
  function pieceEnd(text, from, at) {
    const end = lua.pieceEnd(text, at);
    return from + (end < 0 ? 1 : text.slice(at, end).split('\n').length);
  }

  // [cell, line after it] of what begins at line `from`, at a place of the text.
  function readCell(text, lines, from, at) {
    const line = lines[from];
    if (isMark(line) && markEnd(lines, from) > 0) {
      const end = markEnd(lines, from);
      return [{ ...codeCell(lines.slice(from + 1, end).join('\n')), form: null }, end + 1];
    }
    for (const [test, make] of [[isBroken, brokenCell], [isComment, textCell]]) {
      if (test(line)) {
        const end = countWhile(lines, from, test);
        return [make(lines.slice(from, end)), end];
      }
    }
    const end = pieceEnd(text, from, at);
    return [codeCell(lines.slice(from, end).join('\n')), end];
  }

  function readCells(text) {
    const lines = text.split('\n'), cells = [];
    let at = 0, place = 0;
    for (;;) {
      const begin = countWhile(lines, at, isBlank);
      const lead = lines.slice(at, begin).map((line) => line + '\n').join('');
      if (begin === lines.length) return { cells, rest: lines.slice(at).join('\n') };
      const [cell, end] = readCell(text, lines, begin, place + lead.length);
      const raw = lines.slice(begin, end).join('\n');
      cells.push({ ...cell, lead, raw });
      at = end;
      place += lead.length + raw.length + 1;
      if (at === lines.length) return { cells, rest: null };
    }
  }

  // The notebook of a script.
  function read(script) {
    const eol = /\r\n/.test(script) && !/[^\r]\n|^\n/.test(script) ? '\r\n' : '\n';
    const text = eol === '\n' ? script : script.replaceAll('\r\n', '\n');
    const [head] = HEAD.exec(text);
    const { cells, rest } = readCells(text.slice(head.length));
    const between = rest === null || cells.length === 0 ? '' : '\n';
    return { cells, head, eol, tail: between + (rest || '') };
  }

  // {====== Writing ======

  const prefixed = (prefix, text) => text.split('\n').map((line) => (
    line === '' ? prefix : `${prefix} ${line}`)).join('\n');

  function bracketed(text) {
    let level = '';
    while (text.split('\n').includes(`--${level}}`)) level += '=';
    return `--${level}{\n${text}\n--${level}}`;
  }

  function printed(text) {
    const end = text.includes('--') || text.endsWith('\n') ? '\n)' : ')';
    return `print(${text}${end} --=`;
  }

  const layoutText = (text) => (
    `print(${/^Sw<[^(:]*$/.test(text) ? 'swizzle' : 'L'}"${text}") --:`);

  const forms = {
    text: ({ text }) => [prefixed('--', text)],
    layout: ({ text }) => [layoutText(text), prefixed('--!', text)],
    expression: ({ text }) => [printed(text), bracketed(printed(text)), prefixed('--!', text)],
    statement: ({ text }) => (
      isMark(text.split('\n')[0]) || HEAD.exec(text)[0] ? [] : [text]).concat(bracketed(text)),
    broken: ({ text }) => [prefixed('--!', text)],
  };

  const isSame = (a, b) => a.kind === b.kind && a.text === b.text;
  const PROBE = { kind: 'code', text: 'x = 1' };

  // Whether the form, with another cell below it, is read as this cell.
  function isReadBack(cell, form) {
    const { cells } = readCells(`${form}\n\n${PROBE.text}\n`);
    return cells.length === 2 && isSame(cells[0], cell) && isSame(cells[1], PROBE);
  }

  function formOf(cell) {
    const kind = cell.kind === 'text' ? 'text' : cell.form || lua.guess(cell.text);
    const possible = forms[kind](cell);
    return possible.find((form) => isReadBack(cell, form)) || prefixed('--!', cell.text);
  }

  const isCode = (cell) => cell !== undefined && cell.kind === 'code';

  // Lines above a cell that was made here: code follows code at once.
  const ownLead = (cells, i) => (i === 0 || (isCode(cells[i]) && isCode(cells[i - 1])) ? '' : '\n');

  const isNew = (cell) => cell !== undefined && cell.raw === null;

  // Cells below each other, each with the lines that `leadOf` puts above it.
  const below = (leadOf) => (cells) => cells.map((cell, i) => (
    leadOf(cells, i) + (isNew(cell) ? formOf(cell) : cell.raw))).join('\n');

  // The ways to join cells, the one nearest to what was opened first.
  const joins = [
    below((cells, i) => (cells[i].lead === null ? ownLead(cells, i) : cells[i].lead)),
    below((cells, i) => cells[i].lead || (
      i > 0 && (isNew(cells[i]) || isNew(cells[i - 1])) ? '\n' : '')),
    below((cells, i) => cells[i].lead || (i > 0 ? '\n' : '')),
    (cells) => cells.map(formOf).join('\n\n'),
  ];

  function isJoined(text, cells) {
    const { cells: found } = readCells(text);
    return found.length === cells.length && cells.every((cell, i) => isSame(cell, found[i]));
  }

  // Cells without a letter leave nothing, if they were made here.
  const isKept = ({ text, raw }) => raw !== null || text.trim() !== '';

  // Cells have lines of their own, also where there were none.
  function framed(head, body, tail) {
    const above = head.includes('#') && !head.endsWith('\n') ? `${head}\n` : head;
    return above + body + (tail === '' || tail.startsWith('\n') ? tail : `\n${tail}`);
  }

  // The script of a notebook.
  function write({ cells, head = '', tail = '\n', eol = '\n' }) {
    const shown = cells.filter(isKept);
    const written = joins.map((join) => () => join(shown));
    const found = written.find((make) => isJoined(make(), shown)) || written[written.length - 1];
    const text = shown.length === 0 ? head + tail : framed(head, found(), tail);
    return eol === '\n' ? text : text.replaceAll('\n', eol);
  }

  return { read, write };
})(typeof require === 'function' ? require('./notebook_lua.js') : NotebookLua);

if (typeof module === 'object') module.exports = NotebookScript;
