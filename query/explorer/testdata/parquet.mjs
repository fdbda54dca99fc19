// Writes a table with each kind of column as Parquet, twice: with and without rows.
import { readFile } from 'node:fs/promises';

const { parquet } = await import(`data:text/javascript,${encodeURIComponent(await readFile(new URL('../web/parquet.js', import.meta.url), 'utf8'))}`);
const kinds = ['text', 'number', 'count', 'time', 'flag'];
const rows = Array.from({ length: 300 }, (_, i) => ({
  text: i % 7 ? `Löw ${'x'.repeat(i)} 🙂` : null, number: i % 3 ? i / 8 - 5 : undefined, count: i % 5 ? 2 ** 40 + i : null,
  time: i % 2 ? new Date(Date.UTC(2026, 2, 1, 0, i, 0, 250)).toISOString() : null, flag: i % 4 ? i % 8 < 4 : null,
}));
rows.push({ text: '', number: 0, count: 0, time: '2026-03-01T09:30:00.250+01:00', flag: false });
const columns = Array.from({ length: 20 }, (_, i) => ({ name: `${kinds[i % 5]}${i}`, kind: kinds[i % 5], value: (r) => r[kinds[i % 5]] })); // more than 15: lists are long
const file = async (what) => Buffer.from(await parquet(columns, what).arrayBuffer()).toString('base64');
process.stdout.write(JSON.stringify({ whole: await file(rows), empty: await file([]), rows }));
