// Everything that is seen, a line for each product and currency, added up by
// the service over the window.
import { csv } from './csv.js';
import { table } from './table.js';
import { money, number, percent, t } from './texts.js';

/** mostProducts are read, and mostLines of them shown at once; the file has all that were read. */
export const mostProducts = 5000;
const mostLines = 300;

/** assortmentRead is the read of the view: of one site, or of all that is seen. */
export const assortmentRead = (site, window) => ({
  path: 'ext/v1/statistics', params: { by: 'product', bucket: 'whole', site, globalScope: !site, ...window, limit: 1000 },
});

/** linesOf gives a line for each product and currency; a product without a price has one. */
export function linesOf(records, itemName) {
  return records.flatMap((r) => (r.prices.length ? r.prices : [{}]).map((p) => ({
    itemId: r.itemId, name: itemName(r.itemId), sites: r.pairs, shareInStock: r.shareInStock, changes: r.changes, buyBox: r.buyBox[0],
    currencyCode: p.currencyCode ?? null, min: p.min ?? null, median: p.median ?? null, max: p.max ?? null,
  })));
}

/** matching are the lines that have all words of a text in their name, or its id. */
export function matching(lines, text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((l) => words.every((w) => l.name.toLowerCase().includes(w) || l.itemId === w));
}

/** columns are those of the table; the file has their values. */
const columns = (itemLink) => {
  const price = (name, title) => ({ name, title, number: true, text: (l) => money(l[name], l.currencyCode), value: (l) => l[name], group: (l) => l.currencyCode });
  return [
    { name: 'product', title: t.product, text: (l) => itemLink(l.itemId), value: (l) => l.name },
    { name: 'sites', title: t.sitesOf, number: true, text: (l) => number(l.sites), value: (l) => l.sites },
    price('min', t.lowest), price('median', t.median), price('max', t.highest),
    { name: 'inStock', title: t.inStock, number: true, text: (l) => (l.shareInStock === null ? t.unknown : percent(l.shareInStock)), value: (l) => l.shareInStock },
    { name: 'changes', title: t.changesOf, number: true, text: (l) => number(l.changes), value: (l) => l.changes },
    { name: 'buyBox', title: t.mostBuyBoxes, text: (l) => (l.buyBox ? `${l.buyBox.merchant ?? t.noMerchant} (${percent(l.buyBox.share)})` : ''), value: (l) => l.buyBox?.merchant },
  ];
};

/** showAssortment writes the lines in a box, and says how many there are. */
export function showAssortment(box, status, { lines, more, filter, sorted, again, itemLink }) {
  const shown = matching(lines, filter);
  status.textContent = [
    more && t.moreProducts(number(mostProducts)),
    t.linesOf(number(shown.length), number(lines.length)) + (shown.length > mostLines ? `. ${t.firstLines(number(mostLines))}` : ''),
  ].filter(Boolean).join(' ');
  box.replaceChildren(table(t.assortment, columns(itemLink), shown, { sorted, again, headed: true, most: mostLines }));
  return shown;
}

/** csvOf gives the lines as a file. */
export function csvOf(lines) {
  const head = ['itemId', 'name', 'currencyCode', 'sites', 'min', 'median', 'max', 'shareInStock', 'changes', 'buyBoxMerchant', 'buyBoxShare'];
  const rows = lines.map((l) => [l.itemId, l.name, l.currencyCode, l.sites, l.min, l.median, l.max, l.shareInStock, l.changes, l.buyBox?.merchant, l.buyBox?.share]);
  return csv([head, ...rows]);
}
