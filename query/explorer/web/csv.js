// Files for spreadsheets (RFC 4180).

/** cell is a value in a file for spreadsheets: what would be a formula has a ' before it. */
const cell = (v) => {
  const text = v === null || v === undefined ? '' : typeof v === 'string' && /^ *[=+\-@\t\r\n'＝＋－＠]/.test(v) ? `'${v}` : String(v);
  return v === '' || /[",;\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** csv gives rows of values as a file; a text is safe to open. */
export const csv = (rows) => rows.map((r) => `${r.map(cell).join(',')}\r\n`).join('');

/** save has the browser keep a content as a file. */
export function save(name, content) {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60e3); // it is read by then
}
