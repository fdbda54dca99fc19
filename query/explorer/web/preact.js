// Preact, which renders into the elements of the page. It is not bundled into the
// script: the server has it as a separate file. While that is missing the page
// shows so, and opens as soon as the file is there.
import { by } from './dom.js';

export { by };

const patience = 1000; // ms between two attempts to find it

export const { Component, Fragment, h, render } = await import('./preact.module.js').catch(missing);

/** missing shows that Preact is missing, and reloads the page when it is there, since a page does not load a module again that failed to load. */
async function missing() {
  by('missing').hidden = false;
  const there = () => fetch(new URL('preact.module.js', import.meta.url), { method: 'HEAD' }).then((answer) => answer.ok, () => false);
  do await new Promise((ok) => { setTimeout(ok, patience); }); while (!(await there()));
  location.reload();
  return new Promise(() => {}); // nothing on this page continues
}

/** draw renders something into a box; the element with the focus keeps it, even when its row moves. */
export function draw(what, box) {
  const at = document.activeElement;
  render(what, box);
  if (at !== document.activeElement && at?.isConnected) at.focus({ preventScroll: true });
}

/** clear empties boxes. */
export const clear = (...ids) => ids.forEach((id) => render(null, by(id)));
