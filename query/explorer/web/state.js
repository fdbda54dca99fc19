// What the page requests. The address of the page records it, and the fields of the form show it.
import { amountOf } from './amount.js';
import { by } from './dom.js';
import { language, numberFormat, t } from './texts.js';
import { instant, local, zoneNamed } from './zone.js';

export const views = ['overview', 'assortment', 'history', 'latest', 'sites', 'orders', 'stream'];

const filters = { assortment: 'filter', sites: 'sites-filter', orders: 'orders-filter' }; // ids of the filter fields, by view
export const mostItems = 8;

/** mostEverything is the maximum length of a window over the whole scope, in ms. */
export const mostEverything = 168 * 3600e3;

/** filtersOf are the filters of results that the service has, by name: {name, type, values, about}. */
export const filtersOf = Object.fromEntries(JSON.parse(by('filters').dataset.filters).map((f) => [f.name, f]));

/** narrowings are the additional parameters that an address can have for each view, by their names in the API. */
const narrowings = { overview: ['since', 'ownMerchant'], assortment: ['orderId'], history: ['orderId', 'merchant', 'ownMerchant'], latest: ['orderId', ...Object.keys(filtersOf)], sites: ['orderId'], stream: Object.keys(filtersOf) };
const anyText = /^.{1,256}$/;
const formOf = ({ type, values }) => (type === 'boolean' ? /^(true|false)$/ : values ? new RegExp(`^(${values.join('|')})$`) : anyText);
const forms = { since: /^[\w:.+-]{1,64}$/, orderId: /^[1-9][0-9]*$/, ownMerchant: anyText, ...Object.fromEntries(Object.values(filtersOf).map((f) => [f.name, formOf(f)])) };

/** state has the last known zone that was typed; the window as hours up to now, or as from and to in ms; narrowed has narrowings by name; zoom is the visible part of a history, from and to in s. */
export const state = { site: '', items: [], order: '', narrowed: {}, view: 'overview', zone: 'UTC', window: { hours: 168 }, zoom: undefined };

const defaultSort = { latest: { column: 'total', up: true }, assortment: { column: 'product', up: true }, sites: { column: 'late', up: false }, orders: { column: 'name', up: true } };

/** sortedOf has the sort order of the sortable tables, by view. */
export const sortedOf = structuredClone(defaultSort);

export function windowAddress() {
  const w = state.window;
  return w.hours ? { last: `${w.hours}h` } : { from: new Date(w.from).toISOString(), to: new Date(w.to).toISOString() };
}

/** narrowed returns the narrowings that are set and apply to the current view. */
export const narrowed = () => Object.fromEntries((narrowings[state.view] ?? []).filter((name) => state.narrowed[name]).map((name) => [name, state.narrowed[name]]));

/** filtersHere returns the filters that apply to the current view. */
export const filtersHere = () => Object.values(filtersOf).filter(({ name }) => narrowings[state.view]?.includes(name));

function address() {
  const p = new URLSearchParams({ view: state.view, site: state.site, items: state.items.join(','), zone: state.zone, ...windowAddress() });
  if (by('own').value.trim()) p.set('own', plain(by('own').value));
  const sorted = sortedOf[state.view];
  if (sorted && JSON.stringify(sorted) !== JSON.stringify(defaultSort[state.view])) p.set('sort', `${sorted.up ? '' : '-'}${sorted.column}`);
  for (const [name, value] of Object.entries(narrowed())) p.set(name, value);
  if (state.view === 'orders' && state.order) p.set('order', state.order);
  const filter = filters[state.view] && by(filters[state.view]).value.trim();
  if (filter) p.set('filter', filter);
  if (state.view === 'history' && state.zoom) p.set('zoom', ['from', 'to'].map((end) => new Date(state.zoom[end] * 1e3).toISOString()).join('/'));
  return `#${p}`;
}

/** plain returns an own price as a JSON number, whatever the language; text that is no amount is only trimmed. */
export const plain = (text) => (Number.isNaN(amountOf(text, language)) ? text.trim() : String(amountOf(text, language)));

/** written returns a plain number as the page writes it. */
export const written = (text) => (text.trim() && Number(text) > 0 ? numberFormat({ minimumFractionDigits: 2, maximumFractionDigits: 20 }).format(Number(text)) : text);

let recalled = false; // the state comes from the address, in whatever form that was
let current = location.hash; // the address that was last read or written

/** remember writes the address; the previous state is one step back. It leaves an address alone that recall has not read yet, as after a click on a link. */
export function remember() {
  if (location.hash !== current) return;
  const to = address();
  if (to !== current) history[current && !recalled ? 'pushState' : 'replaceState'](null, '', to);
  current = location.hash;
  recalled = false;
}

/** amend writes the address in place of the current one, in which something does not apply. */
export function amend() {
  recalled = true;
  remember();
}

export function recall() {
  current = location.hash;
  const p = new URLSearchParams(current.slice(1));
  // it goes into commands to copy: anything that is not a key is dropped
  state.site = /^[\w.-]*$/.exec(p.get('site') ?? '')?.[0] ?? '';
  state.items = (p.get('items') ?? '').split(',').filter((id) => /^[1-9][0-9]*$/.test(id)).slice(0, mostItems);
  state.order = /^[1-9][0-9]*$/.exec(p.get('order') ?? '')?.[0] ?? '';
  state.narrowed = Object.fromEntries(Object.entries(forms).map(([name, form]) => [name, form.exec((p.get(name) ?? '').trim())?.[0] ?? '']));
  state.view = views.includes(p.get('view')) ? p.get('view') : state.items.length ? 'history' : 'overview';
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  by('zone').value = state.zone = zoneNamed(p.get('zone') ?? '') || own;
  const hours = lastOf(p);
  const ends = ['from', 'to'].map((end) => timeOf(p.get(end) ?? ''));
  state.window = hours || ends.some(Number.isNaN) ? { hours: hours || 168 } : { from: ends[0], to: ends[1] };
  const [from, to] = (p.get('zoom') ?? '').split('/').map((end) => Date.parse(end) / 1e3);
  state.zoom = from < to ? { from, to } : undefined;
  by('own').value = written(p.get('own') ?? '');
  const [, down, column] = /^(-?)(\w+)$/.exec(p.get('sort') ?? '') ?? [];
  if (sortedOf[state.view]) sortedOf[state.view] = column ? { column, up: !down } : { ...defaultSort[state.view] };
  const filter = p.get('filter') ?? '';
  for (const [view, field] of Object.entries(filters)) by(field).value = view === state.view ? filter : '';
  showWindow();
  recalled = true;
}

/** hoursOf parses a duration like 36h or 7d; 0: not a duration. */
function hoursOf(text) {
  const [, n, unit] = /^(\d{1,5})([hd])$/.exec(text ?? '') ?? [];
  return n ? n * (unit === 'd' ? 24 : 1) : 0;
}

/** lastOf returns how many hours up to now an address requests: last=7d, or from=now-7d with no end or with to=now; 0: it has another window. */
const lastOf = (p) => hoursOf(p.get('last')) || ((p.get('to') ?? 'now') === 'now' ? hoursOf(/^now-(.+)$/.exec(p.get('from') ?? '')?.[1]) : 0);

/** timeOf parses an instant, a local time in the zone, now, or a time before it like now-7d; NaN: none of them. */
function timeOf(text) {
  const ago = /^now(?:-(.+))?$/.exec(text);
  if (ago) return ago[1] && !hoursOf(ago[1]) ? NaN : Date.now() - hoursOf(ago[1]) * 3600e3;
  return momentOf(text);
}

const momentOf = (text) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? instant(text, state.zone) : Date.parse(text));

const ends = () => (state.window.hours ? { from: Date.now() - state.window.hours * 3600e3, to: Date.now() + 60e3 } : state.window);

/** showWindow writes the window as local times of the zone; changing the zone moves no instant. */
export function showWindow() {
  const w = ends();
  for (const end of ['from', 'to']) by(end).value = local(w[end], state.zone).slice(0, 16);
  for (const b of by('presets').children) b.setAttribute('aria-pressed', String(Number(b.dataset.hours) === state.window.hours));
}

/** setWindow sets the window, and clears the zoom. */
export function setWindow(window) {
  Object.assign(state, { window, zoom: undefined });
  showWindow();
}

/** typed sets the window from its fields, if both are filled in, and reports whether they are; a year of other than four digits is still being typed. */
export function typed() {
  const [from, to] = ['from', 'to'].map((end) => by(end).value);
  if ([from, to].some((text) => text < '1000' || text.length > 16)) return false; // also if one is empty
  setWindow({ from: instant(from, state.zone), to: instant(to, state.zone) });
  return true;
}

/** timeWindow returns the requested window, in ms, or its fault as text. */
export function timeWindow() {
  const { from, to } = ends();
  return by('from').value && by('to').value && from < to ? { from, to, zone: state.zone } : { fault: t.badWindow };
}

export const windowParams = (w) => ({ capturedFrom: new Date(w.from).toISOString(), capturedTo: new Date(w.to).toISOString(), timezone: w.zone });

/** linkTo returns the address of a view of this page, with the current zone. */
export const linkTo = (params) => `#${new URLSearchParams({ ...params, zone: state.zone })}`;
