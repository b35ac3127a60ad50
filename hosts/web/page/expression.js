// expression.js: which expression stands at the cursor, and which lines have to run before it.
'use strict';

const MAX_LINES = 40; // of one expression
const OPENS = '([{', CLOSES = ')]}';

// How much deeper a line is after its tokens: blocks and brackets.
function depthOf(tokens) {
  let depth = 0;
  for (const { type, string } of tokens) {
    if (type === 'keyword') {
      if (/^(function|do|then|repeat)$/.test(string)) depth += 1;
      else if (/^(end|until|elseif)$/.test(string)) depth -= 1;
    } else if (!/string|comment/.test(type || '')) {
      for (const letter of string) {
        if (OPENS.includes(letter)) depth += 1;
        else if (CLOSES.includes(letter)) depth -= 1;
      }
    }
  }
  return depth;
}

// The line on which the outermost statement around `line` begins.
function statementLine(cm, line) {
  let depth = 0, begin = 0;
  for (let at = 0; at <= line; at += 1) {
    if (depth <= 0) begin = at;
    depth = Math.max(0, depth) + depthOf(cm.getLineTokens(at));
  }
  return begin;
}

// The place after the bracket that closes the one at `at`; -1 if none does.
function closingOf(text, at) {
  let depth = 0, quote = null;
  for (let i = at; i < text.length; i += 1) {
    const letter = text[i];
    if (quote) {
      if (letter === '\\') i += 1;
      else if (letter === quote) quote = null;
    } else if (letter === '"' || letter === "'") quote = letter;
    else if (OPENS.includes(letter)) depth += 1;
    else if (CLOSES.includes(letter)) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

// A name with what is called, indexed or selected right after it.
function withCalls(text, end) {
  let at = end;
  for (;;) {
    const rest = text.slice(at);
    const string = rest.match(/^\s*"(?:[^"\\]|\\.)*"/);
    const field = rest.match(/^[.:][A-Za-z_]\w*/);
    const open = rest.match(/^[([{]/);
    if (string || field) at += (string || field)[0].length;
    else if (open) {
      const close = closingOf(text, at);
      if (close < 0) return at;
      at = close;
    } else return at;
  }
}

// What a line assigns or returns: the text right of the first `=` outside brackets.
function assigned(text) {
  const found = text.match(/^\s*(?:local\s+)?[\w.\s,<>]+?=\s*(?!=)/);
  return found ? text.slice(found[0].length).replace(/\s+--[^\n]*$/, '').trim() : null;
}

// The line and those that follow until brackets are closed.
function joined(cm, line) {
  let depth = 0, text = '';
  for (let at = line; at < Math.min(cm.lineCount(), line + MAX_LINES); at += 1) {
    text += (at > line ? '\n' : '') + cm.getLine(at);
    depth += depthOf(cm.getLineTokens(at));
    if (depth <= 0) break;
  }
  return text;
}

// {candidates: [text...] (best first), before: the script's text that makes its locals}, or null.
function expressionAtCursor(cm) {
  const { line, ch } = cm.getCursor('from');
  const begin = statementLine(cm, line);
  const before = cm.getRange({ line: 0, ch: 0 }, { line: begin, ch: 0 });
  if (cm.somethingSelected()) return { candidates: [cm.getSelection().trim()], before };
  const candidates = new Set();
  const text = joined(cm, line), here = cm.getLine(line);
  const value = assigned(text);
  for (const found of here.matchAll(/[A-Za-z_][\w.]*/g)) {
    const end = found.index + found[0].length;
    const isTarget = value !== null && found.index < text.indexOf('=');
    if (found.index <= ch && ch <= end && !isTarget) {
      candidates.add(text.slice(found.index, withCalls(text, end)));
      candidates.add(found[0]);
    }
  }
  if (value) candidates.add(value);
  return candidates.size > 0 ? { candidates: [...candidates], before } : null;
}
