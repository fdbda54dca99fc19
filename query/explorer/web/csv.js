// Files for spreadsheets (RFC 4180).

/** cell returns a value as a cell of CSV; text that a spreadsheet could take for a formula gets a ' before it. */
const cell = (v) => {
  const text = v === null || v === undefined ? '' : typeof v === 'string' && /^ *[=+\-@\t\r\n'＝＋－＠]/.test(v) ? `'${v}` : String(v);
  return v === '' || /[",;\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** csv returns rows of values as the text of a file that is safe to open in a spreadsheet. */
export const csv = (rows) => rows.map((r) => `${r.map(cell).join(',')}\r\n`).join('');

/** save has the browser download content as a file. */
export function save(name, content) {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60e3); // the browser has read it by then
}
