// link.js: a state of a page as the fragment of its address, and back: #s= and the base64url of the
// deflate-raw of JSON. What stands in a fragment never leaves the browser.
'use strict';

const LINK_VERSION = 1;
const LINK_MARK = '#s=';
const LINK_MAX_BYTES = 4 << 20; // of the JSON: a short link could otherwise fill the memory

function toBase64Url(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64Url(text) {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

// All bytes of a stream; an error beyond `max`.
async function bytesOf(stream, max) {
  const parts = [], reader = stream.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > max) {
      await reader.cancel();
      throw new Error('it unpacks to more than 4 MB');
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const CuttleLink = {
  // A fragment that carries `state`, a table of plain values.
  async encode(state) {
    const json = new TextEncoder().encode(JSON.stringify({ v: LINK_VERSION, ...state }));
    const packed = new Blob([json]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    return LINK_MARK + toBase64Url(await bytesOf(packed, Infinity));
  },

  // The state of a fragment, null where there is none. Throws an Error with a sentence where the
  // fragment is broken.
  async decode(fragment) {
    if (!fragment.startsWith(LINK_MARK)) return null;
    let state;
    try {
      const packed = fromBase64Url(fragment.slice(LINK_MARK.length));
      const json = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
      state = JSON.parse(new TextDecoder().decode(await bytesOf(json, LINK_MAX_BYTES)));
    } catch (error) {
      throw new Error(`The link is damaged: ${error.message || 'it does not unpack'}.`);
    }
    if (state === null || state.v !== LINK_VERSION) {
      throw new Error('The link is of another version of this page.');
    }
    return state;
  },

  // The address of this page with the state.
  async address(state) {
    return location.href.replace(/#.*$/, '') + await CuttleLink.encode(state);
  },
};
