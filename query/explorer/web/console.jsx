// The stream console, which shows lines of NDJSON as they arrive.
import { loggedIn, stream } from './api.js';
import { Files } from './files.jsx';
import { by, clear, draw, h } from './preact.js';
import { Same } from './same.jsx';
import { mostEverything, narrowed, state, timeWindow, windowParams } from './state.js';
import { number, t } from './texts.js';

const shown = 200; // lines kept on the page

const path = 'v1/results/stream';

/** paramsOf returns the parameters for what is chosen; of several products, for the first. */
function paramsOf() {
  const w = timeWindow();
  if (w.fault) return w;
  const everything = !state.site && !state.items.length;
  if (everything) w.from = Math.max(w.from, w.to - mostEverything);
  return { itemId: state.items[0] ?? '', site: state.site, globalScope: everything, ...narrowed(), ...windowParams(w) };
}

/** readyStream shows how to read by other means what the console reads. */
export function readyStream() {
  const params = paramsOf();
  if (params.fault) {
    clear('stream-files');
    return draw(<p class="notice">{params.fault}</p>, by('stream-same'));
  }
  draw(<Files files={() => [{ name: 'stream', path, params: paramsOf() }]} />, by('stream-files'));
  draw(<Same reads={[{ path, params, streams: true }]} calls={[{ name: 'list_results', args: params }]} note={t.mcpPages} />, by('stream-same'));
}

/** Console runs one stream at a time. */
export class Console {
  #abort;

  get running() { return this.#abort !== undefined; }

  stop() { this.#abort?.abort(); }

  /** forget stops, and clears what is shown. */
  forget() {
    this.stop();
    by('lines').textContent = '';
    by('stream-state').hidden = true;
    for (const [id, none] of Object.entries({ 'n-rows': '0', 'n-rate': '–', 'n-first': '–', 'n-bytes': '0' })) by(id).textContent = none;
  }

  /** run reads the requested stream to its end and shows how that went. */
  async run() {
    const params = paramsOf();
    if (params.fault) return;
    const abort = this.#abort = new AbortController();
    const began = performance.now();
    let [rows, bytes, first, drawn] = [0, 0, undefined, false];
    let tail = [];
    const report = () => {
      drawn = false;
      if (!loggedIn()) return; // the next person may be someone else
      const seconds = (performance.now() - began) / 1000;
      by('n-rows').textContent = number(rows);
      by('n-bytes').textContent = number(bytes);
      by('n-rate').textContent = number(Math.round(rows / Math.max(seconds, 0.001)));
      by('n-first').textContent = first === undefined ? '–' : `${number(Math.round(first))} ms`;
      by('lines').textContent = tail.join('\n');
      by('console').scrollTop = by('console').scrollHeight;
    };
    by('lines').textContent = '';
    this.#state('running', t.running);
    report();
    try {
      await stream(path, params, abort.signal, (lines, read) => {
        first ??= performance.now() - began;
        rows += lines.length;
        bytes = read;
        tail = lines.length >= shown ? lines.slice(-shown) : tail.concat(lines).slice(-shown);
        if (!drawn) requestAnimationFrame(report);
        drawn = true;
      });
      this.#state('complete', t.complete(number(rows)));
    } catch (e) {
      if (abort.signal.aborted) this.#state('stopped', t.stopped(number(rows)));
      else this.#state('broken', t.broken(number(rows), e.message));
    } finally {
      this.#abort = undefined;
      report();
    }
  }

  #state(name, text) {
    const kind = { complete: ' good', stopped: ' error', broken: ' error' }[name] ?? '';
    Object.assign(by('stream-state'), { hidden: !loggedIn(), textContent: text, className: `notice${kind}` }).dataset.state = name;
    const [on, off] = name === 'running' ? ['stop', 'start'] : ['start', 'stop'];
    by(on).disabled = false;
    if (document.activeElement === by(off)) by(on).focus(); // disabling the button would lose the focus
    by(off).disabled = true;
  }
}
