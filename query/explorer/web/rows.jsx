// Rows of the service as lines of a table.
import { itemName, siteName } from './catalogue.js';
import { h } from './preact.js';
import { outcomeOf } from './series.js';
import { state } from './state.js';
import { language, money, t } from './texts.js';
import { show } from './zone.js';

/** Badge shows an outcome; none: there is no row; restricted: the site refused access. */
export const Badge = ({ outcome }) => <span class={`badge ${outcome}`}>{t[{ none: 'noResult', restricted: 'accessRestricted' }[outcome] ?? outcome]}</span>;

/** Product shows the name of a product, cut to three lines. */
export const Product = ({ id }) => <span class="product" title={itemName(id)}>{itemName(id)}</span>;

/** offerId returns the key of a row among the newest of its pair. */
export const offerId = (r) => `${r.itemId} ${r.site} ${r.merchant}`;

/** total returns the price with shipping, or that the shipping is unknown. */
const total = (r) => (r.totalPrice === null && r.price !== null ? t.shippingUnknown : money(r.totalPrice, r.currencyCode));

const flag = (v) => (v === undefined ? '' : v ? t.yes : t.no);

/** columns returns the columns of rows, with the prices early, where a phone shows them; the site only where there can be several. */
export function columns(zone) {
  return [
    { name: 'product', title: t.product, text: (r) => <Product id={r.itemId} />, value: (r) => itemName(r.itemId) },
    { name: 'price', title: t.price, number: true, text: (r) => money(r.price, r.currencyCode), value: (r) => r.price, group: (r) => r.currencyCode },
    { name: 'total', title: t.total, number: true, text: total, value: (r) => r.totalPrice, group: (r) => r.currencyCode },
    { name: 'merchant', title: t.merchant, text: (r) => r.merchant ?? '', value: (r) => r.merchant },
    { name: 'site', title: t.site, text: (r) => siteName(r.site), value: (r) => siteName(r.site) },
    { name: 'outcome', title: t.outcome, text: (r) => <Badge outcome={outcomeOf(r)} />, value: (r) => outcomeOf(r) },
    { name: 'buyBox', title: t.buyBox, text: (r) => flag(r.isBuyBox), value: (r) => r.isBuyBox === undefined ? null : Number(r.isBuyBox) },
    { name: 'prime', title: t.prime, text: (r) => flag(r.isPrime), value: (r) => r.isPrime === undefined ? null : Number(r.isPrime) },
    { name: 'time', title: t.time, text: (r) => show(Date.parse(r.capturedAt), zone, language), value: (r) => Date.parse(r.capturedAt) },
  ].filter((c) => !state.site || c.name !== 'site');
}
