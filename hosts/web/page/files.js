// files.js: what scripts have written. Pictures and pages are shown; other files are saved.
'use strict';

const SHOWN_FILE = /\.(svg|html)$/;

// A button for each file; `show(html, name)` draws a page or an SVG.
async function fileButtons(main, show) {
  const { ok, files } = await main.ask('files', {});
  if (!ok) return [];
  files.sort((a, b) => a.name.localeCompare(b.name));
  return files.map(({ name, bytes }) => {
    const button = make('button', { className: 'link', title: `${bytes} bytes` }, name);
    button.addEventListener('click', () => openFile(main, name, show));
    return button;
  });
}

async function openFile(main, name, show) {
  const { ok, data } = await main.ask('file', { name });
  if (!ok) return;
  if (SHOWN_FILE.test(name)) show(asPage(name, new TextDecoder().decode(data)), name);
  else save(name, data);
}

function asPage(name, text) {
  if (name.endsWith('.html')) return text;
  const style = '<style>body { margin: 1rem; background: #fff } svg { max-width: 100% }</style>';
  return `<!DOCTYPE html><html lang="en"><head>${style}</head><body>${text}</body></html>`;
}

function save(name, data) {
  const url = URL.createObjectURL(new Blob([data]));
  make('a', { href: url, download: name.replace(/^.*\//, '') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
