// theme.js: light, dark or as the system says: the radio buttons in a fieldset, kept for next time.
'use strict';

const THEME_KEY = 'cuttle.theme';

// localStorage throws where a browser keeps nothing for a page.
const kept = {
  get(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  set(key, value) {
    try { localStorage.setItem(key, value); } catch { /* it holds for this visit only */ }
  },
};

const systemDark = matchMedia('(prefers-color-scheme: dark)');

// What is shown now: 'light' or 'dark'.
function shownTheme() {
  return document.documentElement.dataset.theme || (systemDark.matches ? 'dark' : 'light');
}

function setTheme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

// `onChange(theme)` runs when what is shown has changed.
function addTheme(fieldset, onChange = () => {}) {
  const wanted = kept.get(THEME_KEY);
  const radios = [...fieldset.querySelectorAll('input')];
  const first = radios.find((radio) => radio.value === wanted) || radios[0];
  first.checked = true;
  setTheme(first.value);
  fieldset.addEventListener('change', ({ target }) => {
    kept.set(THEME_KEY, target.value);
    setTheme(target.value);
    onChange(shownTheme());
  });
  systemDark.addEventListener('change', () => onChange(shownTheme()));
}

// A page of the product, which knows data-theme on its root, in the theme that is shown here.
function themedPage(html) {
  return html.replace(/<html\b/, `<html data-theme="${shownTheme()}"`);
}

// Pages are made for windows of their own; a frame is narrower, and has this page's theme.
const FRAMED_STYLE = `<style>
  #theme { display: none; }
  header { padding: .75rem 1.25rem 0; }
  main, footer, #readout { padding-inline: 1.25rem; }
  .controls, #legend { margin-inline: 1.25rem; }
  h1 { font-size: 1.05rem; }
  /* The expression stands above the frame already. */
  .copyable { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  #copy { display: none; }
  body { font-size: 14px; }
</style>`;

function framedPage(html) {
  return themedPage(html).replace('</head>', `${FRAMED_STYLE}</head>`);
}
