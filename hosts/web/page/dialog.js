// dialog.js: the dialog of a page, and the list of its keys.
'use strict';

function openDialog(title, ...body) {
  byId('dialog-title').textContent = title;
  const place = byId('dialog').querySelector('.body');
  place.replaceChildren(...body);
  if (place.querySelector('button, input, iframe, a')) place.removeAttribute('tabindex');
  else place.tabIndex = 0; // else no key would scroll it
  byId('dialog').showModal();
  place.scrollTop = 0;
}

function closeDialog() { byId('dialog').close(); }

function addDialog() {
  byId('dialog-close').addEventListener('click', closeDialog);
  byId('dialog').addEventListener('click', (event) => {
    if (event.target === byId('dialog')) closeDialog(); // the backdrop
  });
}

// `rows`: pairs of keys, as "Ctrl+Enter", and what they do.
function openKeys(rows) {
  const list = make('dl', { className: 'shortcuts' });
  for (const [keys, what] of rows) {
    const parts = keys.split(/[+ ]/).flatMap((key, i) => [i > 0 ? ' ' : '', make('kbd', {}, key)]);
    list.append(make('dt', {}, ...parts), make('dd', {}, what));
  }
  openDialog('Keys', list);
}
