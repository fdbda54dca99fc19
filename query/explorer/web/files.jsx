// What a view shows as files, CSV and Parquet: what the service writes as
// such, and tables as they are on show, of the lines that a filter leaves.
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
 * Files has a button for each form. Files gives, when one is
 * pressed, what to keep: what to read, {name, path, params}, or a table,
 * {name, columns, rows}; a column is one of parquet. What is on show is named.
 */
export const Files = ({ files, what }) => <Acts>{(failed, failure) => <>
  {Object.keys(types).map((form) => <Act class="secondary" data-form={form} act={() => keep(files(), form)} failed={failed}>
    {form === 'csv' ? t.download : t.downloadParquet}{what && <span class="hidden">: {what}</span>}
  </Act>)}
  {failure}
</>}</Acts>;

/** fields are columns of a kind that have the names of the fields of a row. */
export const fields = (kind, ...names) => names.map((name) => ({ name, kind, value: (row) => row[name] }));
