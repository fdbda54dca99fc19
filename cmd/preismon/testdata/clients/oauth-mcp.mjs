// The official TypeScript client, from nothing but the URL to an answer.
// Settings: sdk ("v1" or "v2"), version (to pin, or "legacy"), url, login,
// password, browser.
import { randomUUID } from 'node:crypto';
import { callback } from './callback.mjs';
import { person } from './person.mjs';
import { report, settings, traced } from './report.mjs';

const { Client, Transport, Unauthorized } = await sdk();
const requests = [];
const back = await callback();
const store = {};
let asked; // the authorization URL

const provider = {
  redirectUrl: back.redirect,
  clientMetadata: {
    client_name: `TypeScript client ${settings.sdk}`,
    redirect_uris: [back.redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => (store.state = randomUUID()),
  clientInformation: () => store.client,
  saveClientInformation: (client) => { store.client = client; },
  tokens: () => store.tokens,
  saveTokens: (tokens) => { store.tokens = tokens; },
  redirectToAuthorization: (url) => { asked = url; },
  saveCodeVerifier: (verifier) => { store.verifier = verifier; },
  codeVerifier: () => store.verifier,
  saveDiscoveryState: (state) => { store.discovery = state; },
  discoveryState: () => store.discovery,
};

const first = connection();
const refused = await first.client.connect(first.transport).then(() => undefined, (error) => error);
if (!(refused instanceof Unauthorized)) throw refused ?? new Error('connected without a token');

const seen = await person({ ...settings, url: asked, redirect: back.redirect });
const answer = await back.arrived;
if (answer.searchParams.get('state') !== store.state) throw new Error(`state: ${answer}`);
await (settings.sdk === 'v2' ? first.transport.finishAuth(answer.searchParams) : first.transport.finishAuth(answer.searchParams.get('code')));

const { client, transport } = connection();
await client.connect(transport);
const tools = await client.listTools();
const sites = await client.callTool({ name: 'list_sites', arguments: {} });

const before = { ...store.tokens };
let again;
if (before.refresh_token) {
  store.tokens = { ...before, access_token: `${before.access_token}x` }; // refused: the client has to renew it
  again = await client.callTool({ name: 'list_sites', arguments: {} });
}

report({
  asked: Object.fromEntries(asked.searchParams),
  answer: Object.fromEntries(answer.searchParams),
  pages: seen.pages,
  requests,
  scope: before.scope,
  version: settings.sdk === 'v2' ? client.getNegotiatedProtocolVersion() : transport.protocolVersion,
  server: client.getServerVersion(),
  tools: tools.tools.map((t) => t.name),
  prompts: (await client.listPrompts()).prompts.map((p) => p.name),
  resources: (await client.listResources()).resources.map((r) => r.uri),
  templates: (await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate),
  contents: (await client.readResource({ uri: 'svc://reference/sites' })).contents.map((c) => c.text),
  sites: sites.content[0].text,
  again: again?.content[0].text,
  refreshToken: before.refresh_token !== undefined,
  renewed: ['access_token', 'refresh_token'].every((name) => store.tokens[name] !== before[name]),
});
await client.close();
back.close();

function connection() {
  const options = settings.version === 'legacy' ? undefined : { versionNegotiation: { mode: { pin: settings.version } } };
  return {
    client: new Client({ name: `typescript-${settings.sdk}`, version: '1' }, options),
    transport: new Transport(new URL(settings.url), { authProvider: provider, fetch: traced(requests) }),
  };
}

async function sdk() {
  if (settings.sdk === 'v2') {
    const v2 = await import('@modelcontextprotocol/client');
    return { Client: v2.Client, Transport: v2.StreamableHTTPClientTransport, Unauthorized: v2.UnauthorizedError };
  }
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { UnauthorizedError } = await import('@modelcontextprotocol/sdk/client/auth.js');
  return { Client, Transport: StreamableHTTPClientTransport, Unauthorized: UnauthorizedError };
}
