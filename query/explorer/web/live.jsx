// The view follows the feed: when something new becomes visible, the view is
// read again, and the user's focus and selection stay; a chart that is in use is
// not updated. It is read again after a while, too, because what does not come
// becomes overdue without any news. A line shows how old the view is.
import * as api from './api.js';
import { by, clear, draw, Fragment, h } from './preact.js';
import { state } from './state.js';
import { fromNow, language, t } from './texts.js';
import { show } from './zone.js';

const followed = ['overview', 'assortment', 'history', 'latest', 'sites', 'orders'];
const large = ['assortment', 'orders']; // views whose reads cover everything
const pauses = 9; // between two reads, as a multiple of how long the last one took
const least = () => Math.max(large.includes(state.view) ? 60e3 : 15e3, pauses * took); // ms between two reads of a view
const most = () => Math.max(120e3, pauses * took); // ms until a view is read again without anything new
const unnoticed = 15e3; // ms from the start of a read to the feed's token; up to this long, missed changes are accepted
const others = 5e3; // ms between two requests of the feed when only other products changed
const patience = 15e3; // ms until a feed that failed is requested again

let readAt; // when the displayed view was read; undefined: none is displayed
let took = 0; // ms that its read took
let trouble = '';

/** why returns, as text, what keeps the view from following; empty: nothing does. */
function why() {
  if (!followed.includes(state.view)) return t.notFollowed;
  if (['history', 'assortment'].includes(state.view) && !state.window.hours) return t.fixedWindow;
  if (state.view === 'history' && state.zoom) return t.pausedZoom;
  if (document.hidden) return t.pausedHidden;
  if (document.activeElement === by('chart')) return t.pausedFocus; // the keyboard moves its cursor, which must not jump
  return '';
}

function say() {
  if (!readAt) return clear('live');
  const paused = why();
  by('live').dataset.state = trouble ? 'trouble' : paused ? 'paused' : 'live';
  const ago = fromNow(Math.min(readAt - Date.now(), -1e3));
  draw(<><time datetime={new Date(readAt).toISOString()}>{t.asOf(show(readAt, state.zone, language, true), ago)}</time> · {trouble || paused || t.followsNow}</>, by('live'));
}
setInterval(say, 1000);

/** fresh records that the view was read just now; the read began at a time in ms. */
export function fresh(began) {
  readAt = Date.now();
  took = readAt - began;
  trouble = '';
  say();
}

/** stale records that no complete view is displayed. */
export function stale() {
  readAt = undefined;
  say();
}

/** follow calls again whenever something new was observed in what is requested, since the time when the read of the view began, or when the view has become old, until the signal aborts. again reads the view, and throws if that fails. */
export async function follow(signal, again, began) {
  const of = { site: state.site, itemId: state.view === 'history' || state.view === 'latest' ? (state.items.length === 1 ? state.items[0] : '') : '' };
  const mine = (row) => state.items.length < 2 || !['history', 'latest'].includes(state.view) || state.items.includes(row.itemId);
  if (!followed.includes(state.view)) return;
  const now = async () => (await api.page('ext/v1/changes', of, signal)).progress.token;
  let token;
  let news = false;
  while (!signal.aborted) {
    try {
      if (why()) {
        await api.pause(500, signal);
      } else if (news || Date.now() - readAt > most()) {
        await api.pause(Math.max(500, readAt + least() - Date.now()), signal);
        if (why()) continue;
        token = await now(); // what was missed is in the view
        const start = Date.now();
        await again();
        news = false;
        fresh(start);
      } else if (!token) {
        token = await now();
        news = Date.now() - began > unnoticed; // changes before the token are not reported
      } else {
        const { data, progress } = await api.page('ext/v1/changes', { since: token, wait: '20s', limit: 1000 }, signal);
        token = progress.token;
        news = data.some(mine) || !progress.upToDate; // far behind: the view is read again instead of the feed to its end
        if (!news && data.length) await api.pause(others, signal);
      }
    } catch (e) {
      if (signal.aborted) return;
      if (e.status === 403) { // an account that may read orders alone has no feed
        trouble = t.notFollowed;
        return say();
      }
      if (e.status === 410) {
        news = true; // the scope changed, or the tables did: read everything again
      } else {
        trouble = t.notFollowing(api.said(e));
        news = true;
        say();
        await api.pause(patience, signal).catch(() => {});
      }
    }
  }
}
