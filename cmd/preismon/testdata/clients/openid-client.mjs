// A certified OAuth client library against the authorization server.
// Settings: url (of the service), grace (seconds in which the old refresh
// token is still good), login, password, browser.
import * as oauth from 'openid-client';
import { setTimeout as wait } from 'node:timers/promises';
import { callback } from './callback.mjs';
import { person } from './person.mjs';
import { report, settings } from './report.mjs';

const insecure = { execute: [oauth.allowInsecureRequests] }; // http, on loopback only
const resource = `${settings.url}/mcp`;
const both = 'mcp offline_access';
const out = {};

const found = {};
for (const algorithm of ['oidc', 'oauth2']) {
  const known = await oauth.discovery(new URL(settings.url), 'nobody', undefined, oauth.None(), { algorithm, ...insecure });
  found[algorithm] = JSON.stringify(known.serverMetadata());
}
out.sameMetadata = found.oidc === found.oauth2;

// The registered port is none that a browser is ever sent to (RFC 8252, 7.3).
const config = await oauth.dynamicClientRegistration(new URL(settings.url), {
  client_name: 'openid-client',
  redirect_uris: ['http://127.0.0.1:1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}, oauth.None(), { algorithm: 'oauth2', ...insecure });
out.metadata = config.serverMetadata();
out.client = config.clientMetadata();

await rotation();
await revocation();
await misuse();
await denial();
report(out);

// rotation: each refresh token is for one use. The one before is good for the
// grace; after it, its use ends them all.
async function rotation() {
  const first = (await login(both)).tokens;
  const second = await oauth.refreshTokenGrant(config, first.refresh_token, { resource });
  const lost = await oauth.refreshTokenGrant(config, first.refresh_token, { resource }); // as if the answer had been lost
  await wait((settings.grace + 1) * 1000);
  const third = await oauth.refreshTokenGrant(config, second.refresh_token, { resource });
  out.rotation = {
    scope: first.scope,
    refreshTokens: new Set([first, second, lost, third].map((t) => t.refresh_token)).size,
    mcp: await mcp(third.access_token),
    sites: await sites(third.access_token),
    reuse: await refusal(() => oauth.refreshTokenGrant(config, first.refresh_token, { resource })),
    afterReuse: await refusal(() => oauth.refreshTokenGrant(config, third.refresh_token, { resource })),
  };
}

async function revocation() {
  const { tokens } = await login(both);
  const before = await mcp(tokens.access_token);
  await oauth.tokenRevocation(config, tokens.access_token, { token_type_hint: 'access_token' });
  const after = await mcp(tokens.access_token);
  const { tokens: other } = await login(both);
  await oauth.tokenRevocation(config, other.refresh_token, { token_type_hint: 'refresh_token' });
  out.revocation = {
    before,
    after,
    refresh: await refusal(() => oauth.refreshTokenGrant(config, other.refresh_token, { resource })),
    unknown: await refusal(() => oauth.tokenRevocation(config, 'none of yours')), // RFC 7009, 2.2: no error
  };
}

// misuse: what the client library refuses, and what the server does.
async function misuse() {
  const one = await authorization('mcp');
  const redeem = (url, changed) => oauth.authorizationCodeGrant(config, url, { ...one.checks, ...changed }, { resource });
  const altered = new URL(one.answer);
  altered.searchParams.set('iss', 'https://elsewhere.example');
  const silent = new URL(one.answer);
  silent.searchParams.delete('iss');
  out.misuse = {
    issOfAnother: await refusal(() => redeem(altered)),
    issMissing: await refusal(() => redeem(silent)),
  };
  const tokens = await redeem(one.answer);
  Object.assign(out.misuse, {
    scope: tokens.scope,
    refreshToken: tokens.refresh_token ?? null,
    mcp: await mcp(tokens.access_token),
    codeAgain: await refusal(() => redeem(one.answer)),
    tokenAfterCodeAgain: await mcp(tokens.access_token),
  });
  const two = await authorization('mcp');
  out.misuse.verifier = await refusal(() => oauth.authorizationCodeGrant(config, two.answer,
    { ...two.checks, pkceCodeVerifier: oauth.randomPKCECodeVerifier() }, { resource }));
  const three = await authorization('mcp');
  out.misuse.resource = await refusal(() => oauth.authorizationCodeGrant(config, three.answer, three.checks,
    { resource: 'https://elsewhere.example/mcp' }));
}

async function denial() {
  const { answer } = await authorization(both, 'Deny');
  out.denial = { ...Object.fromEntries(answer.searchParams), state: 'checked' };
}

async function login(scope) {
  const { answer, checks } = await authorization(scope);
  return { tokens: await oauth.authorizationCodeGrant(config, answer, checks, { resource }) };
}

// authorization goes as far as the code.
async function authorization(scope, decision = 'Allow') {
  const back = await callback();
  const checks = { pkceCodeVerifier: oauth.randomPKCECodeVerifier(), expectedState: oauth.randomState() };
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: back.redirect,
    scope,
    resource,
    state: checks.expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  await person({ ...settings, url, redirect: back.redirect, answer: decision });
  const answer = await back.arrived;
  if (answer.searchParams.get('state') !== checks.expectedState) throw new Error(`state: ${answer}`);
  back.close();
  return { answer, checks };
}

// refusal tells how a request fails: the code of RFC 6749, 5.2, or the
// library's own. null: it does not.
async function refusal(request) {
  try {
    await request();
    return null;
  } catch (error) {
    return error.error ?? error.code ?? String(error);
  }
}

// mcp gives the status of a request with the token.
async function mcp(token) {
  return (await post(token, 'ping')).status;
}

// sites calls a tool with the token, and gives its text.
async function sites(token) {
  const { result } = await (await post(token, 'tools/call', { name: 'list_sites' })).json();
  return result.content[0].text;
}

function post(token, method, params) {
  return fetch(resource, {
    method: 'POST',
    headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
}
