export default {
  input: "openapi.yaml",
  output: { path: "client", importFileExtension: ".ts" },
  plugins: ["@hey-api/client-fetch", "zod", { name: "@hey-api/sdk", validator: { request: "zod", response: "zod" } }],
};
