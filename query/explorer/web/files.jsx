// What a view shows as files, CSV and Parquet: either files that the service
// writes, or the tables on the page, with the lines that the filter leaves.
import { Act, Acts } from './act.jsx';
import * as api from './api.js';
import { csv, save } from './csv.js';
import { parquet } from './parquet.js';
import { Fragment, h } from './preact.js';
import { t } from './texts.js';

const types = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' };

const made = {
  csv: (columns, rows) => new Blob([csv([columns.map((c) => c.name), ...rows.map((r) => columns.map((c) => c.value(r)))])], { type: types.csv }),
  parquet,
};

async function keep(files, form) {
  for (const { name, path, params, columns, rows } of files) save(`${name}.${form}`, columns ? made[form](columns, rows) : await api.file(path, params, types[form]));
}

/**
 * Files has a button for each format. When one is pressed, files() returns what
 * to save: reads, {name, path, params}, and tables, {name, columns, rows}, with
 * columns as in parquet. what names the content for screen readers.
 */
export const Files = ({ files, what }) => <Acts>{(failed, failure) => <>
  {Object.keys(types).map((form) => <Act class="secondary" data-form={form} act={() => keep(files(), form)} failed={failed}>
    {form === 'csv' ? t.download : t.downloadParquet}{what && <span class="hidden">: {what}</span>}
  </Act>)}
  {failure}
</>}</Acts>;

/** fields returns columns of a kind, each named after the field of the row that it holds. */
export const fields = (kind, ...names) => names.map((name) => ({ name, kind, value: (row) => row[name] }));
