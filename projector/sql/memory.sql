-- What the machine of a server has left of its memory. Table system.asynchronous_metrics.
SELECT
    toUInt64(maxIf(value, metric = 'OSMemoryAvailable')) AS free,
    toUInt64(maxIf(value, metric = 'OSMemoryTotal')) AS total
FROM system.asynchronous_metrics
