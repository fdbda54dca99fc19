// Tables as Parquet files (parquet.apache.org, format 2): one row group, one page
// for each column, plain values, no compression. What the explorer shows is small;
// rows of results come as Parquet from the service.

const bytesOf = (text) => new TextEncoder().encode(text);

/** fixed encodes numbers of 4 or 8 bytes, little-endian. */
function fixed(values, size, set) {
  const view = new DataView(new ArrayBuffer(values.length * size));
  values.forEach((v, i) => view[set](i * size, v, true));
  return new Uint8Array(view.buffer);
}

const int32 = (v) => fixed([v], 4, 'setInt32');

/** bits packs booleans, eight to a byte, the lowest bit first. */
function bits(values) {
  const all = new Uint8Array(Math.ceil(values.length / 8));
  values.forEach((v, i) => { if (v) all[i >> 3] |= 1 << (i & 7); });
  return all;
}

/** kinds has the kinds of columns: the physical type, the converted type that refines it, and how values are encoded. */
const kinds = {
  flag: { type: 0, write: bits },
  count: { type: 2, write: (values) => fixed(values.map(BigInt), 8, 'setBigInt64') },
  time: { type: 2, converted: 9, write: (values) => fixed(values.map((v) => BigInt(Date.parse(v))), 8, 'setBigInt64') }, // ms in UTC
  number: { type: 5, write: (values) => fixed(values, 8, 'setFloat64') },
  text: { type: 6, converted: 0, write: (values) => joined(values.flatMap((v) => { const text = bytesOf(v); return [int32(text.length), text]; })) },
};

function joined(parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}

// ---- Thrift's compact protocol, which encodes the headers and the footer

/** varint encodes an integer that is not negative. */
function varint(v) {
  const all = [];
  for (; v >= 128; v = Math.floor(v / 128)) all.push((v % 128) | 128);
  return Uint8Array.from([...all, v]);
}

const zigzag = (v) => varint(v * 2); // of numbers that are not negative
const i32 = (v) => [5, zigzag(v)];
const i64 = (v) => [6, zigzag(v)];
const string = (text) => { const b = bytesOf(text); return [8, joined([varint(b.length), b])]; };
const list = (of, values) => [9, joined([values.length < 15 ? [(values.length << 4) | of] : [0xf0 | of, ...varint(values.length)], ...values.map(([, bytes]) => bytes)])];

/** struct encodes fields in the order of their ids, which must increase by less than 16; undefined fields are left out. */
function struct(fields) {
  let last = 0;
  const parts = Object.entries(fields).filter(([, v]) => v).flatMap(([id, [type, bytes]]) => {
    const head = [((id - last) << 4) | type];
    last = Number(id);
    return [head, bytes];
  });
  return [12, joined([...parts, [0]])];
}

/**
 * parquet returns rows as a file. A column is {name, kind, value(row)}, its kind
 * text, number, count, time (an instant as text) or flag; any value may be
 * missing.
 */
export function parquet(columns, rows) {
  const parts = [bytesOf('PAR1')];
  let at = 4;
  const add = (bytes) => { parts.push(bytes); at += bytes.length; };
  const chunks = rows.length === 0 ? [] : columns.map(({ name, kind, value }) => {
    const begins = at;
    const values = rows.map((r) => value(r) ?? null);
    const levels = bits(values.map((v) => v !== null)); // one bit-packed run: which values are present
    const run = joined([varint(levels.length * 2 + 1), levels]);
    const page = joined([int32(run.length), run, kinds[kind].write(values.filter((v) => v !== null))]);
    const [, head] = struct({ 1: i32(0), 2: i32(page.length), 3: i32(page.length), 5: struct({ 1: i32(rows.length), 2: i32(0), 3: i32(3), 4: i32(3) }) });
    add(head);
    add(page);
    const size = i64(at - begins);
    return struct({ 2: i64(begins), 3: struct({ 1: i32(kinds[kind].type), 2: list(5, [i32(0), i32(3)]), 3: list(8, [string(name)]), 4: i32(0), 5: i64(rows.length), 6: size, 7: size, 9: i64(begins) }) });
  });
  const [, foot] = struct({
    1: i32(2),
    2: list(12, [
      struct({ 4: string('rows'), 5: i32(columns.length) }),
      ...columns.map(({ name, kind }) => struct({ 1: i32(kinds[kind].type), 3: i32(1), 4: string(name), 6: kinds[kind].converted === undefined ? undefined : i32(kinds[kind].converted) })),
    ]),
    3: i64(rows.length),
    4: list(12, chunks.length ? [struct({ 1: list(12, chunks), 2: i64(at - 4), 3: i64(rows.length) })] : []),
    6: string('preismon'),
  });
  return new Blob([...parts, foot, int32(foot.length), bytesOf('PAR1')]);
}
