// Converts rows of the API to what a chart draws.
//
// Three outcomes are distinguished: a price; a product that is unavailable; no
// result, which is a pair of product and site without any row. Rows whose
// availability is unknown, or that are available without a price, are none of
// these: they are unknown.

/** outcomeOf returns the outcome of a row: price, unavailable or unknown. */
export function outcomeOf(row) {
  if (row.price !== null && row.availability === 'AVAILABLE') return 'price';
  return row.availability === 'UNAVAILABLE' ? 'unavailable' : 'unknown';
}

/**
 * stands reports whether a row, rather than another one of the same capture and
 * currency, represents both, as in the service: the buy box, then the lowest
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

/** History collects rows, which must be added in the order of their times. partial: the pairs have other captures, too, which it does not get. */
export class History {
  rows = 0;
  pairs = new Map(); // "itemId site" -> {itemId, site, at: [], outcome: [], newest, partial}, newest the rows of its last capture
  lines = new Map(); // pair and merchant and currency -> {pair, merchant, currency, at, price, buyBox, prime, last}

  constructor({ partial = false } = {}) { this.partial = partial; }

  add(row) {
    this.rows++;
    const at = Date.parse(row.capturedAt) / 1000;
    const pairKey = `${row.itemId} ${row.site}`;
    let pair = this.pairs.get(pairKey);
    if (!pair) this.pairs.set(pairKey, pair = { itemId: row.itemId, site: row.site, at: [], outcome: [], newest: [], partial: this.partial });
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
    if (n >= 0 && line.at[n] === at) { // a second offer of the merchant: one represents both
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
   * chosen returns the lines to draw, at most `most`. It takes one offer of each
   * pair and currency in each round: first the one that last had the buy box,
   * then the cheapest by its newest price, those with unknown shipping after
   * those with a known total. So the limit hides neither the buy box nor the
   * cheapest offers. The result is in a stable order, most points first.
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

  /** counts returns how many captures had which outcome. */
  counts() {
    const n = { price: 0, unavailable: 0, unknown: 0 };
    for (const p of this.pairs.values()) for (const o of p.outcome) n[o]++;
    return n;
  }
}

/**
 * holds returns how long a capture of a pair is assumed to hold, in seconds:
 * three times the median interval between its captures, since the rows have no
 * schedule. 0: nothing is known, because there is only one capture, or others are
 * missing.
 */
export function holds(pair) {
  if (pair.partial) return 0;
  if (pair.measured?.of !== pair.at.length) {
    const apart = pair.at.slice(1).map((at, i) => at - pair.at[i]).sort((a, b) => a - b);
    pair.measured = { of: pair.at.length, hold: apart.length ? 3 * apart[(apart.length - 1) >> 1] : 0 };
  }
  return pair.measured.hold;
}

/** endOf returns when a capture of a pair ceases to hold: at the next one (the last one: at until), or when one was due, if that is earlier; until is now, or the end of the window. */
const endOf = (pair, i, until) => Math.max(pair.at[i], Math.min(pair.at[i + 1] ?? until, pair.at[i] + holds(pair)));

/** indexAt returns the index of the newest of ascending times that is not after a time; -1: none. */
export function indexAt(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** seenAt returns the outcome that holds at a time; undefined: none does. */
export function seenAt(pair, time) {
  const i = indexAt(pair.at, time);
  return i >= 0 && time <= endOf(pair, i, Infinity) ? pair.outcome[i] : undefined;
}

/** offerAt returns the index of the capture of an offer that holds at a time; undefined: none does. */
export function offerAt(line, time) {
  const k = indexAt(line.at, time);
  return k >= 0 && line.at[k] === line.pair.at[indexAt(line.pair.at, time)] && seenAt(line.pair, time) !== undefined ? k : undefined;
}

/**
 * spans returns the states of a pair, in order and without overlap: {from, until,
 * state}. The state is an outcome as long as it holds (restricted, if the newest
 * capture is marked so), then overdue until the next capture, if all captures are
 * known. The time before the first capture has no span.
 */
export function spans(pair, until) {
  const all = [];
  const add = (from, to, state) => {
    const last = all.at(-1);
    if (last && last.state === state && last.until === from) last.until = to;
    else all.push({ from, until: to, state });
  };
  pair.at.forEach((at, i) => {
    const [end, next] = [endOf(pair, i, until), Math.max(pair.at[i + 1] ?? until, at)];
    add(at, end, i === pair.at.length - 1 && pair.restricted ? 'restricted' : pair.outcome[i]);
    if (next > end && !pair.partial) add(end, next, 'overdue');
  });
  return all;
}

/** withoutPrice returns the spans in which all pairs have the same state, other than a price. */
export function withoutPrice(pairs, until) {
  const [first = [], ...others] = pairs.map((p) => spans(p, until).filter((s) => s.state !== 'price' && s.until > s.from));
  return others.reduce((common, one) => {
    const both = [];
    for (let i = 0, j = 0; i < common.length && j < one.length;) {
      const [a, b] = [common[i], one[j]];
      const [from, to] = [Math.max(a.from, b.from), Math.min(a.until, b.until)];
      if (from < to && a.state === b.state) both.push({ from, until: to, state: a.state });
      if (a.until <= b.until) i++;
      else j++;
    }
    return both;
  }, first);
}

/** ends returns until when each capture of an offer may be drawn: it reaches the next one only if that is from the pair's next capture. */
export function ends(line, until) {
  let i = -1;
  return line.at.map((at) => endOf(line.pair, i = line.pair.at.indexOf(at, i + 1), until));
}

/** only returns the times and prices of the captures of an offer that are flagged. */
export const only = ({ at, price }, flags) => ({ at: at.filter((_, i) => flags[i]), price: price.filter((_, i) => flags[i]) });

/** align puts lines on one time axis, in seconds: [times, ...prices]. A missing price is null at a capture of the pair without this offer, and otherwise undefined. */
export function align(lines) {
  const pairs = new Set(lines.map((l) => l.pair));
  const times = Float64Array.from(new Set([...pairs].flatMap((p) => p.at))).sort();
  const index = new Map();
  times.forEach((t, i) => index.set(t, i));
  const columns = lines.map((line) => {
    const column = new Array(times.length).fill(undefined);
    for (const at of line.pair.at) column[index.get(at)] = null;
    line.at.forEach((at, n) => { column[index.get(at)] = line.price[n]; });
    return column;
  });
  return [Array.from(times), ...columns];
}
