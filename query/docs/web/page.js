// What the page does beyond being read: a search over its own texts, a mark on
// what is being read, and buttons that copy, where the browser lets a page copy.
// On a small screen the contents begin closed: they would stand before everything.
const by = (id) => document.getElementById(id);
const entries = [...document.querySelectorAll('#contents li li')].map((line) => {
  const link = line.querySelector('a');
  const target = by(decodeURIComponent(link.hash.slice(1)));
  return { line, link, target, text: () => `${target.id} ${target.textContent}`.toLowerCase() };
});

if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const name = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(by(button.dataset.copy).textContent);
      button.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = name; }, 2000);
    });
  }
}

// Search: the contents are then what has all the words, those with a word in their name first.
const lists = [...document.querySelectorAll('#contents > ul > li')];
let texts;
function search() {
  texts ??= entries.map((e) => e.text());
  const words = by('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  entries.forEach((e, i) => {
    e.line.hidden = !words.every((w) => texts[i].includes(w));
    const name = e.link.textContent.toLowerCase();
    e.line.style.order = words.length && !words.some((w) => name.includes(w)) ? 1 : 0;
    if (!e.line.hidden) found++;
  });
  for (const list of lists) list.hidden = words.length > 0 && !list.querySelector('li:not([hidden])');
  by('found').textContent = !words.length ? '' : found ? by('found').dataset.found.replace('{n}', found) : by('found').dataset.none;
}
by('searching').hidden = false;
by('search').addEventListener('input', search);
by('search').addEventListener('keydown', (e) => {
  if (e.key === 'Enter') document.querySelector('#contents li li:not([hidden]) a')?.click();
});
addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  e.preventDefault();
  by('contents').open = true;
  by('search').focus();
});

// The entry whose text is at the top of the window is the current one.
let current;
function mark() {
  const at = entries.findLast((e) => e.target.getBoundingClientRect().top < innerHeight / 3);
  if (at === current) return;
  current?.link.removeAttribute('aria-current');
  current = at;
  at?.link.setAttribute('aria-current', 'true');
  if (at && by('contents').open && !matchMedia('(max-width: 60rem)').matches) at.link.scrollIntoView({ block: 'nearest' });
}
let waiting = false;
addEventListener('scroll', () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; mark(); });
}, { passive: true });
if (matchMedia('(max-width: 60rem)').matches) by('contents').open = false;
mark();
