// dom.js: elements by id and by description.
'use strict';

const byId = (id) => document.getElementById(id);

// make('p', {className: 'hint'}, 'text', child): an element with properties and children.
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Calls `act` once it has not been called for `ms`.
function delayed(ms, act) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...args), ms);
  };
}
