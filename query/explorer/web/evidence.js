// Where a point of the chart comes from: its rows, their product pages and events.
import * as api from './api.js';
import { curl } from './copy.js';
import { element } from './dom.js';
import { table } from './table.js';
import { language, money, t } from './texts.js';
import { show } from './zone.js';

/** showEvidence reads and writes the rows of one capture of an offer: {itemId, site, merchant, at}, at in seconds. */
export async function showEvidence(box, { itemId, site, merchant, at }, zone, { itemName, siteName }) {
  const read = { path: 'ext/v1/evidence', params: { itemId, site, capturedAt: new Date(Math.round(at * 1000)).toISOString(), merchant, timezone: zone } };
  const lead = `${itemName(itemId)} · ${siteName(site)} · ${show(at * 1000, zone, language, true)}`;
  const content = (...what) => box.replaceChildren(element('h2', {}, t.evidence), element('p', { class: 'lead' }, lead), ...what);
  content(t.loadingView);
  let data;
  try {
    ({ data } = await api.page(read.path, read.params));
  } catch (e) {
    return content(element('p', { class: 'notice error', role: 'alert' }, api.said(e)));
  }
  const time = (text) => (text === null ? '' : show(Date.parse(text), zone, language, true));
  content(element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.evidence }, table(t.evidence, [
    { title: t.merchant, text: (r) => r.merchant ?? t.noMerchant },
    { title: t.price, number: true, text: (r) => money(r.price, r.currencyCode) },
    { title: t.time, text: (r) => element('time', { datetime: r.capturedAt }, time(r.capturedAt)) },
    { title: t.nextDue, text: (r) => time(r.nextDueAt) },
    { title: t.productPage, text: (r) => page(r.productUrl) },
    { title: t.event, text: (r) => (r.eventId ? element('code', {}, r.eventId) : '') },
  ], data, { headed: true })), element('pre', { class: 'code', tabindex: '0' }, element('code', { 'data-kind': 'curl' }, curl(read.path, read.params, read))));
}

/** page leads to the observed page of the product, if it is an address of the web. */
function page(address) {
  if (!/^https?:\/\//.test(address ?? '')) return address ?? '';
  return element('a', { href: address, rel: 'noopener noreferrer', target: '_blank' }, new URL(address).host);
}
