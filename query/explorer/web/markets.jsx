// What a product costs now in each market, its extremes in the window, and who
// held the buy box, from the service's summary of the product.
import { Fragment, h } from './preact.js';
import { Scrolled } from './table.jsx';
import { language, money, number, numberFormat, percent, t } from './texts.js';
import { formatOf } from './zone.js';

/** markets returns the records of summaries, each with its product. */
export const markets = (summaries) => summaries.flatMap(({ data, query }) => data.map((m) => ({ ...m, itemId: query.itemId })));

/** sitesOf returns the sites of summaries at which the products are monitored, each with its product. */
export const sitesOf = (summaries) => markets(summaries).flatMap((m) => m.sites.map((s) => ({ ...s, itemId: m.itemId })));

const market = (m) => `${m.country ?? ''} ${m.currencyCode}`;

const marketId = (m) => `${m.itemId} ${market(m)}`;

/** Under shows a value, and below it where or when it was observed. */
const Under = ({ value, words }) => <span>{value}<small>{words.filter(Boolean).join(' · ')}</small></span>;

const day = (date) => formatOf(language, { timeZone: 'UTC', dateStyle: 'medium' }).format(Date.parse(date));

/** Cheapest shows the cheapest current offer, shipping included; where no shipping is known, the lowest price without it, or why there is none. */
function Cheapest({ market: m, siteName }) {
  const { cheapest: best, withoutShipping, position } = m;
  const open = withoutShipping ? t.unknownOf(number(withoutShipping)) : '';
  if (best) return <Under value={money(best.totalPrice, m.currencyCode)} words={[best.merchant, siteName(best.site), open]} />;
  if (!m.offers) return t.noOffer;
  return position ? <Under value={money(position.min, m.currencyCode)} words={[t.plusShipping, open]} /> : <Under value={t.shippingUnknown} words={[open]} />;
}

/** Markets has a line for each product and market. */
export function Markets({ summaries, product, siteName }) {
  const lines = markets(summaries);
  if (!lines.length) return null;
  const extreme = (title, name) => ({ title, number: true, text: (m) => m[name] && <Under value={money(m[name].price, m.currencyCode)} words={[siteName(m[name].site), day(m[name].on)]} /> });
  const rank = (title, name, offers) => ({ title, number: true, text: (m) => (m[name] === null ? '' : t.rankOf(number(m[name]), number(offers(m)))) });
  return <>
    <h2>{t.inMarkets}</h2>
    <Scrolled caption={t.inMarkets} rows={lines} id={marketId} columns={[
      ...product(), { title: t.country, text: market },
      { title: t.cheapestShipped, number: true, text: (m) => <Cheapest market={m} siteName={siteName} /> },
      { title: t.own, number: true, text: (m) => money(m.ownPrice, m.currencyCode) },
      rank(t.rank, 'rank', (m) => m.offers), rank(t.rankShipped, 'rankWithShipping', (m) => m.offers - m.withoutShipping),
      extreme(t.lowest, 'low'), extreme(t.highest, 'high'),
    ]} />
  </>;
}

/** Positions has the prices of the current offers of each market, without shipping, and the position of the own price among them. */
export function Positions({ summaries, product }) {
  const lines = markets(summaries).filter((m) => m.position);
  if (!lines.length) return null;
  const sum = (name) => ({ title: t[name], number: true, text: (m) => money(m.position[name], m.currencyCode) });
  const count = (name) => ({ title: t[name], number: true, text: (m) => (m.position.candidate ? number(m.position.candidate[name]) : '') });
  return <>
    {!lines.some((m) => m.position.candidate) && <p class="small">{t.noReference}</p>}
    <Scrolled caption={t.positions} rows={lines} id={marketId} headed={false} columns={[
      ...product(), { title: t.country, text: market },
      { title: t.own, number: true, text: (m) => money(m.position.candidate?.price, m.currencyCode) },
      count('cheaper'), count('equal'), count('dearer'), sum('min'), sum('median'), sum('max'),
      { title: t.against, number: true, text: (m) => signedPercent(m.position.candidate?.differencePercent) },
    ]} />
  </>;
}

const signedPercent = (v) => (v === null || v === undefined ? '' : `${numberFormat({ maximumFractionDigits: 1, signDisplay: 'exceptZero' }).format(v)} %`);

/** Boxes has the holders of the buy box, with their shares of all captures at sites that have one. */
export function Boxes({ summaries, product }) {
  const lines = markets(summaries).flatMap((m) => m.buyBox.map((b) => ({ ...m, ...b })));
  if (!lines.length) return null;
  return <>
    <h2>{t.boxes}</h2>
    <p class="small">{t.boxesHint}</p>
    <Scrolled caption={t.boxes} rows={lines} id={(l) => `${marketId(l)} ${l.merchant}`} columns={[
      ...product(), { title: t.country, text: market },
      { title: t.merchant, text: (l) => (l.nobody ? <em>{t.nobody}</em> : l.merchant ?? t.noMerchant) },
      { title: t.share, number: true, text: (l) => <span class="share">{percent(l.share)}<Bar {...l} /></span> },
      { title: t.wins, number: true, text: (l) => number(l.captures) },
    ]} />
  </>;
}

/** Bar shows a share as a length; the share without a holder is hollow. */
const Bar = ({ share, nobody }) => <span aria-hidden="true"><i class={nobody && 'nobody'} style={{ width: `${share}%` }} /></span>;
