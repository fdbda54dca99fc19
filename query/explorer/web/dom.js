// Elements of the page.

/** by gives the element with an id. */
export const by = (id) => document.getElementById(id);
