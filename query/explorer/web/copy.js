// The same reads by other means: a curl command, a command of this program, a request over MCP.
import { serviceURL } from './api.js';
import { filtersOf } from './state.js';

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/** curl returns a command for a POSIX shell. The token comes from the environment, since it must not get into the shell's history. */
export function curl(path, params, { streams = false } = {}) {
  return `curl -sS --fail-with-body --compressed${streams ? ' -N' : ''} -H "Authorization: Bearer $PREISMON_TOKEN" \\\n  ${quoted(serviceURL(path, params).href)}`;
}

const programs = { 'v1/results/stream': 'stream', 'v1/results': 'results', 'ext/v1/statistics': 'stats', 'ext/v1/overview': 'overview', 'ext/v1/sites/status': 'site-status', 'ext/v1/orders/status': 'order-status' };
const kebab = (name) => name.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
/** worded returns a value as a word of a POSIX shell. */
export const worded = (value) => (/^[\w.:/+-]+$/.test(value) ? value : quoted(value));

/** cli returns the command of this program for a read; it reads all pages. undefined: there is none. */
export function cli(path, params = {}) {
  if (!programs[path]) return undefined;
  const flags = Object.entries({ ...params, limit: undefined }).filter(([, v]) => v !== '' && v !== undefined && v !== null && v !== false)
    .map(([name, v]) => (name.startsWith('include') ? `--include ${kebab(name).slice('include-'.length)}` : v === true ? `--${kebab(name)}` : `--${kebab(name)} ${worded(v)}`));
  return ['preismon', programs[path], ...flags].join(' ');
}

/** tool returns a tool call, as JSON-RPC for the MCP endpoint. */
export function tool(name, args) {
  const given = Object.fromEntries(Object.entries(args).filter(([, v]) => v !== '' && v !== undefined && v !== false)
    .map(([argument, v]) => [argument, filtersOf[argument]?.type === 'boolean' ? v === 'true' : v]));
  return request('tools/call', { name, arguments: given });
}

/** resource returns a read of the resource that is the answer to a GET of ext/v1, as JSON-RPC for the MCP endpoint. */
export const resource = (path, params) => request('resources/read', { uri: `svc://${path}${serviceURL(path, params).search}` });

const request = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }, null, 2);
