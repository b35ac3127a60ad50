// tabs.js: tabs as WAI-ARIA wants them: arrows move, Enter or Space opens, one is in Tab's order.
'use strict';

const TAB_STEPS = { ArrowRight: 1, ArrowLeft: -1 };

class Tabs {
  // onOpen(name) runs when a pane is opened or opened again; names are those of ids: tab-NAME.
  constructor(list, onOpen) {
    this.tabs = [...list.querySelectorAll('[role="tab"]')];
    this.onOpen = onOpen;
    this.open = null;
    list.addEventListener('keydown', (event) => this.key(event));
    for (const tab of this.tabs) {
      tab.addEventListener('click', () => this.show(this.nameOf(tab)));
    }
    this.select(this.nameOf(this.tabs[0]));
  }

  nameOf(tab) { return tab.id.slice('tab-'.length); }
  get shown() { return this.tabs.filter((tab) => !tab.hidden); }
  has(name) { return this.shown.some((tab) => this.nameOf(tab) === name); }

  // Without onOpen.
  select(name) {
    this.open = name;
    for (const tab of this.tabs) {
      const isOpen = this.nameOf(tab) === name;
      tab.setAttribute('aria-selected', String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      byId(tab.getAttribute('aria-controls')).hidden = !isOpen;
      if (isOpen) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  }

  // Where parts stand below each other, the pane comes into view.
  show(name) {
    this.select(name);
    byId('results').scrollIntoView({ block: 'nearest' });
    this.onOpen(name);
  }

  focus() { byId(`tab-${this.open}`).focus(); }

  key(event) {
    const { shown } = this, at = shown.indexOf(document.activeElement);
    const target = event.key === 'Home' ? 0 : event.key === 'End' ? shown.length - 1 :
      TAB_STEPS[event.key] ? (at + TAB_STEPS[event.key] + shown.length) % shown.length : -1;
    if (at < 0 || target < 0) return;
    event.preventDefault();
    shown[target].focus();
  }
}
