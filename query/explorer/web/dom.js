// Elements of the page.

/** by returns the element with an id. */
export const by = (id) => document.getElementById(id);
