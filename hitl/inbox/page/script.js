// The page works without this, but for the list's buttons to approve, which would move when the page is read again. It keeps
// what is shown up to date, counts the time down, adds keys, sends a card's form without leaving the list, and holds back
// controls that have just appeared or moved. It presses none itself.
'use strict';

const page = document.body.dataset.page;
const path = document.body.dataset.path;
// What was just decided may be remembered a moment later than this page was made.
let version = location.search.includes('done=') ? NaN : Number(document.body.dataset.version);
const live = document.getElementById('live');
let watching;
let busy = false;

const many = page === 'list' || page === 'together';

if (many || page === 'question') {
  document.documentElement.classList.add('scripted');
  count();
  setInterval(count, 1000);
  watch();
}
if (many) {
  document.addEventListener('keydown', keys);
}
if (page === 'list') {
  document.getElementById('cards').addEventListener('submit', decide);
}
if (page === 'question') {
  unread();
}
document.addEventListener('click', steady, true);
document.addEventListener('submit', once);
setInterval(measure, 100);
// A page that the browser kept is older than what it shows.
window.addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });

// places has for each control that approves where it is on the page, and since when.
const places = new WeakMap();

function measure() {
  for (const control of document.querySelectorAll('.yes')) place(control);
}

// place returns since when a control is where it is; scrolling moves the page, not the control on it.
function place(control) {
  const box = control.getBoundingClientRect();
  const sticks = control.closest('.decide') !== null;
  const at = sticks ? `${box.left} ${box.width}` : `${box.left + scrollX} ${box.top + scrollY}`;
  const known = places.get(control);
  if (known?.at !== at) places.set(control, { at, since: performance.now() });
  return places.get(control).since;
}

// steady stops a click on a control that has moved, or has appeared, less than a moment ago.
function steady(event) {
  const control = event.target.closest?.('.yes');
  if (!control || performance.now() - place(control) >= 600) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  say('That button had just moved, so nothing was decided. Press it again.');
}

// once keeps a form from being sent twice; a page that stays gets its buttons back.
function once(event) {
  if (event.defaultPrevented) return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = 'yes';
  setTimeout(() => delete event.target.dataset.sent, 5000);
}

// decide sends a card's form, and leaves the list as it is.
async function decide(event) {
  event.preventDefault();
  const form = event.target;
  if (form.dataset.sent) return;
  form.dataset.sent = 'yes';
  const body = new URLSearchParams(new FormData(form, event.submitter));
  try {
    const response = await fetch(form.action, { method: 'POST', body });
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (response.ok) {
      list(fresh);
      return; // the version stays, so that what the decision brings with it is looked for
    }
    say(fresh.querySelector('.problem')?.textContent ?? 'Nothing was decided.');
  } catch {
    lost(true);
  }
  delete form.dataset.sent;
}

// unread holds back what approves until the end of what is sent was on the screen.
function unread() {
  const end = document.getElementById('end');
  const note = document.querySelector('.unread');
  const controls = [...document.querySelectorAll('.yes')];
  const hold = (is) => {
    for (const control of controls) control.disabled = is;
    if (!note) return;
    note.hidden = false; // its place stays, so that no button moves
    note.style.visibility = is ? '' : 'hidden';
  };
  if (!end || !controls.length) return;
  hold(true);
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    hold(false);
  });
  watch.observe(end);
}

// count shows the time that is left, by this page's own clock.
function count() {
  for (const left of document.querySelectorAll('[data-left]')) {
    left.end ??= performance.now() + Number(left.dataset.left);
    const seconds = Math.max(0, Math.ceil((left.end - performance.now()) / 1000));
    left.textContent = seconds < 60 ? `${seconds} s left` : `${Math.floor(seconds / 60)} min left`;
  }
}

// watch looks for changes once a second while the page can be seen.
function watch() {
  const look = async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(path + 'version');
      lost(false);
      if (response.ok && Number(await response.text()) !== version) refresh();
    } catch {
      lost(true); // the program has ended or is away
    }
  };
  document.addEventListener('visibilitychange', look);
  watching = setInterval(look, 1000);
}

async function refresh() {
  if (busy) return;
  busy = true;
  try {
    const response = await fetch(page === 'list' ? path : location.pathname + location.search);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (many && response.ok) list(fresh);
    if (page === 'question' && !response.ok) over(fresh);
    if (response.ok) version = Number(fresh.body.dataset.version);
  } catch {
    // The program has ended or is away; the next look tries again.
  } finally {
    busy = false;
  }
}

// list adds what is new below and leaves what is over in its place, so that no
// button moves under a finger.
function list(fresh) {
  const cards = document.getElementById('cards');
  const waits = new Set();
  for (const card of fresh.querySelectorAll('#cards > article')) {
    waits.add(card.id);
    if (document.getElementById(card.id)) continue;
    cards.append(document.adoptNode(card));
    say(`${card.querySelector('h3').textContent}: waits for your answer.`);
  }
  for (const card of cards.querySelectorAll('article:not(.over)')) {
    if (waits.has(card.id)) continue;
    const past = fresh.querySelector(`[data-past="${CSS.escape(card.dataset.id)}"] .what`);
    const focused = card.contains(document.activeElement);
    card.style.minHeight = `${card.getBoundingClientRect().height}px`;
    card.classList.add('over');
    const text = document.createElement('p');
    text.textContent = `${card.querySelector('h3').textContent}. ${card.dataset.tool}: ${past ? past.textContent : 'over'}.`;
    card.removeAttribute('aria-labelledby');
    card.replaceChildren(text);
    if (focused) card.focus();
    say(text.textContent);
  }
  for (const id of ['history', 'remembered', 'waiting-title', 'more']) {
    renew(document.getElementById(id), fresh.getElementById(id));
  }
  document.title = fresh.title;
  count();
}

// renew replaces a part of the page where it differs, and gives the focus to the control that sends the same as the one
// that had it: a key that is pressed meanwhile would otherwise go to the page.
function renew(part, fresh) {
  if (!part || part.isEqualNode(fresh)) return;
  const focused = part.contains(document.activeElement) ? sends(document.activeElement) : null;
  part.replaceChildren(...fresh.childNodes);
  if (focused) [...part.querySelectorAll('button')].find((button) => sends(button) === focused)?.focus({ preventScroll: true });
}

// sends returns where a button's form goes and what with.
function sends(button) {
  return button.form && `${button.form.action}?${new URLSearchParams(new FormData(button.form, button))}`;
}

// over closes the page of a question that is decided.
function over(fresh) {
  clearInterval(watching);
  for (const control of document.querySelectorAll('button, textarea, input')) control.disabled = true;
  live.textContent = fresh.querySelector('.problem')?.textContent ?? 'It is over.';
  for (const left of document.querySelectorAll('[data-left]')) left.remove();
}

// lost says over the page that what it shows may not be so any more.
function lost(away) {
  const line = document.getElementById('lost');
  if (!away) line?.remove();
  if (!away || line) return;
  const said = document.createElement('p');
  said.id = 'lost';
  said.className = 'problem';
  said.setAttribute('role', 'alert');
  said.textContent = 'The program does not answer, so what is shown here may be over.';
  document.body.append(said);
}

function say(text) {
  live.textContent = text;
}

// keys move the focus and press nothing; Enter does that.
function keys(event) {
  const typing = event.target.closest('input:not([type=checkbox]), textarea, select');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const cards = [...document.querySelectorAll('#cards > article')];
  const card = document.activeElement.closest('article');
  const at = cards.indexOf(card);
  let to = null;
  switch (event.key) {
    case 'j': to = cards[Math.min(at + 1, cards.length - 1)]; break;
    case 'k': to = cards[Math.max(at - 1, 0)]; break;
    case 'y': to = card?.querySelector('.yes, [type=checkbox]'); break;
    case 'n': to = card?.querySelector('.no'); break;
    case 'o': to = card?.querySelector('.open'); break;
  }
  if (!to) return;
  event.preventDefault();
  to.focus();
}
