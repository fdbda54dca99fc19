// Tables that the user can sort.
import { Component, h } from './preact.js';
import { remember, sortedOf } from './state.js';

/** inOrder returns rows in the order in which a table of these columns shows them. */
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
    if (x === null || x === undefined) return 1; // missing values come last in both directions
    if (y === null || y === undefined) return -1;
    return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
  });
}

/** keyed returns each row with its key; rows with the same id get different keys. */
function keyed(rows, id) {
  const count = new Map();
  return rows.map((row) => {
    const name = id(row);
    count.set(name, (count.get(name) ?? 0) + 1);
    return [`${name} ${count.get(name)}`, row];
  });
}

/**
 * Table shows rows. A column is {name, title, text(row), value(row),
 * group(row), number}: text is a string or JSX, value is the sort key, within a
 * group if there are groups. id identifies a row, whose elements are kept when
 * the row is shown again. The user can sort the table only if view is set.
 * headed: there is a heading of the same words above, so that the caption is for
 * screen readers only. most is how many rows are shown, after sorting.
 */
export class Table extends Component {
  sort(column, up) {
    sortedOf[this.props.view] = { column, up };
    remember();
    this.setState({});
  }

  render({ caption, columns, rows, id = () => '', view, headed, most }) {
    const sorted = sortedOf[view];
    const head = ({ name, title, number }) => {
      const up = sorted && sorted.column === name ? sorted.up : undefined;
      return <th scope="col" class={number && 'number'} aria-sort={sorted && { true: 'ascending', false: 'descending' }[up]}>
        {sorted ? <button type="button" class="sort" onClick={() => this.sort(name, !up)}>{title}</button> : title}
      </th>;
    };
    return <table>
      <caption class={headed && 'hidden'}>{caption}</caption>
      <thead><tr>{columns.map(head)}</tr></thead>
      <tbody>
        {keyed(inOrder(columns, rows, sorted).slice(0, most), id).map(([key, row]) => <tr key={key}>{columns.map((c) => <td class={c.number && 'number'}>{c.text(row)}</td>)}</tr>)}
      </tbody>
    </table>;
  }
}

/** Scrolled is a table in a box that scrolls, by keyboard as well; the box is labelled with the table's caption. */
export const Scrolled = ({ headed = true, ...rest }) => <div class="scroll" tabindex="0" role="region" aria-label={rest.caption}><Table {...rest} headed={headed} /></div>;
