// probe.js: what the tests of the pages ask a page: colours that a reader sees, and where things are.
'use strict';

const probe = (() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

  // Of any colour of CSS: [r, g, b, a], 0 to 255 and 0 to 1.
  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  function over([r, g, b, a], [r2, g2, b2]) {
    return [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  }

  // What is painted behind an element's text.
  function behind(element) {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  }

  // WCAG 2.1, relative luminance.
  function luminance([r, g, b]) {
    const linear = [r, g, b].map((c) => {
      const s = c / 255;
      return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  function opacityOf(element) {
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
    return opacity;
  }

  function contrastOf(element, colour) {
    const back = behind(element), ink = rgba(colour);
    ink[3] *= opacityOf(element);
    return ratio(over(ink, back), back);
  }

  const isSeen = (element) => element.checkVisibility({ checkVisibilityCSS: true }) &&
    !element.closest('.unseen') && element.getClientRects().length > 0;

  const say = (element) => `${element.tagName.toLowerCase()}#${element.id}.${element.className}`;

  // Each kind of text on the page whose contrast is below `least`: [element, text, ratio]; and how
  // many texts were looked at.
  function faintTexts(least) {
    const faint = [];
    let count = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, element = node.parentElement;
      if (!node.data.trim() || !isSeen(element)) continue;
      count += 1;
      const found = contrastOf(element, getComputedStyle(element).color);
      if (found < least) faint.push([say(element), node.data.trim().slice(0, 40), found]);
    }
    for (const field of document.querySelectorAll('input, textarea')) {
      if (!field.placeholder || !isSeen(field)) continue;
      count += 1;
      const found = contrastOf(field, getComputedStyle(field, '::placeholder').color);
      if (found < least) faint.push([say(field), field.placeholder, found]);
    }
    return { faint, count };
  }

  // The outline that shows the focus, against what is around it.
  function focusContrast() {
    const element = document.activeElement.closest('.CodeMirror, .choices, .entry') ||
      document.activeElement;
    const style = getComputedStyle(element);
    const isOutlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    const colour = isOutlined ? style.outlineColor : (/^rgba?\([^)]*\)|^color\([^)]*\)/
      .exec(style.boxShadow) || ['transparent'])[0];
    return contrastOf(element.parentElement, colour);
  }

  // Elements that stick out of the window to the side, where one would have to scroll.
  function scrollsSideways() {
    const root = document.scrollingElement;
    return root.scrollWidth > root.clientWidth;
  }

  function isInView(selector, inside) {
    const element = document.querySelector(selector);
    if (!element) return false;
    const box = element.getBoundingClientRect();
    const frame = inside ? document.querySelector(inside).getBoundingClientRect() :
      { top: 0, left: 0, bottom: innerHeight, right: innerWidth };
    return box.height > 0 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 &&
      box.left >= frame.left - 1 && box.right <= frame.right + 1;
  }

  return { contrastOf, faintTexts, focusContrast, scrollsSideways, isInView };
})();
