// Reads the service by openapi-fetch with the types that openapi-typescript
// made of its contract: that it compiles is half of the test.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

const [baseUrl, loginIdentifier, password, orderId] = process.argv.slice(2) as [string, string, string, string];
const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl });

function read<T>(operation: string, answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`${operation}: ${JSON.stringify(answer.error)}`);
  console.log(operation);
  return answer.data;
}

const token = read("createToken", await client.POST("/v1/auth/token", { body: { loginIdentifier, password } }));
client.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${token.accessToken}`);
  },
});
read("getHealth", await client.GET("/healthz"));
const sites = read("listSites", await client.GET("/v1/sites"));
read("listItems", await client.GET("/v1/items", { params: { query: { limit: "20" } } }));
read("listAsinLocales", await client.GET("/v1/items/asin-locales"));
read("listOrders", await client.GET("/v1/orders"));
const path = { orderId };
read("getOrder", await client.GET("/v1/orders/{orderId}", { params: { path } }));
read("listObservationQuality", await client.GET("/v1/orders/{orderId}/observation-quality", { params: { path } }));
read("listExports", await client.GET("/v1/orders/{orderId}/exports", { params: { path } }));
read("listExportHistory", await client.GET("/v1/orders/{orderId}/exports/history", { params: { path } }));
read("listImports", await client.GET("/v1/orders/{orderId}/imports", { params: { path } }));
read("listImportHistory", await client.GET("/v1/orders/{orderId}/imports/history", { params: { path } }));
read("getResultsCapabilities", await client.GET("/v1/results/capabilities"));
const page = read("listResults", await client.GET("/v1/results", { params: { query: { limit: 20, includeExportFields: true } } }));
const seen = new Set(sites.data.map((site) => site.site));
const results: components["schemas"]["Result"][] = page.data;
for (const result of results) {
  if (!seen.has(result.site)) throw new Error(`listResults: ${result.site} is none of the sites`);
}
const refused = await client.GET("/v1/orders/{orderId}", { params: { path: { orderId: "18446744073709551615" } } });
if (refused.error?.code !== "ORDER_NOT_FOUND") throw new Error(`a problem: ${JSON.stringify(refused)}`);
console.log("a problem");
