// Tables that people can sort.
import { element } from './dom.js';

/** withWords tells whether all words of a text are in some names. */
export const withWords = (text, ...names) => {
  const all = names.join(' ').toLowerCase();
  return text.trim().toLowerCase().split(/\s+/).every((word) => all.includes(word));
};

/** refill shows something else in a box; the button that has the focus keeps it. */
export function refill(box, ...content) {
  const at = [...box.querySelectorAll('button')].indexOf(document.activeElement);
  box.replaceChildren(...content);
  if (at >= 0) box.querySelectorAll('button')[at]?.focus();
}

/** inOrder gives rows as a table of these columns shows them. */
export function inOrder(columns, rows, sorted) {
  const by = sorted && columns.find((c) => c.name === sorted.column);
  if (!by) return rows;
  const { value, group = () => '' } = by;
  const sign = sorted.up ? 1 : -1;
  return rows.toSorted((a, b) => {
    const apart = (group(a) ?? '\uffff').localeCompare(group(b) ?? '\uffff');
    if (apart) return apart;
    const [x, y] = [value(a), value(b)];
    if (x === y) return 0;
    if (x === null || x === undefined) return 1; // what is missing is last both ways
    if (y === null || y === undefined) return -1;
    return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
  });
}

/**
 * table shows rows. A column is {name, title, text(row), value(row),
 * group(row), number}: text is a string or a node, value is what is sorted by
 * within a group, if there are any. Sorted keeps the
 * column's name and the direction between calls; without it nobody sorts. The
 * caption of a table below a heading of the same words is for readers of the
 * screen only. Most is how many rows are shown, of those sorted.
 */
export function table(caption, columns, rows, { sorted, again, headed, most } = {}) {
  const head = element('tr');
  for (const c of columns) {
    const th = element('th', { scope: 'col', class: c.number ? 'number' : '' });
    if (sorted) {
      const mine = sorted.column === c.name;
      if (mine) th.setAttribute('aria-sort', sorted.up ? 'ascending' : 'descending');
      const b = element('button', { type: 'button', class: 'sort' }, c.title);
      b.addEventListener('click', () => {
        sorted.up = mine ? !sorted.up : true;
        sorted.column = c.name;
        again();
      });
      th.append(b);
    } else th.append(c.title);
    head.append(th);
  }
  const body = element('tbody');
  for (const row of inOrder(columns, rows, sorted).slice(0, most)) {
    body.append(element('tr', {}, ...columns.map((c) => element('td', { class: c.number ? 'number' : '' }, c.text(row)))));
  }
  return element('table', {}, element('caption', headed ? { class: 'hidden' } : {}, caption), element('thead', {}, head), body);
}
