// What the scripts have in common: settings in, one JSON object out.

// settings are the first argument, as JSON.
export const settings = JSON.parse(process.argv[2]);

// traced is fetch that notes "METHOD path status" of each request.
export function traced(requests) {
  return async (input, init) => {
    const request = new Request(input, init);
    const response = await fetch(input, init);
    requests.push(`${request.method} ${new URL(request.url).pathname} ${response.status}`);
    return response;
  };
}

export function report(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
