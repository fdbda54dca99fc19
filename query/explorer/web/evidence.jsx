// Where a point of the chart comes from: its rows, their product pages and events.
import * as api from './api.js';
import { curl } from './copy.js';
import { by, clear, draw, Fragment, h } from './preact.js';
import { Code } from './same.jsx';
import { Scrolled } from './table.jsx';
import { language, money, t } from './texts.js';
import { show } from './zone.js';

let reading; // AbortController of the last read

/** forgetEvidence clears what is shown, and what is still being read. */
export function forgetEvidence() {
  reading?.abort();
  clear('evidence');
}

/** showEvidence reads and shows the rows of one capture of an offer: {itemId, site, merchant, at}, at in seconds. */
export async function showEvidence({ itemId, site, merchant, at }, zone, { itemName, siteName }) {
  reading?.abort();
  const { signal } = reading = new AbortController();
  const read = { path: 'ext/v1/evidence', params: { itemId, site, capturedAt: new Date(Math.round(at * 1000)).toISOString(), merchant, timezone: zone } };
  const lead = `${itemName(itemId)} · ${siteName(site)} · ${show(at * 1000, zone, language, true)}`;
  const content = (what) => draw(<><h2>{t.evidence}</h2><p class="lead">{lead}</p>{what}</>, by('evidence'));
  content(t.loadingView);
  try {
    const { data } = await api.page(read.path, read.params, signal);
    content(<Rows rows={data} read={read} zone={zone} />);
  } catch (e) {
    if (!signal.aborted) content(<p class="notice error" role="alert">{api.said(e)}</p>);
  }
}

function Rows({ rows, read, zone }) {
  const time = (text) => (text === null ? '' : show(Date.parse(text), zone, language, true));
  return <>
    <Scrolled caption={t.evidence} rows={rows} columns={[
      { title: t.merchant, text: (r) => r.merchant ?? t.noMerchant },
      { title: t.price, number: true, text: (r) => money(r.price, r.currencyCode) },
      { title: t.time, text: (r) => <time datetime={r.capturedAt}>{time(r.capturedAt)}</time> },
      { title: t.nextDue, text: (r) => time(r.nextDueAt) },
      { title: t.productPage, text: (r) => <Page address={r.productUrl} /> },
      { title: t.event, text: (r) => r.eventId && <code>{r.eventId}</code> },
    ]} />
    <Code text={curl(read.path, read.params, read)} kind="curl" />
  </>;
}

/** Page links to the observed product page, if its address is http or https. */
function Page({ address }) {
  if (!/^https?:\/\//.test(address ?? '')) return address;
  return <a href={address} rel="noopener noreferrer" target="_blank">{new URL(address).host}</a>;
}
