// From rows of the API to what a chart draws.
//
// Three outcomes are kept apart: a price; a product that is unavailable; no
// result, which is a pair of product and site without any row. Rows whose
// availability is unknown, or that are available without a price, are neither.

/** outcomeOf tells what a row says: price, unavailable or unknown. */
export function outcomeOf(row) {
  if (row.price !== null && row.availability === 'AVAILABLE') return 'price';
  return row.availability === 'UNAVAILABLE' ? 'unavailable' : 'unknown';
}

/** dayState tells what a day was, of its record of the statistics: in stock, partly, out of stock, unknown, or none, of which nothing is known. */
export function dayState(record) {
  if (!record) return 'none';
  const { inStock, outOfStock, unknown } = record.seconds;
  if (outOfStock > 0) return inStock > 0 ? 'part' : 'out';
  return inStock > 0 ? 'in' : unknown > 0 ? 'unknown' : 'none';
}

/**
 * stands tells whether a row, not another of the same capture and currency, is
 * the one that stands for it, as in the service: the buy box, then the lowest
 * total price, where one is known, then the lowest price, then the first.
 */
export function stands(row, other) {
  if (Boolean(row.isBuyBox) !== Boolean(other.isBuyBox)) return Boolean(row.isBuyBox);
  for (const field of ['totalPrice', 'price']) {
    const [a, b] = [row, other].map((r) => r[field] ?? Infinity);
    if (a !== b) return a < b;
  }
  return false;
}

/** History collects rows in the order of their time. */
export class History {
  rows = 0;
  pairs = new Map(); // "itemId site" -> {itemId, site, at: [], outcome: [], newest}, newest the rows of its last capture
  lines = new Map(); // pair and merchant and currency -> {pair, merchant, currency, at, price, buyBox, prime, last}

  add(row) {
    this.rows++;
    const at = Date.parse(row.capturedAt) / 1000;
    const pairKey = `${row.itemId} ${row.site}`;
    let pair = this.pairs.get(pairKey);
    if (!pair) this.pairs.set(pairKey, pair = { itemId: row.itemId, site: row.site, at: [], outcome: [], newest: [] });
    const outcome = outcomeOf(row);
    const last = pair.at.length - 1;
    if (last < 0 || pair.at[last] !== at) {
      pair.at.push(at);
      pair.outcome.push(outcome);
      pair.newest = [];
    } else if (outcome === 'price') pair.outcome[last] = outcome;
    pair.newest.push(row);
    if (outcome !== 'price') return;
    const key = `${pairKey} ${row.currencyCode} ${row.merchant ?? ''}`;
    let line = this.lines.get(key);
    if (!line) this.lines.set(key, line = { key, pair, merchant: row.merchant, currency: row.currencyCode, at: [], price: [], buyBox: [], prime: [] });
    const n = line.at.length - 1;
    if (n >= 0 && line.at[n] === at) { // a second offer of the merchant: one stands for both
      if (!stands(row, line.last)) return;
      line.price[n] = row.price;
      line.buyBox[n] = row.isBuyBox === true;
      line.prime[n] = row.isPrime === true;
      line.last = row;
      return;
    }
    line.last = row;
    line.at.push(at);
    line.price.push(row.price);
    line.buyBox.push(row.isBuyBox === true);
    line.prime.push(row.isPrime === true);
  }

  /**
   * chosen gives the lines to draw: of each pair and currency in turn the offer
   * that had the buy box last, then the cheapest by its newest price, one with
   * unknown shipping behind those with a known total, so that no limit hides
   * them; those with the most points first, in a stable order.
   */
  chosen(most) {
    const groups = new Map();
    for (const l of this.lines.values()) {
      const key = `${l.pair.itemId} ${l.pair.site} ${l.currency}`;
      groups.set(key, [...(groups.get(key) ?? []), l]);
    }
    const boxAt = (l) => l.at[l.buyBox.lastIndexOf(true)];
    const open = (l) => (l.last.totalPrice ?? null) === null;
    const cost = (l) => l.last.totalPrice ?? l.last.price;
    const ranked = [...groups.values()].map((group) => {
      const [box] = group.filter((l) => l.buyBox.includes(true)).sort((a, b) => boxAt(b) - boxAt(a));
      return group.toSorted((a, b) => (b === box) - (a === box) || open(a) - open(b) || cost(a) - cost(b) || (a.key < b.key ? -1 : 1));
    });
    const kept = [];
    for (let turn = 0; kept.length < Math.min(most, this.lines.size); turn++) {
      kept.push(...ranked.filter((group) => group.length > turn).map((group) => group[turn]).slice(0, most - kept.length));
    }
    return kept.sort((a, b) => b.at.length - a.at.length || (a.key < b.key ? -1 : 1));
  }

  /** counts gives how many captures had which outcome. */
  counts() {
    const n = { price: 0, unavailable: 0, unknown: 0 };
    for (const p of this.pairs.values()) for (const o of p.outcome) n[o]++;
    return n;
  }
}

/** hold is how long what was seen is taken to hold, in seconds, as the statistics of the service do. */
export const hold = 86400;

/** ends gives the times at which what was seen no longer holds, because the next capture came later. */
const ends = (pair) => pair.at.filter((at, i) => pair.at[i + 1] - at > hold).map((at) => at + hold);

/** seenAt gives the outcome of the newest capture of a pair at a time; undefined: nothing holds then. */
export function seenAt(pair, time) {
  const i = pair.at.findLastIndex((at) => at <= time);
  return i >= 0 && time - pair.at[i] <= hold ? pair.outcome[i] : undefined;
}

/**
 * align puts lines on one axis of times, in seconds: [times, ...prices]. From
 * a capture of the pair without this offer to the next with it there is null,
 * which breaks the line, also where others were captured between; so there is
 * where nothing holds. A time at which only others were captured is else
 * undefined, which does not break it.
 */
export function align(lines) {
  const pairs = new Set(lines.map((l) => l.pair));
  const times = Float64Array.from(new Set([...pairs].flatMap((p) => [...p.at, ...ends(p)]))).sort();
  const index = new Map();
  times.forEach((t, i) => index.set(t, i));
  const places = new Map([...pairs].map((p) => [p, p.at.map((t) => index.get(t))]));
  const columns = lines.map((line) => {
    const column = new Array(times.length).fill(undefined);
    for (const i of places.get(line.pair)) column[i] = null;
    for (const at of ends(line.pair)) column[index.get(at)] = null;
    line.index = line.at.map((t) => index.get(t));
    line.index.forEach((i, n) => { column[i] = line.price[n]; });
    for (let i = 1; i < column.length; i++) if (column[i] === undefined && column[i - 1] === null) column[i] = null;
    return column;
  });
  return [Array.from(times), ...columns];
}
