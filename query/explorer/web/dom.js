// Elements of the page.

/** by gives the element with an id. */
export const by = (id) => document.getElementById(id);

/** element makes one, with text or children. */
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (k === 'class') e.className = v;
    else if (v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null));
  return e;
}
