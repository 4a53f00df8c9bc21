// The page works without this: it only keeps what is shown up to date, counts the
// time down and adds keys. It never decides anything.
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
    say(`${card.querySelector('h3').textContent} waits for your answer.`);
  }
  for (const card of cards.querySelectorAll('article:not(.over)')) {
    if (waits.has(card.id)) continue;
    const past = fresh.querySelector(`[data-past="${CSS.escape(card.dataset.id)}"] .what`);
    const focused = card.contains(document.activeElement);
    card.style.minHeight = `${card.getBoundingClientRect().height}px`;
    card.classList.add('over');
    const text = document.createElement('p');
    text.textContent = `${card.querySelector('h3').textContent}: ${past ? past.textContent : 'over'}.`;
    card.removeAttribute('aria-labelledby');
    card.replaceChildren(text);
    if (focused) card.focus();
    say(text.textContent);
  }
  for (const id of ['history', 'remembered', 'waiting-title', 'more']) {
    document.getElementById(id)?.replaceChildren(...fresh.getElementById(id).childNodes);
  }
  document.title = fresh.title;
  count();
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
