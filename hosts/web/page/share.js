// share.js: the dialog with the link of what a page shows.
'use strict';

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { return false; }
}

const LONG_LINK = 8000; // characters; some programs for mail and chat cut longer ones

// Shows a link, after trying to copy it. `thing`: what it carries, as in 'The script'; `opens`: a
// sentence on what it opens.
async function openShare(address, thing, opens = '') {
  const field = make('input', { type: 'text', id: 'address', className: 'code', readOnly: true,
    value: address });
  field.setAttribute('aria-label', 'Link');
  const how = await copied(address) ? 'Copied.' : 'Copy it by hand: the browser did not allow it.';
  const note = make('p', { role: 'status' }, `${how} The link has ${address.length} characters.` +
    opens + (address.length > LONG_LINK ? ' Some programs cut links as long as this one.' : ''));
  const about = make('p', { className: 'hint' }, `${thing} is in the link itself, after the #. ` +
    'Browsers do not send that part to a server.');
  openDialog('Share', field, note, about);
  field.focus();
  field.select();
}
