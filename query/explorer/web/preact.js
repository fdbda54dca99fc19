// Preact, which draws what is in the elements of the page. It is no part of the
// script: the server has its file beside it. Where that is missing the page says
// so, and opens once it is there.
import { by } from './dom.js';

export { by };

const patience = 1000; // ms until it is looked for again

export const { Component, Fragment, h, render } = await import('./preact.module.js').catch(missing);

/** missing says what is not there, and begins again when it is: a script that could not be loaded is not loaded again by the same page. */
async function missing() {
  by('missing').hidden = false;
  const there = () => fetch(new URL('preact.module.js', import.meta.url), { method: 'HEAD' }).then((answer) => answer.ok, () => false);
  do await new Promise((ok) => { setTimeout(ok, patience); }); while (!(await there()));
  location.reload();
  return new Promise(() => {}); // nothing of this page goes on
}

/** draw shows something in a box; what has the focus keeps it, also where its row goes to another place. */
export function draw(what, box) {
  const at = document.activeElement;
  render(what, box);
  if (at !== document.activeElement && at?.isConnected) at.focus({ preventScroll: true });
}

/** clear empties boxes. */
export const clear = (...ids) => ids.forEach((id) => render(null, by(id)));
