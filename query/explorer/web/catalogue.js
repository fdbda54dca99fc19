// The sites and products that the caller sees, as far as the page has read them.
import * as api from './api.js';
import { withWords } from './words.js';

/** catalogue has products in the order in which they were read; more: the service has others. */
export const catalogue = { sites: [], items: [], more: false };

const nameOf = new Map(); // of products, including those that are not in the list
const listed = new Set(); // ids of the products in the list
let reader = 0; // counts logins: answers to requests of an earlier one are dropped

export const siteName = (key) => catalogue.sites.find((s) => s.site === key)?.name ?? key;

/** knownName returns the name of a product as far as it has been read; null: it is not known. */
export const knownName = (id) => nameOf.get(id) ?? null;

/** itemName returns the name of a product, or if it is not known, its id. */
export const itemName = (id) => knownName(id) ?? id;

let onNamed = () => {};

/** whenNamed sets the function to call when learn has added names. */
export function whenNamed(f) { onNamed = f; }

function add(items) {
  for (const i of items) {
    if (!listed.has(i.itemId)) catalogue.items.push(i);
    listed.add(i.itemId);
    nameOf.set(i.itemId, i.name);
  }
}

/** named reads the names of those products whose names are not yet known, at most `most` of them. */
export async function named(ids, most = Infinity) {
  const mine = reader;
  await Promise.all([...new Set(ids)].filter((id) => !nameOf.has(id)).slice(0, most).map(async (itemId) => {
    const { data } = await api.page('v1/items', { itemId });
    if (mine === reader) add(data);
  }));
}

/** learn keeps the names of products from another answer. */
export function learn(products) {
  const before = nameOf.size;
  for (const { itemId, name } of products) if (!nameOf.has(itemId)) nameOf.set(itemId, name);
  if (nameOf.size > before) onNamed();
}

let sitesReading = Promise.resolve();

/** readCatalogue reads all sites and the first products. */
export function readCatalogue() {
  forget();
  const mine = reader;
  sitesReading = api.all('v1/sites', { limit: 1000 }, 10000).then(({ data }) => { if (mine === reader) catalogue.sites = data; });
  sitesReading.catch(() => {}); // a caller that waits for it, or for both lists, gets the error
  return Promise.all([sitesReading, api.all('v1/items', { limit: 1000 }, 5000).then(({ data, more }) => {
    if (mine !== reader) return;
    catalogue.more = more;
    add(data);
  })]);
}

/** sitesRead waits until the names of sites are known. */
export const sitesRead = () => sitesReading;

/** forget clears the catalogue for the next login. */
export function forget() {
  reader++;
  Object.assign(catalogue, { sites: [], items: [], more: false });
  nameOf.clear();
  listed.clear();
}

/** lookUp requests a product by EAN, PZN or itemId, and reports whether there is one; an error counts as none. */
export async function lookUp(text) {
  const params = /^\d{8,14}$/.test(text) ? [{ ean: text }, { pzn: text }, { itemId: text }] : /^\d{1,20}$/.test(text) ? [{ itemId: text }, { pzn: text }] : [];
  const mine = reader;
  for (const p of params) {
    const { data } = await api.page('v1/items', p).catch(() => ({ data: [] }));
    if (mine !== reader) return false;
    add(data);
    if (data.length) return true;
  }
  return false;
}

/** matching returns the products whose names and codes contain all words of a text. */
export function matching(text) {
  return catalogue.items.filter((i) => withWords(text, i.name, i.brand, i.manufacturer, i.ean, i.pzn, i.asin, i.itemId));
}
