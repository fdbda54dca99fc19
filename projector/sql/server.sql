-- What the server is, and its time.
SELECT version() AS version, toUnixTimestamp64Milli(now64(3)) AS now_ms
