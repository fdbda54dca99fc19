// Commands to copy that return what a view shows.
import { serviceURL } from './api.js';
import { cli, curl, resource, tool } from './copy.js';
import { Component, Fragment, h } from './preact.js';
import { t } from './texts.js';

const login = () => `export PREISMON_TOKEN=$(curl -sS --fail-with-body ${serviceURL('v1/auth/token').href} \\\n  -H 'Content-Type: application/json' -d '{"loginIdentifier":"…","password":"…"}' | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`;

/** Same shows reads as curl commands and, where there are some, as commands of this program (cli overrides the command of a read), and over MCP: as calls of tools, or as the resource that a read of ext/v1 is; note is what the tools do differently. */
export function Same({ reads, calls = reads, note }) {
  const commands = reads.map((r) => r.cli ?? cli(r.path, r.params)).filter(Boolean);
  return <>
    <h2>{t.same}</h2>
    <Command title={t.curl} text={reads.map((r) => curl(r.path, r.params, r)).join('\n')} kind="curl" />
    {commands.length > 0 && <Command title="CLI" text={commands.join('\n')} kind="cli" />}
    {calls.map((c, i) => <Command title={calls.length > 1 ? `${t.mcp} ${i + 1}` : t.mcp} text={c.name ? tool(c.name, c.args) : resource(c.path, c.params)} kind="mcp" note={i ? undefined : note} />)}
    <details><summary>{t.curlHint}</summary><Code text={login()} /></details>
  </>;
}

/** Code shows a command verbatim. */
export const Code = ({ text, kind }) => <pre tabindex="0" class="code" data-kind={kind}><code>{text}</code></pre>;

/** Command shows a command with a button to copy it. */
class Command extends Component {
  copy = async ({ currentTarget: button }) => {
    try {
      await navigator.clipboard.writeText(this.props.text);
      this.setState({ copied: true });
      setTimeout(() => this.setState({ copied: false }), 2000);
    } catch { // no clipboard over plain http: select it to be copied by hand
      getSelection().selectAllChildren(button.closest('.copy').querySelector('pre'));
    }
  };

  render({ title, text, kind, note }, { copied }) {
    return <div class="copy">
      <div class="copyhead"><h3>{title}</h3><button type="button" class="quiet" onClick={this.copy}>{copied ? t.copied : t.copy}<span class="hidden">: {title}</span></button></div>
      {note && <p class="small">{note}</p>}
      <Code text={text} kind={kind} />
    </div>;
  }
}
