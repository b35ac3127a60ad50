// divider.js: the line between script and results, moved by the pointer or the arrow keys.
'use strict';

const SHARE_KEY = 'cuttle.share';
const SHARE_LIMITS = [20, 80]; // percent of the window that the script may have
const SHARE_STEP = 5;

function setShare(share) {
  const [least, most] = SHARE_LIMITS;
  const now = Math.round(Math.min(most, Math.max(least, share)));
  const { style } = byId('divider').parentElement;
  style.setProperty('--left', `${now}fr`);
  style.setProperty('--right', `${100 - now}fr`);
  byId('divider').setAttribute('aria-valuenow', String(now));
  kept.set(SHARE_KEY, String(now));
  return now;
}

// `onMove` runs after a change.
function addDivider(onMove) {
  const divider = byId('divider');
  let share = setShare(Number(kept.get(SHARE_KEY)) || 50);
  const move = (to) => {
    share = setShare(to);
    onMove();
  };
  divider.addEventListener('pointerdown', (event) => divider.setPointerCapture(event.pointerId));
  divider.addEventListener('pointermove', (event) => {
    if (divider.hasPointerCapture(event.pointerId)) move(event.clientX / innerWidth * 100);
  });
  divider.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -SHARE_STEP, ArrowRight: SHARE_STEP }[event.key];
    if (!step) return;
    event.preventDefault();
    move(share + step);
  });
}
