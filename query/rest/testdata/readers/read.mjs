// Reads files by the readers that analysts have, and prints the rows of each on
// a line, as JSON. The argument is a list of {name, reader, file}.
import { readFileSync, rmSync } from 'node:fs';
import { tableFromIPC, Type } from 'apache-arrow';
import { DuckDBInstance } from '@duckdb/node-api';
import polars from 'nodejs-polars';

/** plain turns a value of a reader into one of JSON; whole numbers are exact. */
function plain(v) {
  if (v === null || v === undefined) return null;
  if (typeof v === 'bigint') {
    if (!Number.isSafeInteger(Number(v))) throw new Error(`${v} is no number of JSON`);
    return Number(v);
  }
  if (v instanceof Date) return v.toISOString();
  if (typeof v !== 'object') return v;
  const value = typeof v.toJSON === 'function' ? v.toJSON() : v;
  return Array.isArray(value) ? value.map(plain) : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** arrow reads by arrow-js, whose times are numbers of milliseconds. */
function arrow(file) {
  const table = tableFromIPC(readFileSync(file));
  const times = new Set(table.schema.fields.filter((f) => f.type.typeId === Type.Timestamp).map((f) => f.name));
  return table.toArray().map((row) => Object.fromEntries(Object.entries(row.toJSON()).map(([name, v]) => [name, times.has(name) && v !== null ? new Date(Number(v)).toISOString() : plain(v)])));
}

/** duckdb reads by a statement of DuckDB, which names the file. */
async function duckdb(from) {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  const out = `${process.cwd()}/duckdb.json`;
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run(`COPY (FROM ${from}) TO '${out}' (FORMAT json, ARRAY true, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%gZ')`);
  const rows = JSON.parse(readFileSync(out, 'utf8'));
  rmSync(out);
  return rows;
}

/** records gives those of a frame of Polars, which has a map as a list of its entries. */
const records = (frame) => frame.toRecords().map((row) => plain({ ...row, customerData: Object.fromEntries(row.customerData.map(({ key, value }) => [key, value])) }));

/** folder reads a folder of days by Polars, and counts rows and days. apart: each row lies in the folder of its day. */
async function folder(name) {
  const frame = await polars.scanParquet(`${name}/*/*.parquet`, { hivePartitioning: true }).select('day', 'capturedAt').collect();
  const rows = frame.toRecords().map((row) => ({ day: new Date(row.day).toISOString().slice(0, 10), at: new Date(row.capturedAt).toISOString().slice(0, 10) }));
  return [{ n: rows.length, days: new Set(rows.map((row) => row.day)).size, apart: rows.every((row) => row.day === row.at) }];
}

const read = {
  arrow,
  duckdb,
  'polars arrow': (file) => records(polars.readIPCStream(readFileSync(file))),
  'polars folder': folder,
  'polars parquet': (file) => records(polars.readParquet(file)),
};

for (const { name, reader, file } of JSON.parse(process.argv[2])) {
  console.log(JSON.stringify({ name, rows: await read[reader](file) }));
}
