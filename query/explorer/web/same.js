// Commands that give what a view shows, to be copied.
import { cli, curl, tool } from './copy.js';
import { serviceURL } from './api.js';
import { element } from './dom.js';
import { t } from './texts.js';

/** same shows the commands for reads of REST, and for this program where a read has one as cli, and calls of tools in a box; the note says what the tools do otherwise, or that none does it. */
export function same(box, reads, calls, note) {
  const login = `export PREISMON_TOKEN=$(curl -sS --fail-with-body ${serviceURL('v1/auth/token').href} \\\n  -H 'Content-Type: application/json' -d '{"loginIdentifier":"…","password":"…"}' | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`;
  const commands = reads.map((r) => r.cli ?? cli(r.path, r.params)).filter(Boolean);
  box.replaceChildren(
    element('h2', {}, t.same),
    block(t.curl, reads.map((r) => curl(r.path, r.params, r)).join('\n'), 'curl'),
    ...(commands.length ? [block('CLI', commands.join('\n'), 'cli')] : []),
    ...(calls.length || !note ? [] : [element('div', { class: 'copy' }, element('h3', {}, t.mcp), element('p', { class: 'small' }, note))]),
    ...calls.map((c, i) => block(calls.length > 1 ? `${t.mcp} ${i + 1}` : t.mcp, tool(c.name, c.args), 'mcp', i ? undefined : note)),
    element('details', {}, element('summary', {}, t.curlHint), pre(login)),
  );
}

const pre = (text) => element('pre', { tabindex: '0', class: 'code' }, element('code', {}, text));

function block(title, text, kind, note) {
  const button = element('button', { type: 'button', class: 'quiet' });
  const name = (word) => button.replaceChildren(word, element('span', { class: 'hidden' }, `: ${title}`));
  name(t.copy);
  const code = pre(text);
  code.dataset.kind = kind;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      name(t.copied);
      setTimeout(name, 2000, t.copy);
    } catch { // not over plain http: the person copies by hand
      getSelection().selectAllChildren(code);
    }
  });
  return element('div', { class: 'copy' }, element('div', { class: 'copyhead' }, element('h3', {}, title), button),
    note && element('p', { class: 'small' }, note), code);
}
