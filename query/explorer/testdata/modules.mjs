// Tests of the modules that need no page.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const load = async (name) => import(`data:text/javascript,${encodeURIComponent(await readFile(new URL(`../web/${name}`, import.meta.url), 'utf8'))}`);
const { daysOf, instant, local, zoneNamed } = await load('zone.js');
const { History, align, ends, holds, offerAt, only, outcomeOf, seenAt, spans, stands, withoutPrice } = await load('series.js');
const { amountOf } = await load('amount.js');
const { csv } = await load('csv.js');
const { withWords } = await load('words.js');

// Local times of a zone and instants, also where the clocks change.
for (const [text, zone, want] of [
  ['2026-07-01T12:00', 'Europe/Berlin', '2026-07-01T10:00:00.000Z'],
  ['2026-01-01T00:00', 'Europe/Berlin', '2025-12-31T23:00:00.000Z'],
  ['2026-01-01T00:00', 'UTC', '2026-01-01T00:00:00.000Z'],
  ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'], // does not exist: as with the offset before
  ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'], // comes twice: the first
  ['2026-10-25T03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
  ['2026-03-01T09:00', 'Asia/Kathmandu', '2026-03-01T03:15:00.000Z'],
  ['2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
]) assert.equal(new Date(instant(text, zone)).toISOString(), want, `${text} ${zone}`);
assert.equal(local(Date.parse('2026-07-01T22:00:00Z'), 'Europe/Berlin'), '2026-07-02T00:00:00');
assert.equal(local(Date.parse('0002-01-01T00:00:00Z'), 'UTC'), '0002-01-01T00:00:00');
for (const [text, want] of [['Asia/Tokyo', 'Asia/Tokyo'], ['europe/berlin', 'Europe/Berlin'], ['utc', 'UTC'], ['Nowhere/At_All', ''], ['+02:00', ''], ['', '']]) assert.equal(zoneNamed(text), want, text);

// Words are found in names, however they are spelt.
for (const [text, name, want] of [
  ['ruehrbesen', 'Rührbesen 24 cm', true], ['Rührbesen', 'RUEHRBESEN', true], ['ruhrbesen', 'Rührbesen', true], ['strasse 4', 'Straße 42', true], ['creme', 'Crème', true],
  ['ue', 'blaue', true], ['e', 'Oboe', true], ['', 'x', true], ['rühr topf', 'Rührbesen', false], ['besan', 'Besen', false],
]) assert.equal(withWords(text, name, null, undefined), want, `${text} in ${name}`);

// The outcomes stay apart.
for (const [row, want] of [
  [{ price: 1, availability: 'AVAILABLE' }, 'price'], [{ price: null, availability: 'UNAVAILABLE' }, 'unavailable'],
  [{ price: null, availability: 'AVAILABLE' }, 'unknown'], [{ price: null, availability: 'UNKNOWN' }, 'unknown'], [{ price: 5, availability: 'UNAVAILABLE' }, 'unavailable'],
]) assert.equal(outcomeOf(row), want);

// Of two offers of a capture the first of each pair stands, whichever came first.
for (const [one, other] of [
  [{ price: 9, isBuyBox: true }, { price: 1, totalPrice: 1, isBuyBox: false }],
  [{ price: 9, totalPrice: 9 }, { price: 8, totalPrice: 10 }],
  [{ price: 9, totalPrice: 9, isBuyBox: false }, { price: 1, totalPrice: null }],
  [{ price: 8, totalPrice: null }, { price: 9, totalPrice: null }],
]) assert.deepEqual([stands(one, other), stands(other, one)], [true, false]);
assert.ok(!stands({ price: 1 }, { price: 1 }));

const h = new History();
const row = (minute, site, merchant, price, more = {}) => h.add({
  itemId: '1', site, capturedAt: `2026-03-01T00:0${minute}:00.000Z`, merchant, price, currencyCode: price === null ? null : 'EUR', availability: price === null ? 'UNAVAILABLE' : 'AVAILABLE', ...more,
});
row(0, 'a', 'X', 10, { isBuyBox: true });
row(0, 'a', 'Y', 11);
row(1, 'b', 'X', 20);
row(2, 'a', 'Y', 12); // X is not among the offers
row(3, 'a', null, null); // unavailable
row(4, 'a', 'X', 9);
row(4, 'a', 'X', 8, { isPrime: true }); // a second offer of X, cheaper
assert.deepEqual(h.counts(), { price: 4, unavailable: 1, unknown: 0, restricted: 0 });
const lines = h.chosen(9);
assert.deepEqual(lines.map((l) => l.key), ['1 a EUR X', '1 a EUR Y', '1 b EUR X']);
const [times, ...columns] = align(lines);
assert.deepEqual(times.map((s) => (s / 60) % 60), [0, 1, 2, 3, 4]);
assert.deepEqual(columns, [[10, undefined, null, null, 8], [11, undefined, 12, null, null], [undefined, 20, undefined, undefined, undefined]]);

// A step ends at the next capture of its pair, whoever else was captured between; without an offer nothing is drawn to the next one.
const away = new History();
const seen = (history, minute, site, price, more = {}) => history.add({ itemId: '1', site, capturedAt: new Date(Date.UTC(2026, 2, 1, 0, minute)).toISOString(), price, currencyCode: price && 'EUR', availability: price ? 'AVAILABLE' : 'UNAVAILABLE', ...more });
const zero = Date.UTC(2026, 2, 1) / 1e3;
const steps = (line, until) => ends(line, until).map((to, i) => ({ from: line.at[i], until: to, price: line.price[i] }));
const minutes = (all) => all.map(({ from, until, ...rest }) => [(from - zero) / 60, (until - zero) / 60, ...Object.values(rest)]);
for (const [minute, site, price] of [[0, 'a', 10], [1, 'b', 7], [2, 'a', null], [3, 'b', 7], [4, 'a', null], [5, 'b', 8], [6, 'a', 11], [7, 'b', 9]]) seen(away, minute, site, price);
const [ofA] = away.chosen(2).filter((l) => l.pair.site === 'a');
assert.deepEqual(minutes(steps(ofA, zero + 480)), [[0, 2, 10], [6, 8, 11]]);
assert.deepEqual(minutes(spans(ofA.pair, zero + 480)), [[0, 2, 'price'], [2, 6, 'unavailable'], [6, 8, 'price']]);
assert.deepEqual([60, 119, 120, 300, 360].map((s) => offerAt(ofA, zero + s)), [0, 0, undefined, undefined, 1]);
assert.deepEqual(align([ofA])[1], [10, null, null, 11]);
assert.deepEqual(only(ofA, [false, true]), { at: [ofA.at[1]], price: [11] });

// It ends when a capture was due, too: where no schedule is known, after three times what mostly lies between them. Then it is overdue until the next one, or until now.
const rare = new History();
for (const [minute, price] of [[0, 10], [10, 10], [20, 12], [80, 13]]) seen(rare, minute, 'a', price);
const [late] = rare.chosen(1);
assert.equal(holds(late.pair, 0), 1800);
assert.deepEqual(minutes(spans(late.pair, zero + 7200)), [[0, 50, 'price'], [50, 80, 'overdue'], [80, 110, 'price'], [110, 120, 'overdue']]);
assert.deepEqual(minutes(steps(late, zero + 7200)), [[0, 10, 10], [10, 20, 10], [20, 50, 12], [80, 110, 13]]);
assert.deepEqual([5, 50, 51, 79, 80, 111].map((m) => seenAt(late.pair, zero + m * 60)), ['price', 'price', undefined, undefined, 'price', undefined]);
assert.deepEqual([5, 51, 80, 111].map((m) => offerAt(late, zero + m * 60)), [0, undefined, 3, undefined]);
assert.deepEqual(minutes(spans(late.pair, zero + 4860)), [[0, 50, 'price'], [50, 80, 'overdue'], [80, 81, 'price']]); // nothing of what comes

// Of one capture alone a dot is known, no step.
const once = new History();
seen(once, 3, 'a', 10);
assert.deepEqual(minutes(steps(once.chosen(1)[0], zero + 6000)), [[3, 3, 10]]);
assert.deepEqual(minutes(spans([...once.pairs.values()][0], zero + 6000)), [[3, 3, 'price'], [3, 100, 'overdue']]);

// Where captures are left out, of each one a dot is known: nothing that holds, and nothing that is overdue.
const some = new History({ partial: true });
for (const [minute, price] of [[0, 10], [10, 10], [30, null], [40, 11]]) seen(some, minute, 'a', price);
const [ofSome] = some.chosen(1);
assert.deepEqual(minutes(steps(ofSome, zero + 7200)), [[0, 0, 10], [10, 10, 10], [40, 40, 11]]);
assert.deepEqual(minutes(spans(ofSome.pair, zero + 7200)), [[0, 0, 'price'], [10, 10, 'price'], [30, 30, 'unavailable'], [40, 40, 'price']]);
assert.deepEqual([0, 5, 40, 41].map((m) => offerAt(ofSome, zero + m * 60)), [0, undefined, 2, undefined]);
assert.deepEqual(withoutPrice([ofSome.pair], zero + 7200), []);

const run = (from, to) => ({ from: new Date((zero + 60 * from) * 1e3).toISOString(), to: new Date((zero + 60 * to) * 1e3).toISOString() });

// By a schedule it ends an interval after the capture, though three times the usual distance would go on, but a capture may come late by a tenth.
const due = (site, intervalSeconds, more = {}) => ({ itemId: '1', site, intervalSeconds, restricted: [], notFound: [], ...more });
const planned = (known, captures) => {
  const p = new History();
  p.learn([known]);
  for (const [minute, price] of captures) seen(p, minute, 'a', price);
  return [...p.pairs.values()][0];
};
const often = [[0, 10], [10, 10], [21, 12], [33, 12], [44, 13]]; // the third is late by a tenth, the fourth by more
assert.deepEqual(minutes(spans(planned(due('a', 600), often), zero + 3600)), [[0, 31, 'price'], [31, 33, 'overdue'], [33, 54, 'price'], [54, 60, 'overdue']]);
assert.deepEqual(minutes(spans(planned(due('a', null), often), zero + 3600)), [[0, 60, 'price']]);
assert.deepEqual([30, 32, 43.5, 54, 55].map((m) => seenAt(planned(due('a', 600), often), zero + m * 60)), ['price', undefined, 'price', 'price', undefined]);
assert.deepEqual(minutes(spans(planned(due('a', 600), [[0, 10]]), zero + 3600)), [[0, 10, 'price'], [10, 60, 'overdue']]); // one capture holds, too
assert.deepEqual(minutes(spans(planned(due('b', 600), often), zero + 3600)), [[0, 60, 'price']]); // the schedule of another pair
// A product that was not found is due a day later, one that is unavailable is not.
const gone = [[0, null], [20, 10], [30, null], [1400, null]];
assert.deepEqual(minutes(spans(planned(due('a', 600, { notFound: [run(0, 0), run(30, 30)] }), gone), zero + 86400)),
  [[0, 20, 'unavailable'], [20, 30, 'price'], [30, 1410, 'unavailable'], [1410, 1440, 'overdue']]);
assert.deepEqual(minutes(spans(planned(due('a', 172800, { notFound: [run(0, 1400)] }), gone.slice(2)), zero + 4 * 86400)), [[30, 1400 + 2880, 'unavailable'], [4280, 5760, 'overdue']]); // a longer interval remains

// Access was restricted in the middle, too: of those captures that the service says, and only of captures without a price.
const refused = new History();
refused.learn([due('a', 600, { restricted: [run(10, 20), run(40, 40)] }), due('b', 600)]);
for (const site of ['a', 'b']) for (const [minute, price] of [[0, 10], [10, 0], [20, 0], [30, 0], [40, 12]]) seen(refused, minute, site, price || null, price === 0 ? { availability: 'UNKNOWN' } : {});
const [shut, open] = refused.pairs.values();
assert.deepEqual(minutes(spans(shut, zero + 3000)), [[0, 10, 'price'], [10, 30, 'restricted'], [30, 40, 'unknown'], [40, 50, 'price']]);
assert.deepEqual(minutes(spans(open, zero + 3000)), [[0, 10, 'price'], [10, 40, 'unknown'], [40, 50, 'price']]);
assert.deepEqual([15, 35].map((m) => seenAt(shut, zero + 60 * m)), ['restricted', 'unknown']);
assert.deepEqual(minutes(withoutPrice([shut], zero + 3000)), [[10, 30, 'restricted'], [30, 40, 'unknown']]);
assert.deepEqual(refused.counts(), { price: 4, unavailable: 0, unknown: 4, restricted: 2 });

// Unavailable, unknown and restricted stay apart, and are those of the chart where all pairs say the same.
const states = new History();
states.learn([{ itemId: '1', site: 'b', intervalSeconds: null, restricted: [run(40, 40)] }]);
for (const [minute, a, b] of [[0, 1, 1], [10, null, null], [20, null, 0], [30, 0, 0], [40, 0, 0]]) {
  for (const [site, price] of [['a', a], ['b', b]]) seen(states, minute, site, price || null, price === 0 ? { availability: 'UNKNOWN' } : {});
}
const [one, other] = states.pairs.values();
assert.deepEqual(minutes(spans(other, zero + 3000)), [[0, 10, 'price'], [10, 20, 'unavailable'], [20, 40, 'unknown'], [40, 50, 'restricted']]);
assert.deepEqual(minutes(withoutPrice([one, other], zero + 3000)), [[10, 20, 'unavailable'], [30, 40, 'unknown']]);
assert.deepEqual(minutes(withoutPrice([one], zero + 3000)), [[10, 30, 'unavailable'], [30, 50, 'unknown']]);

// No limit hides the buy box or the cheapest: of each pair they come first.
const crowd = new History();
for (let m = 0; m < 9; m++) for (let n = 0; n < (m === 0 ? 3 : 1); n++) crowd.add({ itemId: '1', site: m < 5 ? 'a' : 'b', capturedAt: `2026-03-01T0${n}:00:00.000Z`, merchant: `M${m}`, price: 20 - m, totalPrice: null, currencyCode: 'EUR', availability: 'AVAILABLE', isBuyBox: m === 2 });
assert.deepEqual(crowd.chosen(3).map((l) => l.merchant).sort(), ['M2', 'M4', 'M8']);

const shipped = new History(); // unknown shipping is not 0
for (const [merchant, price, totalPrice] of [['known', 8, 10], ['unknown', 9, null]]) shipped.add({ itemId: '1', site: 'a', capturedAt: '2026-03-01T00:00:00.000Z', merchant, price, totalPrice, currencyCode: 'EUR', availability: 'AVAILABLE' });
assert.deepEqual(shipped.chosen(1).map((l) => l.merchant), ['known']);

// Amounts as people write them.
for (const [text, language, want] of [
  ['1.234,50', 'de', 1234.5], ['1,234.50', 'en', 1234.5], ['1,234.50', 'de', 1234.5], ['1.234', 'de', 1234], ['1.234', 'en', 1.234], ['1,234', 'en', 1234], ['1,234', 'de', 1.234],
  ['9,99', 'en', 9.99], ['9.99', 'de', 9.99], ['1 234,5 €', 'de', 1234.5], ['1.234.567', 'de', 1234567], ['100', 'en', 100], ['12.3456', 'en', 12.3456],
]) assert.equal(amountOf(text, language), want, `${text} ${language}`);
for (const text of ['', 'abc', '0', '-1', '1,23,4', '1.2.3', ',5', '5,', '12.34.56,7', '12,34567', '0,00001', '0,0000001', '1234567890123456', '9'.repeat(30)]) assert.ok(Number.isNaN(amountOf(text, 'de')), text);
assert.deepEqual([lines[0].buyBox, lines[0].prime], [[true, false], [false, true]]);
assert.equal(h.chosen(1).length, 1);

// A file is safe to open in a spreadsheet, and is read back as it was.
assert.equal(csv([['a', 'b'], ['=1+1', -2], ['say "hi"', null], ["'x", 'two\nlines'], ['@x', 'Löw, weiß'], [' =1', '＝1+1'], ['a;b', ''], [' a', 'b ']]),
  'a,b\r\n\'=1+1,-2\r\n"say ""hi""",\r\n\'\'x,"two\nlines"\r\n\'@x,"Löw, weiß"\r\n\' =1,\'＝1+1\r\n"a;b",""\r\n" a","b "\r\n');

// Days by the calendar of a zone: of 23, 24 and 25 hours, and none twice.
for (const [zone, from, to, n] of [
  ['Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-26T23:00:00Z', 2], ['Europe/Berlin', '2026-10-24T21:59:00Z', '2026-10-26T23:00:01Z', 4],
  ['Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', 1], ['Asia/Tokyo', '2026-10-24T22:00:00Z', '2026-10-26T23:00:00Z', 3],
]) assert.equal(new Set(daysOf({ from: Date.parse(from), to: Date.parse(to), zone })).size, n, `${zone} ${from}`);
assert.deepEqual(daysOf({ from: Date.parse('2026-10-24T22:00:00Z'), to: Date.parse('2026-10-26T23:00:00Z'), zone: 'Europe/Berlin' }), ['2026-10-25', '2026-10-26']);
