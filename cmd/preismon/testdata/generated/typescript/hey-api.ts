// Reads the service by the client that @hey-api/openapi-ts made of its
// contract. Every request and every answer is held against its zod schemas.
import { client } from "./client/client.gen.ts";
import * as service from "./client/sdk.gen.ts";

const [base, loginIdentifier, password, orderId] = process.argv.slice(2) as [string, string, string, string];
let token = "";
client.setConfig({ baseUrl: base, auth: () => token, throwOnError: true });

async function read<T>(operation: string, answer: Promise<{ data: T }>): Promise<T> {
  const { data } = await answer.catch((error: unknown) => {
    throw new Error(`${operation}: ${error instanceof Error ? error.message : JSON.stringify(error)}`);
  });
  if (data === undefined) throw new Error(`${operation}: no answer`);
  console.log(operation);
  return data;
}

const throwOnError = true;
token = (await read("createToken", service.createToken({ throwOnError, body: { loginIdentifier, password } }))).accessToken;
await read("getHealth", service.getHealth({ throwOnError }));
await read("listSites", service.listSites({ throwOnError }));
await read("listItems", service.listItems({ throwOnError, query: { limit: "20" } }));
await read("listAsinLocales", service.listAsinLocales({ throwOnError }));
await read("listOrders", service.listOrders({ throwOnError }));
await read("getOrder", service.getOrder({ throwOnError, path: { orderId } }));
await read("listObservationQuality", service.listObservationQuality({ throwOnError, path: { orderId } }));
await read("listExports", service.listExports({ throwOnError, path: { orderId } }));
await read("listExportHistory", service.listExportHistory({ throwOnError, path: { orderId } }));
await read("listImports", service.listImports({ throwOnError, path: { orderId } }));
await read("listImportHistory", service.listImportHistory({ throwOnError, path: { orderId } }));
await read("getResultsCapabilities", service.getResultsCapabilities({ throwOnError }));
await read("listResults", service.listResults({ throwOnError, query: { limit: 20, includeExportFields: true } }));
const refused = await service.getOrder({ throwOnError: false, path: { orderId: "18446744073709551615" } });
if (refused.error?.code !== "ORDER_NOT_FOUND") throw new Error(`a problem: ${JSON.stringify(refused.error)}`);
console.log("a problem");
