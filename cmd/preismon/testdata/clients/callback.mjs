// The loopback callback of a native client (RFC 8252, 7.3).
import { createServer } from 'node:http';
import { once } from 'node:events';

// callback listens on a random port of 127.0.0.1. `arrived` becomes the URL
// that the browser was sent to.
export async function callback() {
  let arrive;
  const arrived = new Promise((resolve) => { arrive = resolve; });
  const server = createServer((request, response) => {
    const url = new URL(request.url, redirect);
    response.setHeader('Content-Type', 'text/plain').end('Done.');
    if (url.pathname === '/callback') arrive(url);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirect = `http://127.0.0.1:${server.address().port}/callback`;
  return { redirect, arrived, close: () => server.close(() => {}) && server.closeAllConnections() };
}
