// files.js: what scripts have written. Pictures and Cuttle's own pages are shown; other files are saved.
'use strict';

// A button for each file; `show(html, name)` draws a page.
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
  const page = asPage(name, data);
  if (page) show(page, name);
  else save(name, data);
}

// What a frame shows of the file, or null.
function asPage(name, data) {
  const text = new TextDecoder().decode(data);
  if (name.endsWith('.html')) return ownPage(text);
  return name.endsWith('.svg') ? drawingPage(text) : null;
}

function save(name, data) {
  const url = URL.createObjectURL(new Blob([data]));
  make('a', { href: url, download: name.replace(/^.*\//, '') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
