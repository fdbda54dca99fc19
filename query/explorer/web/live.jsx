// What is on show follows the feed: when something new becomes visible, the
// view is read again, and what somebody is at in it stays; a chart that is being
// read waits. A line says how old it is.
import * as api from './api.js';
import { asked, zoned } from './asked.js';
import { by, clear, draw, Fragment, h } from './preact.js';
import { fromNow, language, t } from './texts.js';
import { show } from './zone.js';

const followed = ['overview', 'history', 'latest', 'sites'];
const least = 15e3; // ms between two readings of a view
const unnoticed = 15e3; // ms from the beginning of a reading to the token of the feed, in which nothing is looked for
const patience = 15e3; // ms until a feed that failed is asked again

let readAt; // when what is on show was read
let trouble = '';

/** why tells what keeps the view from following, in words; empty: nothing does. */
function why() {
  if (!followed.includes(asked.view)) return t.notFollowed;
  if (asked.view === 'history' && !asked.window.hours) return t.fixedWindow;
  if (asked.view === 'history' && asked.zoom) return t.pausedZoom;
  if (document.hidden) return t.pausedHidden;
  if (document.activeElement === by('chart')) return t.pausedFocus; // it is read by keyboard, from where it is
  return '';
}

function say() {
  if (!readAt) return clear('live');
  const paused = why();
  by('live').dataset.state = trouble ? 'trouble' : paused ? 'paused' : 'live';
  const ago = fromNow(Math.min(readAt - Date.now(), -1e3));
  draw(<><time datetime={new Date(readAt).toISOString()}>{t.asOf(show(readAt, zoned(), language, true), ago)}</time> · {trouble || paused || t.followsNow}</>, by('live'));
}
setInterval(say, 1000);

/** fresh says that what is on show was read now. */
export function fresh() {
  readAt = Date.now();
  trouble = '';
  say();
}

/** stale says that nothing is on show. */
export function stale() {
  readAt = undefined;
  say();
}

const pause = (ms, signal) => new Promise((ok, no) => {
  signal.addEventListener('abort', () => no(signal.reason), { once: true });
  setTimeout(ok, ms);
});

/** follow calls again when there is something new of what is asked for since the view began to be read, until the signal. Again reads the view and throws where that fails. */
export async function follow(signal, again, began) {
  const of = { site: asked.site, itemId: asked.view === 'history' || asked.view === 'latest' ? (asked.items.length === 1 ? asked.items[0] : '') : '' };
  const mine = (row) => asked.items.length < 2 || !['history', 'latest'].includes(asked.view) || asked.items.includes(row.itemId);
  if (!followed.includes(asked.view)) return;
  let token;
  let news = false;
  while (!signal.aborted) {
    try {
      if (why()) {
        await pause(500, signal);
        continue;
      }
      if (!token) {
        token = (await api.page('ext/v1/changes', of, signal)).progress.token;
        news ||= Date.now() - began > unnoticed; // nobody was told what came before
        continue;
      }
      const { data, progress } = await api.page('ext/v1/changes', { since: token, wait: news ? '0s' : '20s', limit: 1000 }, signal);
      token = progress.token;
      news ||= data.some(mine);
      if (!news || !progress.upToDate) continue;
      await pause(Math.max(500, readAt + least - Date.now()), signal);
      if (why()) continue;
      news = false;
      await again();
      fresh();
    } catch (e) {
      if (signal.aborted) return;
      if (e.status === 410) {
        token = undefined; // what is seen changed, or the tables: all is read again
        news = true;
      } else {
        trouble = t.notFollowing(api.said(e));
        news = true;
        say();
        await pause(patience, signal).catch(() => {});
      }
    }
  }
}
