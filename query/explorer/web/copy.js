// The same by other means: a curl command and a call of an MCP tool.
import { serviceURL } from './api.js';

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/** curl writes a command for a POSIX shell. The token is in its environment: it must not be in a history of commands. */
export function curl(path, params, { streams = false, body } = {}) {
  const sends = body ? ` \\\n  -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}` : '';
  return `curl -sS --fail-with-body --compressed${streams ? ' -N' : ''} -H "Authorization: Bearer $PREISMON_TOKEN"${sends} \\\n  ${quoted(serviceURL(path, params).href)}`;
}

/** tool writes a call of a tool, as JSON-RPC to the address of the agents. */
export function tool(name, args) {
  const given = Object.fromEntries(Object.entries(args).filter(([, v]) => v !== '' && v !== undefined && v !== false));
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }, null, 2);
}
