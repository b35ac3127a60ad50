// share.js: the dialog with the link of what the page shows.
'use strict';

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { return false; }
}

const LONG_LINK = 8000; // characters; some programs for mail and chat cut longer ones

// The address bar carries the link from now on, until the script is edited.
async function openShare(state) {
  const address = await CuttleLink.address(state);
  history.replaceState(null, '', address);
  const field = make('input', { type: 'text', id: 'address', className: 'code', readOnly: true,
    value: address });
  field.setAttribute('aria-label', 'Link');
  const isCopied = await copied(address);
  const how = isCopied ? 'Copied.' : 'Copy it by hand: the browser did not allow it.';
  const note = make('p', { role: 'status' }, `${how} The link has ${address.length} characters. ` +
    `It opens this script with the pane ${state.pane}.` +
    (address.length > LONG_LINK ? ' Some programs cut links as long as this one.' : ''));
  const about = make('p', { className: 'hint' }, 'The script is in the link itself, after the #. ' +
    'Browsers do not send that part to a server.');
  openDialog('Share', field, note, about);
  field.focus();
  field.select();
}
