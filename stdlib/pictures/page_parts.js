// page_parts.js: what the scripts of several pages use.
"use strict";

function element(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

const KEYWORDS = "and break do else elseif end false for function goto if in local nil not or " +
  "repeat return then true until while";
const TOKENS = new RegExp("(?<comment>--.*)|" +
  `(?<string>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')|` +
  `(?<keyword>\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b)`, "g");

// A line of Lua, its comments, texts and keywords in spans.
function highlighted(text) {
  const span = element("span", { className: "text" });
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    span.append(text.slice(at, match.index), element("span",
      { className: kind, textContent: match[0] }));
    at = match.index + match[0].length;
  }
  span.append(text.slice(at));
  return span;
}

// "(1,0)" of index 1 among extents, with as many numbers as there are extents beyond 1.
function coordinateText(index, [x, y, z]) {
  if (y === 1 && z === 1) return "";
  const crd = [index % x, Math.floor(index / x) % y, Math.floor(index / (x * y))];
  return `(${crd.slice(0, z > 1 ? 3 : 2).join(",")})`;
}
