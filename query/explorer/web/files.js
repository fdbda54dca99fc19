// What a view shows as files that the service writes: CSV and Parquet of its rows.
import * as api from './api.js';
import { save } from './csv.js';
import { element } from './dom.js';
import { t } from './texts.js';

const forms = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' };

/** offerFiles puts a button for each form into a box. Reads gives, when one is pressed, what to read: {name, params} of results, each a file. */
export function offerFiles(box, reads) {
  const error = element('p', { class: 'notice error', role: 'alert', hidden: '' });
  const buttons = Object.entries(forms).map(([form, type]) => {
    const b = element('button', { type: 'button', class: 'secondary', 'data-form': form }, form === 'csv' ? t.download : t.downloadParquet);
    b.addEventListener('click', async () => {
      b.disabled = true;
      error.hidden = true;
      try {
        for (const { name, params } of reads()) save(`${name}.${form}`, await api.file('v1/results/stream', params, type));
      } catch (e) {
        error.hidden = false;
        error.textContent = api.said(e);
      }
      b.disabled = false;
    });
    return b;
  });
  box.replaceChildren(...buttons, error);
}
