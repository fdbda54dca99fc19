// The stream console: lines of NDJSON as they arrive.
import { stream } from './api.js';
import { number, t } from './texts.js';

const shown = 200; // lines kept on the page

const by = (id) => document.getElementById(id);

/** Console runs one stream at a time. */
export class Console {
  #abort;

  get running() { return this.#abort !== undefined; }

  stop() { this.#abort?.abort(); }

  /** run reads a stream to its end and shows how that went. */
  async run(path, params) {
    const abort = this.#abort = new AbortController();
    const began = performance.now();
    let [rows, bytes, first, drawn] = [0, 0, undefined, false];
    let tail = [];
    const draw = () => {
      drawn = false;
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
    draw();
    try {
      await stream(path, params, abort.signal, (lines, read) => {
        first ??= performance.now() - began;
        rows += lines.length;
        bytes = read;
        tail = lines.length >= shown ? lines.slice(-shown) : tail.concat(lines).slice(-shown);
        if (!drawn) requestAnimationFrame(draw);
        drawn = true;
      });
      this.#state('complete', t.complete(number(rows)));
    } catch (e) {
      if (abort.signal.aborted) this.#state('stopped', t.stopped(number(rows)));
      else this.#state('broken', t.broken(number(rows), e.message));
    } finally {
      this.#abort = undefined;
      by('start').disabled = false;
      by('stop').disabled = true;
      draw();
    }
  }

  #state(name, text) {
    const e = by('stream-state');
    e.hidden = false;
    e.textContent = text;
    e.dataset.state = name;
    e.classList.toggle('error', name === 'broken' || name === 'stopped');
    e.classList.toggle('good', name === 'complete');
    by('start').disabled = name === 'running';
    by('stop').disabled = name !== 'running';
  }
}
