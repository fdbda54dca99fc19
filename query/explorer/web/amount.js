// Amounts as people write them.

/**
 * amountOf parses an amount above zero: 1.234,50 and 1,234.50 and 1234.5. Of two
 * separators the last one is the decimal separator; a single one that could be
 * either (1.234) is read as in the language of the page. NaN: not an amount.
 */
export function amountOf(text, language) {
  const s = text.trim().replace(/[\s\u00a0\u202f'’]/g, '').replace(/^[€$£]|[€$£]$/g, '');
  if (!/^\d[\d.,]*$/.test(s)) return NaN;
  const last = Math.max(s.lastIndexOf(','), s.lastIndexOf('.'));
  if (last < 0) return above(s);
  const mark = s[last];
  const other = mark === ',' ? '.' : ',';
  const thousands = (part, sign) => (part.includes(sign) ? new RegExp(`^\\d{1,3}(\\${sign}\\d{3})+$`).test(part) : /^\d+$/.test(part));
  const [whole, decimals] = [s.slice(0, last), s.slice(last + 1)];
  const groups = mark !== (language === 'de' ? ',' : '.') && thousands(s, mark);
  if (groups) return above(s.replaceAll(mark, ''));
  if (!/^\d+$/.test(decimals) || !thousands(whole, other)) return NaN;
  return above(`${whole.replaceAll(other, '')}.${decimals}`);
}

// The service accepts at most four decimals.
const above = (s) => (Number(s) > 0 && /^\d{1,15}(\.\d{1,4})?$/.test(Number(s)) ? Number(s) : NaN);
