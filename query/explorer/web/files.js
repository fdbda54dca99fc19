// What a view shows as files, CSV and Parquet: what the service writes as
// such, and tables as they are on show, of the lines that a filter leaves.
import * as api from './api.js';
import { csv, save } from './csv.js';
import { element } from './dom.js';
import { parquet } from './parquet.js';
import { t } from './texts.js';

const types = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' };

const made = {
  csv: (columns, rows) => new Blob([csv([columns.map((c) => c.name), ...rows.map((r) => columns.map((c) => c.value(r)))])], { type: types.csv }),
  parquet,
};

/**
 * offerFiles puts a button for each form into a box. Files gives, when one is
 * pressed, what to keep: what to read, {name, path, params}, or a table,
 * {name, columns, rows}; a column is one of parquet. What is on show is named.
 */
export function offerFiles(box, files, what) {
  const error = element('p', { class: 'notice error', role: 'alert', hidden: '' });
  const buttons = Object.entries(types).map(([form, type]) => {
    const b = element('button', { type: 'button', class: 'secondary', 'data-form': form }, form === 'csv' ? t.download : t.downloadParquet, what && element('span', { class: 'hidden' }, `: ${what}`));
    b.addEventListener('click', async () => {
      b.disabled = true;
      error.hidden = true;
      try {
        for (const { name, path, params, columns, rows } of files()) save(`${name}.${form}`, columns ? made[form](columns, rows) : await api.file(path, params, type));
      } catch (e) {
        error.hidden = false;
        error.textContent = api.said(e);
      }
      b.disabled = false;
      b.focus(); // lost by disabling
    });
    return b;
  });
  box.replaceChildren(...buttons, error);
}

/** fields are columns of a kind that have the names of the fields of a row. */
export const fields = (kind, ...names) => names.map((name) => ({ name, kind, value: (row) => row[name] }));
