// `duckdb -c STATEMENT`: npm has DuckDB as a library and not as a program.
import { DuckDBInstance } from '@duckdb/node-api';

const [flag, statement, ...rest] = process.argv.slice(2);
if (flag !== '-c' || !statement || rest.length) throw new Error(`duckdb ${process.argv.slice(2).join(' ')}: not in the documents`);
const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
const reader = await connection.runAndReadAll(statement);
console.log(reader.columnNames().join(' '));
for (const row of reader.getRows()) console.log(row.map(String).join(' '));
