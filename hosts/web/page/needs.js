// needs.js: what the engine needs of a browser, and the sentence that says what is missing.
'use strict';

// Smallest modules that hold an instruction of the feature; a browser without it refuses them.
const SIMD_MODULE = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8,
  0, 65, 0, 253, 15, 253, 98, 11];
const EXCEPTIONS_MODULE = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6,
  0, 6, 64, 25, 11, 11];

function validates(bytes) {
  return typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(bytes));
}

const needs = [
  ['WebAssembly', () => typeof WebAssembly === 'object'],
  ['SIMD in WebAssembly', () => validates(SIMD_MODULE)],
  ['exceptions in WebAssembly', () => validates(EXCEPTIONS_MODULE)],
  ['workers', () => typeof Worker === 'function'],
  ['DecompressionStream', () => typeof DecompressionStream === 'function'],
  ['the colours of CSS light-dark()', () => CSS.supports('color', 'light-dark(#000, #fff)')],
];

function showNotice(text) {
  const notice = document.getElementById('notice');
  notice.textContent = text;
  notice.hidden = false;
}

// A fault of the page itself is said as well.
addEventListener('error', ({ message }) => showNotice(`The page failed: ${message}.`));
addEventListener('unhandledrejection', ({ reason }) => showNotice(`The page failed: ${reason}.`));

// A sentence, or null if nothing is missing.
function missingNeeds() {
  if (typeof CuttleEngine === 'undefined' || typeof CUTTLE_WASM === 'undefined') {
    return 'The files of the engine are not beside this page: make playground builds them.';
  }
  const missing = needs.filter(([, isHere]) => !isHere()).map(([name]) => name);
  if (missing.length === 0) return null;
  return `This browser lacks ${missing.join(' and ')}, so the engine cannot run here. ` +
    'Browsers of 2024 and later have all that it needs.';
}
