// shown.js: what a frame may show: a page of the product, or a drawing. A script can answer with any text, and
// scripts come from links. So nothing is shown as it came. A page is made anew from this folder's own text of
// it (CUTTLE_PAGES of pages.js), and only its title and data are taken. A drawing is made anew of elements and
// attributes that only draw.
'use strict';

const NOT_SHOWN = 'This page is not one of Cuttle\'s, so it is not shown here.';

// [title, data] of a page that is `head`, a title, `middle`, data, `tail`; null for any other.
function holesOf(html, [head, middle, tail]) {
  if (!html.startsWith(head) || !html.endsWith(tail)) return null;
  const at = html.indexOf(middle, head.length), from = at + middle.length;
  const to = html.length - tail.length;
  return at < 0 || from > to ? null : [html.slice(head.length, at), html.slice(from, to)];
}

function filled([head, middle, tail], title, data) {
  const json = JSON.stringify(JSON.parse(data)).replace(/</g, '\\u003c');
  return head + title.replace(/</g, '&lt;') + middle + json + tail;
}

// The page of the product that `html` is, or null.
function ownPage(html) {
  for (const parts of CUTTLE_PAGES) {
    const holes = holesOf(html, parts);
    if (!holes) continue;
    try {
      return filled(parts, ...holes);
    } catch {
      return null; // its data are no JSON
    }
  }
  return null;
}

// {====== Drawings ======

const SVG = 'http://www.w3.org/2000/svg';
const DRAWING_ELEMENTS = new Set(['svg', 'g', 'title', 'desc', 'rect', 'line', 'text', 'tspan', 'path', 'circle',
  'ellipse', 'polygon', 'polyline']);
const DRAWING_ATTRIBUTES = new Set(['width', 'height', 'viewBox', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'dx', 'dy',
  'r', 'cx', 'cy', 'rx', 'ry', 'd', 'points', 'transform', 'fill', 'stroke', 'stroke-width', 'stroke-dasharray',
  'opacity', 'fill-opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor']);
const HARMLESS_VALUE = /^[^\\/:]*$/; // it cannot be or hold an address

// The element with what of it draws; comments and instructions of XML are not copied.
function drawingOf(element) {
  const made = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) {
    if (DRAWING_ATTRIBUTES.has(name) && HARMLESS_VALUE.test(value)) made.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.CDATA_SECTION_NODE) made.append(child.data);
    else if (isDrawing(child)) made.append(drawingOf(child));
  }
  return made;
}

function isDrawing(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.namespaceURI === SVG && DRAWING_ELEMENTS.has(node.localName);
}

const DRAWING_HEAD = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; webrtc 'block'">
<title>drawing</title>
<style>
  body { margin: 0; background: #fff; }
  svg { display: block; max-width: max(100%, 48rem); height: auto; }
  text { pointer-events: none; }
  :root[data-theme="dark"] body { background: #14161a; }
  :root[data-theme="dark"] svg { filter: invert(.92) hue-rotate(180deg); }
</style>
</head>
<body>`;

// A page with the drawing of a text of SVG; an empty one if it is no SVG.
function drawingPage(text) {
  const root = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  const drawn = isDrawing(root) ? new XMLSerializer().serializeToString(drawingOf(root)) : '';
  return `${DRAWING_HEAD}${drawn}</body></html>`;
}
