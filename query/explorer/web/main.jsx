// The page: the form of what is requested, the views, the login.
import * as api from './api.js';
import { forgetAssortment, readAssortment, showAssortment } from './assortment.jsx';
import { catalogue, forget, itemName, lookUp, matching, named, readCatalogue, siteName, whenNamed } from './catalogue.js';
import { Console, readyStream } from './console.jsx';
import { forgetHistory, onShow, placeOwn, readHistory, showHistory, showRows, unzoom } from './history.jsx';
import { forgetLatest, readLatest } from './latest.jsx';
import { follow, fresh, stale } from './live.jsx';
import { forgetOrders, readOrders, showOrders } from './orders.jsx';
import { forgetStart, readStart } from './overview.jsx';
import { by, clear, draw, Fragment, h } from './preact.js';
import { forgetSites, readSites, showSites } from './sites.jsx';
import { filtersHere, filtersOf, mostItems, narrowed, plain, recall, remember, setWindow, showWindow, state, typed, views, written } from './state.js';
import { language, number, speak, t } from './texts.js';
import { show, zoneNamed } from './zone.js';

const listed = 60; // products in the list at most
const readers = { overview: readStart, assortment: readAssortment, history: readHistory, latest: readLatest, sites: readSites, orders: readOrders, stream: readyStream };

let reading; // AbortController of the view
const consoleView = new Console();

const wide = matchMedia('(min-width: 60.01rem)'); // on narrower pages the form folds away

// ---- choosing

const Item = ({ item: i }) => <li><label>
  <input type="checkbox" value={i.itemId} checked={state.items.includes(i.itemId)} onChange={(e) => choose(i.itemId, e.currentTarget.checked)} />
  <span><span class="product" title={i.name}>{i.name ?? i.itemId}</span><small>{[i.brand, i.ean ?? i.pzn ?? i.asin].filter(Boolean).join(' · ')}</small></span>
</label></li>;

function showItems() {
  const found = matching(by('search').value);
  draw(found.slice(0, listed).map((i) => <Item key={i.itemId} item={i} />), by('items'));
  by('found').textContent = t.found(number(found.length), number(catalogue.items.length), catalogue.more);
  return found.length;
}

/** Chip is a part of the request that can be removed. */
const Chip = ({ words, away }) => <li>
  <button type="button" aria-label={t.remove(words)} onClick={() => { away(); by('search').focus(); }}><span>{words}</span><b aria-hidden="true">×</b></button>
</li>;

/** titleOf names a narrowing; a filter without a word of its own has its name in the API. */
const titleOf = (name) => t.narrowings[name] ?? name;

/** valueOf shows the value of a narrowing. */
function valueOf(name, value) {
  if (name === 'since' && Date.parse(value)) return show(Date.parse(value), state.zone, language);
  return filtersOf[name]?.type === 'boolean' ? { true: t.yes, false: t.no }[value] : value;
}

const narrowingWords = () => Object.entries(narrowed()).map(([name, value]) => [name, `${titleOf(name)}: ${valueOf(name, value)}`]);

function narrow(name, value) {
  state.narrowed[name] = value;
  showChosen();
  refresh();
}

function showChosen() {
  draw(<>
    {state.items.map((id) => <Chip key={id} words={itemName(id)} away={() => choose(id, false)} />)}
    {narrowingWords().map(([name, words]) => <Chip key={name} words={words} away={() => narrow(name, '')} />)}
  </>, by('chosen'));
  const filters = filtersHere();
  by('filters').hidden = !filters.length;
  if (by('filter-fields').contains(document.activeElement)) return; // it may hold what is being typed
  draw(filters.map((f) => <Filter key={f.name} filter={f} />), by('filter-fields'));
}

/** Filter is the field of a filter: a choice where there are few values, otherwise a text. */
function Filter({ filter: { name, type, values, about } }) {
  const id = `filter-${name}`;
  const choices = type === 'boolean' ? ['true', 'false'] : values;
  const field = { id, value: state.narrowed[name] ?? '', onChange: (e) => narrow(name, e.currentTarget.value.trim()), 'aria-describedby': `${id}-about` };
  return <div class="field">
    <label for={id}>{titleOf(name)}</label>
    {choices ? <select {...field}><option value="">{t.any}</option>{choices.map((value) => <option value={value}>{valueOf(name, value)}</option>)}</select> : <input {...field} maxlength="256" autocomplete="off" spellcheck={false} />}
    <p class="small" id={`${id}-about`}>{about[language]}</p>
  </div>;
}

function choose(id, wanted) {
  const full = wanted && state.items.length >= mostItems;
  if (!full) state.items = [...state.items.filter((x) => x !== id), ...(wanted ? [id] : [])];
  showItems();
  if (full) {
    by('found').textContent = t.most(mostItems);
    return;
  }
  showChosen();
  if (wanted && state.view === 'overview') select('history');
  else refresh();
}

/** typeZone takes the zone that is typed as soon as it is one. */
function typeZone() {
  const zone = zoneNamed(by('zone').value);
  if (!zone) return;
  state.zone = zone;
  tellZone();
  showWindow();
  refresh();
}

/** tellZone shows whether the zone that was typed is unknown; the last known one then still applies. */
function tellZone() {
  const bad = !zoneNamed(by('zone').value);
  by('zone').setAttribute('aria-invalid', String(bad));
  by('zone-error').hidden = !bad;
  by('zone-error').textContent = bad ? t.badZone : '';
}

// ---- views

/** showTab scrolls to the chosen tab: on a phone not all fit. */
function showTab() {
  const tab = by(`tab-${state.view}`);
  const list = tab.parentElement;
  list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
}

function select(view, after = 0) {
  state.view = view;
  for (const v of views) {
    by(v).hidden = v !== view;
    by(`tab-${v}`).setAttribute('aria-selected', v === view);
    by(`tab-${v}`).tabIndex = v === view ? 0 : -1;
  }
  showChosen();
  refresh(after);
  requestAnimationFrame(showTab); // done immediately, it would force a layout here
  by('asking').open = wide.matches || (view === 'history' && !state.items.length);
}

/** showRequested shows in one line what is requested, for when the form is folded away. */
function showRequested() {
  const window = state.window.hours ? by('presets').querySelector(`[data-hours="${state.window.hours}"]`)?.textContent ?? `${state.window.hours} h` : ['from', 'to'].map((end) => by(end).value.replace('T', ' ')).join(' – ');
  by('asked').textContent = [state.site ? siteName(state.site) : t.allSites, ...state.items.map(itemName), ...narrowingWords().map(([, words]) => words), window].join(' · ');
}

let waiting;

/** refresh reads the view again, `after` ms after the last change; 0: at once. The view is busy from the change on. */
function refresh(after = 150) {
  clearTimeout(waiting);
  if (!api.loggedIn()) return;
  by(state.view).setAttribute('aria-busy', 'true');
  if (after) waiting = setTimeout(readNow, after);
  else readNow();
}

function readNow() {
  if (!api.loggedIn()) return;
  remember();
  reading?.abort();
  reading = new AbortController();
  read(state.view, reading.signal);
  showRequested();
}

/** read fills a view, which is busy until everything in it is there, and then follows the feed. It shows why the read failed, unless it was aborted. */
async function read(view, signal) {
  const failure = by(`${view}-error`);
  if (failure) failure.hidden = true;
  stale();
  const began = Date.now();
  let whole = false;
  try {
    await readers[view](signal);
    whole = true;
  } catch (e) {
    if (!signal.aborted && api.loggedIn()) {
      by(`${view}-status`).textContent = '';
      failed(failure, t.incomplete + api.said(e), () => (by('start-error').hidden ? refresh(0) : enter())); // the view may need the lists of the form
    }
  }
  if (signal.aborted) return;
  by(view).removeAttribute('aria-busy');
  if (!whole) return;
  if (view !== 'stream') fresh(began);
  await follow(signal, () => {
    if (state.window.hours) showWindow();
    return readers[view](signal, true);
  }, began);
}

/** failed shows an error, and a button to try again. */
function failed(box, words, again) {
  box.hidden = false;
  draw(<>{words} <button type="button" class="quiet" onClick={again}>{t.retry}</button></>, box);
}

// ---- in and out

async function enter() {
  by('login').hidden = true;
  by('app').hidden = by('logout').hidden = false;
  by('start-error').hidden = true;
  by('found').textContent = t.loadingLists;
  const lists = readCatalogue();
  select(state.view); // the view does not need the lists
  try {
    await lists;
    await named(state.items);
  } catch (e) {
    if (!api.loggedIn()) return;
    by('found').textContent = '';
    return failed(by('start-error'), api.said(e), enter);
  }
  const { site } = state;
  showForm();
  showRequested();
  if (state.site !== site) refresh(); // the requested site is not in the scope
}

function showForm() {
  draw(<><option value="">{t.allSites}</option>{catalogue.sites.map((s) => <option value={s.site}>{`${s.name} (${s.currencyCode})`}</option>)}</>, by('site'));
  if (catalogue.sites.length && !catalogue.sites.some((s) => s.site === state.site)) state.site = '';
  by('site').value = state.site;
  showItems();
  showChosen();
}

function leave(words = '') {
  reading?.abort();
  stale();
  consoleView.forget();
  for (const forgets of [forget, forgetStart, forgetAssortment, forgetHistory, forgetLatest, forgetSites, forgetOrders]) forgets(); // what was requested stays
  clear('site', 'items', 'chosen', 'filter-fields');
  by('app').hidden = by('logout').hidden = true;
  by('login').hidden = false;
  by('login-error').hidden = !words;
  by('login-error').textContent = words;
  by('login-name').focus();
}

function translate(to) {
  const own = plain(by('own').value);
  speak(to);
  by('own').value = written(own);
  tellZone();
  sessionStorage.setItem('preismon.language', language);
  if (!api.loggedIn()) return;
  showForm();
  refresh();
}

function listen() {
  for (const b of document.querySelectorAll('[data-language]')) b.addEventListener('click', () => translate(b.dataset.language));
  by('login-form').addEventListener('submit', async (e) => {
    e.preventDefault();
    const button = e.target.querySelector('button');
    button.disabled = true;
    by('login-error').hidden = true;
    try {
      await api.login(by('login-name').value, by('login-password').value);
      by('login-password').value = '';
      await enter();
      by('search').focus();
    } catch (error) {
      by('login-error').hidden = false;
      by('login-error').textContent = error.status === 401 || error.status === 400 ? t.wrong : api.said(error);
      by('login-password').focus();
    } finally {
      button.disabled = false;
    }
  });
  by('logout').addEventListener('click', () => {
    api.logout();
    leave();
  });
  api.whenLost(() => leave(t.lost));
  whenNamed(() => { showChosen(); showRequested(); });
  by('ask').addEventListener('submit', (e) => e.preventDefault());
  by('site').addEventListener('change', () => { state.site = by('site').value; refresh(); });
  by('search').addEventListener('input', () => { if (!showItems()) lookUp(by('search').value.trim()).then((found) => found && showItems()); });
  for (const id of ['from', 'to']) by(id).addEventListener('change', () => { if (typed()) refresh(); });
  by('zone').addEventListener('focus', () => draw(['UTC', ...(Intl.supportedValuesOf?.('timeZone') ?? [])].map((zone) => <option value={zone} />), by('zones')), { once: true }); // more than four hundred
  by('zone').addEventListener('input', typeZone);
  by('zone').addEventListener('change', () => { tellZone(); by('zone').value = zoneNamed(by('zone').value) || by('zone').value; });
  by('presets').addEventListener('click', (e) => { if (e.target.dataset.hours) { setWindow({ hours: Number(e.target.dataset.hours) }); refresh(); } });
  for (const [field, showing] of [['filter', showAssortment], ['sites-filter', showSites], ['orders-filter', showOrders]]) {
    by(field).addEventListener('input', showing);
    by(field).addEventListener('change', remember);
  }
  by('unzoom').addEventListener('click', unzoom);
  by('history-table').addEventListener('toggle', showRows);
  by('own').addEventListener('input', placeOwn);
  by('own').addEventListener('change', remember);
  addEventListener('hashchange', () => { recall(); tellZone(); if (api.loggedIn()) { showForm(); select(state.view); } });
  for (const v of views) by(`tab-${v}`).addEventListener('click', () => select(v));
  document.querySelector('[role=tablist]').addEventListener('keydown', (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const next = views[(views.indexOf(state.view) + step + views.length) % views.length];
    select(next, 150);
    by(`tab-${next}`).focus();
  });
  addEventListener('resize', showTab);
  wide.addEventListener('change', () => { if (wide.matches) by('asking').open = true; });
  by('skip').addEventListener('click', (e) => { e.preventDefault(); by('view').focus(); });
  by('start').addEventListener('click', () => consoleView.run());
  by('stop').addEventListener('click', () => consoleView.stop());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showHistory);
}

const chosenLanguage = sessionStorage.getItem('preismon.language') ?? (navigator.languages.find((l) => /^(de|en)\b/.test(l)) ?? 'en').slice(0, 2);
speak(chosenLanguage);
recall();
listen();
/** What is displayed, for tests and for inspection in the browser's console. */
globalThis.preismon = { get chart() { return onShow.chart; }, get lines() { return onShow.lines; }, get stream() { return consoleView.running; } };
if (api.loggedIn()) enter();
else leave();
