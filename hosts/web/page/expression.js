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
  if (/^\s*(for|if|while)\b/.test(text)) return null;
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

// A text such as "(8,8):(8,1)" is a layout.
const LAYOUT_TEXT = /^["'][\d(),:_\s]*\d[\d(),:_\s]*["']$/;

// What the token at the cursor stands for, with what follows it; the longest first.
function atToken(cm, cursor, text) {
  const token = cm.getTokenAt({ line: cursor.line, ch: cursor.ch + 1 });
  const before = cm.getTokenAt(cursor);
  const here = /^[A-Za-z_]/.test(token.string) && token.start <= cursor.ch ? token : before;
  if (LAYOUT_TEXT.test(here.string)) return [`L(${here.string})`];
  if (/comment|string|keyword/.test(here.type || '')) return [];
  for (const found of cm.getLine(cursor.line).matchAll(/[A-Za-z_][\w.]*/g)) {
    const end = found.index + found[0].length;
    if (found.index <= cursor.ch && cursor.ch <= end) {
      return [text.slice(found.index, withCalls(text, end)), found[0]];
    }
  }
  return [];
}

// What a line prints: the text between the brackets of print(...).
function printed(text) {
  const found = text.match(/^\s*print(?=\()/);
  const close = found ? closingOf(text, found[0].length) : -1;
  return close < 0 ? null : text.slice(found[0].length + 1, close - 1).trim();
}

const MAY_BE_DRAWN = /^(?!function\b|kernel\b)[^]*[({"]/;

// What the script's outermost statements name or print, in order, as expressionAtCursor gives it.
function* firstExpressions(cm) {
  let depth = 0;
  for (let line = 0; line < cm.lineCount(); line += 1) {
    const text = depth <= 0 ? joined(cm, line) : '';
    const value = assigned(text) || printed(text) || '';
    if (MAY_BE_DRAWN.test(value)) {
      yield { candidates: [value], before: cm.getRange({ line: 0, ch: 0 }, { line, ch: 0 }) };
    }
    depth = Math.max(0, depth) + depthOf(cm.getLineTokens(line));
  }
}

// Whether lines give a value to a name that the expression has. Without them it would mean something
// else: in layout{8, n} the nil of an unknown n ends the shape.
function needsLines(expression, before) {
  return (expression.match(/[A-Za-z_]\w*/g) || []).some((name) => new RegExp(
    `\\b(?:local|function|for)\\b[^=(\\n]*\\b${name}\\b|\\b${name}\\b[\\w\\s,.<>]*=(?!=)`).test(before));
}

// {candidates: [text...] (best first), before: the script's text that makes its locals}, or null.
function expressionAtCursor(cm) {
  const cursor = cm.getCursor('from'), { line } = cursor;
  const begin = statementLine(cm, line);
  const before = cm.getRange({ line: 0, ch: 0 }, { line: begin, ch: 0 });
  if (cm.somethingSelected()) return { candidates: [cm.getSelection().trim()], before };
  const text = joined(cm, line), value = assigned(text);
  const isTarget = value !== null && cursor.ch < text.indexOf('=');
  const candidates = new Set(isTarget ? [] : atToken(cm, cursor, text));
  if (value) candidates.add(value);
  return candidates.size > 0 ? { candidates: [...candidates], before } : null;
}
