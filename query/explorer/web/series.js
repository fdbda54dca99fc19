// Converts rows of the API to what a chart draws.
//
// Three outcomes are distinguished: a price; a product that is unavailable; no
// result, which is a pair of product and site without any row. Rows whose
// availability is unknown, or that are available without a price, are none of
// these: they are unknown, or restricted, where the summary of the product says
// so. Times are in seconds.

const day = 86400;

/** outcomeOf returns the outcome that a row alone has: price, unavailable or unknown. */
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
  pairs = new Map(); // "itemId site" -> {itemId, site, interval, at: [], outcome: [], missing: [], newest, partial}; missing: whether the product was not found, newest: the rows of the last capture
  summaries = new Map(); // pair -> what learn was given about it
  lines = new Map(); // pair and merchant and currency -> {pair, merchant, currency, at, price, buyBox, prime, last}

  constructor({ partial = false } = {}) { this.partial = partial; }

  /** learn takes sites of summaries, each with the id of its product, before any of their rows. */
  learn(sites) {
    for (const s of sites) this.summaries.set(`${s.itemId} ${s.site}`, { interval: s.intervalSeconds, restricted: runs(s.restricted), notFound: runs(s.notFound) });
  }

  add(row) {
    this.rows++;
    const at = Date.parse(row.capturedAt) / 1000;
    const pairKey = `${row.itemId} ${row.site}`;
    let pair = this.pairs.get(pairKey);
    const summary = this.summaries.get(pairKey);
    if (!pair) this.pairs.set(pairKey, pair = { itemId: row.itemId, site: row.site, interval: summary?.interval, at: [], outcome: [], missing: [], newest: [], partial: this.partial });
    let outcome = outcomeOf(row);
    if (outcome === 'unknown' && within(summary?.restricted, at)) outcome = 'restricted';
    const last = pair.at.length - 1;
    if (last < 0 || pair.at[last] !== at) {
      pair.at.push(at);
      pair.outcome.push(outcome);
      pair.missing.push(outcome === 'unavailable' && within(summary?.notFound, at));
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
    const n = { price: 0, unavailable: 0, unknown: 0, restricted: 0 };
    for (const p of this.pairs.values()) for (const o of p.outcome) n[o]++;
    return n;
  }
}

/** runs returns the bounds of runs of captures, by time. */
const runs = (all = []) => ({ from: all.map((r) => Date.parse(r.from) / 1000), to: all.map((r) => Date.parse(r.to) / 1000) });

/** within reports whether a capture is of one of some runs; undefined: there are none. */
const within = (of, at) => Boolean(of) && at <= of.to[indexAt(of.from, at)];

/**
 * holds returns how long after capture i of a pair the next one is due: by the
 * schedule its interval, at least a day if the product was not found; where no
 * schedule is known three times the median interval between its captures. 0:
 * nothing is known, because there is only one capture, or others are missing.
 */
export function holds(pair, i) {
  if (pair.partial) return 0;
  if (pair.interval) return pair.missing[i] ? Math.max(pair.interval, day) : pair.interval;
  if (pair.measured?.of !== pair.at.length) {
    const apart = pair.at.slice(1).map((at, i) => at - pair.at[i]).sort((a, b) => a - b);
    pair.measured = { of: pair.at.length, hold: apart.length ? 3 * apart[(apart.length - 1) >> 1] : 0 };
  }
  return pair.measured.hold;
}

/**
 * endOf returns when capture i of a pair ceases to hold: at the next one (the
 * last one: at until), or when that was due, if it came later. By a schedule it
 * may come later by a tenth, since crawlers are not exact. until is now, or the
 * end of the window.
 */
function endOf(pair, i, until) {
  const [at, next, hold] = [pair.at[i], pair.at[i + 1], holds(pair, i)];
  const late = pair.interval ? hold / 10 : 0;
  return next <= at + hold + late ? next : Math.max(at, Math.min(next ?? until, at + hold));
}

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
 * state}. The state is an outcome as long as it holds, then overdue until the next
 * capture, if all captures are known. The time before the first capture has no
 * span.
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
    add(at, end, pair.outcome[i]);
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
