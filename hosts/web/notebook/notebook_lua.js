// notebook_lua.js: as much of Lua's text as a notebook must know: where a statement ends, what it
// names, whether it is open. The engine has the last word on what a cell is.
'use strict';

const NotebookLua = (() => {
  // In order: what begins at a place of the text.
  const LONG = /--\[(=*)\[|\[(=*)\[/y;
  const COMMENT = /--[^\n]*/y;
  const STRING = /"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/y;
  const NAME = /[A-Za-z_]\w*/y;
  const NUMBER = /0[xX][\w.]+|(?:\d|\.\d)[\w.]*/y;
  const SYMBOL = /\.\.\.|\.\.|::|==|~=|<=|>=|<<|>>|\/\/|[^\s]/y;

  const OPENERS = new Set(['(', '[', '{', 'function', 'do', 'if', 'repeat']);
  const CLOSERS = new Set([')', ']', '}', 'end', 'until']);
  // A line that ends, or begins, with one of these goes on, or continues the one above.
  const INFIX = new Set(['+', '*', '/', '//', '%', '^', '..', '==', '~=', '<=', '>=', '<', '>',
    '<<', '>>', '&', '|', 'and', 'or', '=', ',', '.', ':']);
  const TRAILING = new Set([...INFIX, '-', '~', 'not', '#', 'return', 'local', 'in', 'until']);
  const STATEMENTS = new Set(['local', 'function', 'if', 'for', 'while', 'do', 'repeat', 'return',
    'break', 'goto', '::']);

  function matchAt(pattern, text, at) {
    pattern.lastIndex = at;
    return pattern.exec(text);
  }

  // A long string or comment from `at` on; `isOpen` where its end is missing.
  function longToken(text, at, match) {
    const level = match[1] === undefined ? match[2] : match[1];
    const end = text.indexOf(`]${level}]`, at + match[0].length);
    const isOpen = end < 0;
    const type = match[0].startsWith('--') ? 'comment' : 'string';
    return { type, at, end: isOpen ? text.length : end + level.length + 2, isOpen };
  }

  function tokenAt(text, at) {
    const long = matchAt(LONG, text, at);
    if (long) return longToken(text, at, long);
    for (const [type, pattern] of [['comment', COMMENT], ['string', STRING], ['name', NAME],
      ['number', NUMBER], ['symbol', SYMBOL]]) {
      const match = matchAt(pattern, text, at);
      if (match) return { type, at, end: at + match[0].length, isOpen: false };
    }
    return null;
  }

  // {type, at, end, isOpen, text} of all that is not white, from a place on.
  function* tokensFrom(text, from) {
    for (let at = from; at < text.length;) {
      if (/\s/.test(text[at])) {
        at += 1;
        continue;
      }
      const token = tokenAt(text, at);
      token.text = text.slice(at, token.end);
      yield token;
      at = token.end;
    }
  }

  const tokens = (text) => [...tokensFrom(text, 0)];

  function depthStep(token) {
    if (token.type === 'string' || token.type === 'comment') return 0;
    return OPENERS.has(token.text) ? 1 : CLOSERS.has(token.text) ? -1 : 0;
  }

  // Whether more must follow: a bracket, a block or a string is open, or an operator waits.
  function isOpen(text) {
    let depth = 0;
    const all = tokens(text);
    for (const token of all) {
      depth += depthStep(token);
      if (token.isOpen) return true;
    }
    const code = all.filter(({ type }) => type !== 'comment');
    const last = code[code.length - 1];
    return depth > 0 || (last !== undefined && last.type !== 'string' && TRAILING.has(last.text));
  }

  function newlinesBetween(text, from, to) {
    return text.slice(from, to).split('\n').length - 1;
  }

  // Whether a new statement may begin with `next`, which stands on a later line than `last`.
  function isBreak(text, last, next) {
    const n = newlinesBetween(text, last.end, next.at);
    if (n === 0) return false;
    if (n > 1 || next.type === 'comment' || last.type === 'comment') return true;
    return !(last.type !== 'string' && TRAILING.has(last.text)) && !INFIX.has(next.text);
  }

  // The end of the first statement from a place on, which is that of its last line; -1: there is none.
  // Statements on one line are together.
  function pieceEnd(text, from) {
    let depth = 0, last = null;
    for (const token of tokensFrom(text, from)) {
      if (last && depth <= 0 && isBreak(text, last, token)) break;
      depth += depthStep(token);
      last = token;
    }
    return last ? lineEnd(text, last.end) : -1;
  }

  function lineEnd(text, at) {
    const end = text.indexOf('\n', at);
    return end < 0 ? text.length : end;
  }

  // The tokens outside all brackets and blocks, without comments.
  function outerTokens(text) {
    let depth = 0;
    return tokens(text).filter((token) => {
      const before = depth;
      depth += depthStep(token);
      return token.type !== 'comment' && (before === 0 || depth === 0);
    });
  }

  // The characters of a layout as CuTe writes it, in a text that is no expression of Lua.
  function isLayout(text) {
    const isLettered = text.startsWith('Sw<') || (text.startsWith('(') && /[=<]/.test(text));
    const letters = isLettered ? /^[\w(),:@\-=<> \t]*$/ : /^[\d(),:_@\- \t]*$/;
    return letters.test(text) && /[(:<]/.test(text) && /[,:<=]/.test(text);
  }

  // 'layout', 'statement', 'expression' or 'broken', before the engine has said it.
  function guess(text) {
    if (isLayout(text)) return 'layout';
    if (isOpen(text)) return 'broken';
    const outer = outerTokens(text);
    const isStatement = outer.length === 0 || STATEMENTS.has(outer[0].text) ||
      outer.some(({ type, text: t }) => type === 'symbol' && t === '=');
    return isStatement ? 'statement' : 'expression';
  }

  // The first name that a statement gives a value to: "A" of `A = 1` and of `local A, B = f()`; not
  // of functions, whose text says nothing.
  function assigned(text) {
    const words = tokens(text).filter(({ type }) => type !== 'comment');
    if (words.length > 0 && words[0].text === 'local') words.shift();
    const equals = words.findIndex(({ type, text: t }) => type === 'symbol' && t === '=');
    if (equals < 1 || words[0].type !== 'name' || STATEMENTS.has(words[0].text)) return null;
    if (equals + 1 === words.length || words[equals + 1].text === 'function') return null;
    const second = words[1].text;
    if (second === '=' || second === ',' || second === '<') return words[0].text;
    const target = words.slice(0, equals);
    return second === '.' && !target.some(({ text: t }) => /[[({,:]/.test(t)) ?
      text.slice(words[0].at, target[target.length - 1].end) : null;
  }

  return { isOpen, pieceEnd, guess, isLayout, assigned, tokens };
})();

if (typeof module === 'object') module.exports = NotebookLua;
