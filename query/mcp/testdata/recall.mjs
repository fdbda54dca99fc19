// Reads addresses of the explorer as its page does, and says what it takes
// from each: node recall.mjs FOLDER '["#…"]' FILTERS
import { readFile } from 'node:fs/promises';

const [folder, addresses, filtersOfResults] = process.argv.slice(2);

const made = new Map(); // modules by name, each the same for all who import it
async function dataURL(name) {
  if (!made.has(name)) {
    let text = await readFile(`${folder}/${name}`, 'utf8');
    for (const [, other] of text.matchAll(/from '\.\/(\w+\.js)'/g)) text = text.replaceAll(`'./${other}'`, `'${await dataURL(other)}'`);
    made.set(name, `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  }
  return made.get(name);
}

const elements = new Map();
globalThis.document = {
  getElementById(id) {
    if (!elements.has(id)) elements.set(id, { value: '', children: [], dataset: { filters: filtersOfResults } });
    return elements.get(id);
  },
};

globalThis.location = { hash: '' }; // until an address is followed

let read;
const Params = URLSearchParams;
globalThis.URLSearchParams = class extends Params {
  get(name) {
    read.add(name);
    return super.get(name);
  }
};

const filters = { sites: 'sites-filter', orders: 'orders-filter' }; // fields that are not called filter, by view
const { narrowed, recall, state } = await import(await dataURL('state.js'));
console.log(JSON.stringify(JSON.parse(addresses).map((hash) => {
  read = new Set();
  globalThis.location = { hash };
  recall();
  const { view, site, items, order, window } = state;
  const field = (id) => document.getElementById(id).value;
  return {
    view, site, items: items.join(','), hours: window.hours ?? 0, from: window.from ?? 0, to: window.to ?? 0,
    zone: field('zone'), own: field('own'), filter: field(filters[view] ?? 'filter'), order, ...narrowed(), unread: [...new Params(hash.slice(1)).keys()].filter((name) => !read.has(name)),
  };
})));
