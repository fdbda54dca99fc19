// Where an own price stands among current offers, as the service's tool
// get_market_price_position tells it: by currency, in minor units, nothing
// converted. Offers are rows with a price.

/** markets groups rows with a price by country and currency. */
export function markets(rows, countryOf) {
  const by = new Map();
  for (const row of rows) {
    if (row.price === null || row.availability !== 'AVAILABLE') continue;
    const country = countryOf(row.site);
    const key = `${row.itemId} ${country} ${row.currencyCode}`;
    if (!by.has(key)) by.set(key, { itemId: row.itemId, country, currency: row.currencyCode, offers: [], references: new Map() });
    const m = by.get(key);
    m.offers.push(row);
    for (const p of row.customerReferencePrices ?? []) m.references.set(JSON.stringify(p), p);
  }
  return [...by.values()];
}

/** standing places a price, in the main unit, among the offers of a market. */
export function standing(market, price) {
  const digits = new Intl.NumberFormat('en', { style: 'currency', currency: market.currency }).resolvedOptions().maximumFractionDigits;
  const minor = (value) => Math.round(value * 10 ** digits);
  const own = minor(price);
  const all = market.offers.map((o) => o.priceMoney?.amountMinor ?? minor(o.price)).sort((a, b) => a - b);
  const median = all[Math.floor((all.length - 1) / 2)];
  const cheaper = all.filter((p) => p < own).length;
  const equal = all.filter((p) => p === own).length;
  const main = (value) => value / 10 ** digits;
  return {
    offers: all.length, cheaper, equal, dearer: all.length - cheaper - equal, rank: cheaper + 1,
    min: main(all[0]), median: main(median), max: main(all.at(-1)), percentOfMedian: ((own - median) / median) * 100,
    shipped: shipped(market, own, minor),
  };
}

/** shipped places an own price, in minor units, among the totals with shipping; offers whose shipping was not observed have none and are counted. */
function shipped(market, own, minor) {
  const totals = market.offers.map((o) => o.totalPrice ?? null).filter((total) => total !== null).map(minor);
  return { rank: totals.filter((total) => total < own).length + 1, offers: totals.length, unknown: market.offers.length - totals.length };
}
