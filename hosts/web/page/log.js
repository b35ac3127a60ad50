// log.js: text that grows in a <pre>, in parts of a kind, with an end to how much it keeps.
'use strict';

const LOG_MAX = 400_000; // letters
const LOG_MS = 30;       // between two changes of the page

class Log {
  constructor(pre) {
    this.pre = pre;
    this.size = 0;
    this.waiting = []; // [text, kind]
    this.timer = 0;
  }

  clear() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.waiting = [];
    this.size = 0;
    this.pre.replaceChildren();
  }

  // `kind`: out, err, input or said (a word of the page itself).
  write(text, kind = 'out') {
    const last = this.waiting.at(-1);
    if (last && last[1] === kind && last[0].length < LOG_MAX) last[0] += text;
    else this.waiting.push([text, kind]);
    if (this.waiting.length > 1000) this.flush();
    if (!this.timer) this.timer = setTimeout(() => this.flush(), LOG_MS);
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = 0;
    const isAtEnd = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 40;
    for (const [text, kind] of this.waiting) this.put(text, kind);
    this.waiting = [];
    this.shorten();
    if (isAtEnd) this.pre.scrollTop = this.pre.scrollHeight;
  }

  put(text, kind) {
    this.size += text.length;
    const last = this.pre.lastElementChild;
    if (last && last.className === kind && last.textContent.length < 4096) last.append(text);
    else this.pre.append(make('span', { className: kind }, text));
  }

  shorten() {
    if (this.size <= LOG_MAX) return;
    while (this.size > LOG_MAX && this.pre.childElementCount > 1) {
      const first = this.pre.firstElementChild;
      this.size -= first.textContent.length;
      first.remove();
    }
    this.trimFirst();
    this.pre.prepend(make('span', { className: 'said' }, '... earlier output is left out\n'));
  }

  // One part alone may be too long.
  trimFirst() {
    const first = this.pre.firstElementChild;
    const over = this.size - LOG_MAX;
    if (over <= 0) return;
    first.textContent = first.textContent.slice(over);
    this.size -= over;
  }
}
