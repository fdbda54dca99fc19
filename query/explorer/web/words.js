// Finds words in names, however they are spelt.

/** fold returns a text in small letters without accents, as the service compares names. */
const fold = (text) => text.normalize('NFKD').replace(/\p{Mn}/gu, '').toLowerCase().replaceAll('ß', 'ss');

/** plain leaves the e out that stands for an umlaut: ruehren is found as rühren. */
const plain = (folded) => folded.replace(/([aou])e/g, '$1');

/** wordsOf returns the words of a text, folded. */
export const wordsOf = (text) => fold(text).split(/\s+/).filter(Boolean);

/** inNames returns a function that reports whether names contain a folded word. */
export function inNames(...names) {
  const all = fold(names.join(' '));
  const spelt = plain(all);
  return (word) => all.includes(word) || spelt.includes(plain(word));
}

/** withWords reports whether the names contain all words of a text. */
export const withWords = (text, ...names) => wordsOf(text).every(inNames(...names));
